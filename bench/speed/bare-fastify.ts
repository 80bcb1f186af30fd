/** The minimal Fastify endpoint: it parses the body and responds with 202. */
import Fastify from 'fastify';

const server = Fastify();
server.post('/v1/queries', (_request, reply) => reply.code(202).send({ accepted: 1 }));
process.stdout.write(`${await server.listen({ host: '127.0.0.1', port: 0 })}\n`);
process.once('SIGTERM', () => process.exit(0));
