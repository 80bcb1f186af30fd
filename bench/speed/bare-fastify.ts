/** The least that an endpoint of Fastify does: it parses the body and answers 202. */
import Fastify from 'fastify';

const server = Fastify();
server.post('/v1/queries', (_request, reply) => reply.code(202).send({ accepted: 1 }));
process.stdout.write(`${await server.listen({ host: '127.0.0.1', port: 0 })}\n`);
process.once('SIGTERM', () => process.exit(0));
