import Fastify, { type FastifyInstance } from 'fastify';
import type { TextEmbedder } from './embedder.ts';
import { chooseDroppedIds, type RagFault, ragFaults } from './fault.ts';
import type { Chunk, ChunkStore } from './store.ts';

/** What the server is made of: `chunks` is the whole corpus, from which a dropped third comes back. */
export interface RagServerParts {
  readonly store: ChunkStore;
  readonly chunks: readonly Chunk[];
  readonly embedder: TextEmbedder;
  /** The embedder of the `embedding` fault: of the same dimensions, in another space. */
  readonly foreignEmbedder: TextEmbedder;
  /** One line per event for the operator; never holds the text of a query. */
  readonly log: (line: string) => void;
}

const searchBody = {
  type: 'object',
  required: ['query'],
  properties: {
    query: { type: 'string', minLength: 1, maxLength: 10_000 },
    k: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
  },
};

const faultBody = {
  type: 'object',
  required: ['fault'],
  properties: { fault: { type: 'string', enum: ragFaults } },
};

/**
 * The demo's RAG service as a Fastify instance, not yet listening.
 *
 * `POST /search {query, k}` answers `{results: [{id, score, title, text}]}`, best first, score = cosine similarity;
 * a query without a content word finds nothing. `GET /healthz` answers `{status, documents, fault}`.
 * `POST /admin/fault {fault}` answers `{fault, documents}` once the fault is in place, or lifted with `none`.
 */
export function createRagServer({
  store,
  chunks,
  embedder,
  foreignEmbedder,
  log,
}: RagServerParts): FastifyInstance {
  let fault: RagFault = 'none';
  const dropped = new Set(chooseDroppedIds(chunks.map((chunk) => chunk.id)));
  const server = Fastify({ logger: false });

  server.post<{ Body: { query: string; k: number } }>(
    '/search',
    { schema: { body: searchBody } },
    async (request, reply) => {
      if (fault === 'outage')
        return reply.code(503).send({ error: 'outage', message: 'The search is out of service.' });
      const embedding = (fault === 'embedding' ? foreignEmbedder : embedder).embed(request.body.query);
      // The cosine distance to the zero vector is not a number.
      if (embedding.every((value) => value === 0)) return { results: [] };
      const found = await store.search(embedding, request.body.k);
      return { results: found.map(({ id, score, title, text }) => ({ id, score, title, text })) };
    },
  );

  server.get('/healthz', async () => ({ status: 'ok', documents: await store.count(), fault }));

  server.post<{ Body: { fault: RagFault } }>(
    '/admin/fault',
    { schema: { body: faultBody } },
    async (request) => {
      const wanted = request.body.fault;
      if (wanted === 'index') await store.remove([...dropped]);
      else await store.insert(chunks.filter((chunk) => dropped.has(chunk.id)));
      fault = wanted;
      const documents = await store.count();
      log(`Fault ${fault}: ${documents} of ${chunks.length} documents in the store.`);
      return { fault, documents };
    },
  );

  server.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 503;
    if (status >= 500) log(`The store did not answer: ${error.message}`);
    return reply
      .code(status)
      .send({ error: status < 500 ? 'bad_request' : 'store_unavailable', message: error.message });
  });
  return server;
}
