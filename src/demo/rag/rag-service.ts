import { setTimeout as sleep } from 'node:timers/promises';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { z } from 'zod';
import { wireSchema } from '../../platform/http/fields.ts';
import {
  type DemoDocument,
  readDemoAnswers,
  readDemoDocuments,
  readDemoQuestions,
  readSentenceVectors,
  SENTENCE_DIMENSIONS,
  SENTENCE_MODEL,
  sentenceEmbedder,
} from './corpus.ts';
import {
  chooseDroppedIds,
  cutInTwo,
  type Gap,
  gapOf,
  gaps,
  type RagFault,
  ragFaults,
  SLOW_MS,
  SLOW_ONE_IN,
} from './fault.ts';
import { fitInverseDocumentFrequencies, hashedTfidfEmbedder, type TextEmbedder } from './hashed-tfidf.ts';
import { createStandInJudge } from './stand-in-judge.ts';
import { type Chunk, type ChunkStore, startChunkStore } from './store.ts';

const someText = z.string().min(1);

/** Body of `POST /v1/embeddings`; other fields, such as `dimensions`, are accepted and ignored. */
const embeddingsBody = z.object({
  model: z.string().default(SENTENCE_MODEL),
  input: z.union([someText, z.array(someText).min(1).max(2048)]),
  encoding_format: z.enum(['float', 'base64']).default('float'),
});

/** Body of `POST /v1/chat/completions`; other fields, such as `temperature`, are accepted and ignored. */
const chatBody = z.object({ model: z.string(), messages: z.array(z.object({ content: z.string() })) });

/** Returns vectors in the order of the texts; the zero vector for a text without content words. */
function answerEmbeddings(
  { model, input, encoding_format: format }: z.infer<typeof embeddingsBody>,
  embedder: TextEmbedder,
) {
  const texts = typeof input === 'string' ? [input] : input;
  const data = texts.map((text, index) => {
    const vector = embedder.embed(text);
    return { object: 'embedding', index, embedding: format === 'base64' ? base64(vector) : [...vector] };
  });
  return { object: 'list', data, model, usage: { prompt_tokens: 0, total_tokens: 0 } };
}

/** Encodes a vector as base64 of little-endian float32 values, the format of the OpenAI API. */
function base64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.byteLength);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}

const searchBody = z.object({
  query: someText.max(10_000),
  k: z.int().min(1).max(100).default(10),
  with_text: z.boolean().default(true),
});

/** A search result; `score` is the cosine similarity to the query, from -1 to 1. */
type FoundDocument = DemoDocument & { readonly score: number };

const MAX_CACHED = 5_000;

const conditionBody = z.object({ fault: z.enum(ragFaults), filled: z.array(z.enum(gaps)).default([...gaps]) });

/**
 * Creates the demo's RAG service as a Fastify instance that does not listen yet. The routes of the service:
 *
 * - `POST /search {query, k, with_text}` returns `{results: [{id, score, title, text}]}`, best first; the score is the
 *   cosine similarity. A query without content words has no results.
 * - `POST /v1/embeddings` is the search's embedder, compatible with the OpenAI API.
 * - `POST /v1/chat/completions` is the stand-in for the LLM judge.
 * - `GET /healthz` returns `{status, documents, fault}`.
 * - `POST /admin/condition {fault, filled}` activates a fault (`none` removes it), adds the documents of the `filled`
 *   gaps to the store, removes the documents of other gaps, and returns `{documents}`.
 *
 * @param log logs one line per event, but never the text of a query
 */
function createRagServer(
  store: ChunkStore,
  { chunks, embedder, foreignEmbedder, judge }: Awaited<ReturnType<typeof embedCorpus>>,
  log: (line: string) => void,
): FastifyInstance {
  let fault: RagFault = 'none';
  let searches = 0;
  const embedderInUse = () => (fault === 'embedding' ? foreignEmbedder : embedder);
  const texts = new Map([...chunks, ...chunks.flatMap(cutInTwo)].map(({ id, title, text }) => [id, { title, text }]));
  const dropped = new Set(chooseDroppedIds(chunks.map((chunk) => chunk.id)));
  const chunksFor = (wanted: RagFault, filled: readonly Gap[]): readonly Chunk[] => {
    const written = chunks.filter(({ id }) => {
      const gap = gapOf(id);
      return gap === null || filled.includes(gap);
    });
    if (wanted === 'index') return written.filter(({ id }) => !dropped.has(id));
    if (wanted !== 'stale') return written;
    return written.flatMap(cutInTwo).map((half) => ({ ...half, embedding: embedder.embed(half.text) }));
  };
  let stored: ReadonlyMap<string, Chunk> = new Map(chunks.map((chunk) => [chunk.id, chunk]));
  const server = Fastify({ logger: false });

  /**
   * Cached results, keyed by the condition that determines the stored documents and the embedder. Caching saves time,
   * because golden queries repeat and each search takes milliseconds.
   */
  const caches = new Map<string, Map<string, Promise<readonly FoundDocument[]>>>();
  /** Null while documents are being added or removed. */
  let cache: Map<string, Promise<readonly FoundDocument[]>> | null = new Map();
  const search = ({ query, k }: z.infer<typeof searchBody>): Promise<readonly FoundDocument[]> => {
    const own = cache;
    if (own === null) return searchStore(query, k);
    const key = `${k} ${query}`;
    const found = own.get(key) ?? searchStore(query, k);
    if (own.size >= MAX_CACHED) own.clear();
    own.set(key, found);
    const forget = () => void own.delete(key);
    // A result stays in the cache only if the search succeeded and ended before the documents began to change.
    found.then(() => cache !== own && forget(), forget);
    return found;
  };
  const searchStore = async (query: string, k: number): Promise<readonly FoundDocument[]> => {
    const embedding = embedderInUse().embed(query);
    // The cosine distance to the zero vector is NaN.
    if (embedding.every((value) => value === 0)) return [];
    return (await store.search({ embedding, k })).map(({ id, score }) => ({
      id,
      title: '',
      text: '',
      ...texts.get(id),
      score,
    }));
  };

  /** Adds a route whose body Fastify validates by the schema. */
  const post = <Body extends z.ZodObject>(
    path: string,
    body: Body,
    answer: (body: z.infer<Body>, reply: FastifyReply) => unknown,
  ) =>
    server.post(path, { schema: { body: wireSchema(body) } }, async (request, reply) =>
      answer(request.body as z.infer<Body>, reply),
    );

  post('/search', searchBody, async (body, reply) => {
    if (fault === 'outage') return reply.code(503).send({ error: 'outage', message: 'The search is unavailable.' });
    const found = await search(body);
    if (fault === 'slow' && searches++ % SLOW_ONE_IN === 0) await sleep(SLOW_MS);
    return { results: body.with_text ? found : found.map(({ id, score, title }) => ({ id, score, title })) };
  });

  post('/v1/embeddings', embeddingsBody, (body, reply) => {
    if (fault === 'outage') return reply.code(503).send({ error: 'outage', message: 'The embedder is unavailable.' });
    return answerEmbeddings(body, embedderInUse());
  });

  post('/v1/chat/completions', chatBody, (body) => ({
    object: 'chat.completion',
    model: body.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: judge(body.messages.map(({ content }) => content).join('\n')) },
        finish_reason: 'stop',
      },
    ],
  }));

  server.get('/healthz', async () => ({ status: 'ok', documents: await store.count(), fault }));

  post('/admin/condition', conditionBody, async (body) => {
    cache = null;
    const wanted = new Map(chunksFor(body.fault, body.filled).map((chunk) => [chunk.id, chunk]));
    await store.insert([...wanted.values()].filter(({ id }) => !stored.has(id)));
    await store.remove([...stored.keys()].filter((id) => !wanted.has(id)));
    stored = wanted;
    fault = body.fault;
    const condition = JSON.stringify([embedderInUse() === embedder, [...wanted.keys()]]);
    cache = caches.get(condition) ?? new Map();
    caches.set(condition, cache);
    const documents = await store.count();
    log(`Fault ${fault}: ${documents} documents in the store, ${chunks.length} in the corpus.`);
    return { documents };
  });

  server.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 503;
    if (status >= 500) log(`The store failed: ${error.message}`);
    return reply
      .code(status)
      .send({ error: status < 500 ? 'bad_request' : 'store_unavailable', message: error.message });
  });
  return server;
}

export type RagService = Awaited<ReturnType<typeof startRagService>>;

const loopback = { host: '127.0.0.1', port: 0 };

/**
 * Resolves when the service can answer searches. A failed startup may leave the store and the server open, so the
 * process should then exit.
 */
export async function startRagService(
  log: (line: string) => void,
  address: { readonly host: string; readonly port: number } = loopback,
) {
  log('Starting PostgreSQL with pgvector (PGlite).');
  const [store, corpus] = await Promise.all([
    startChunkStore({
      dimensions: SENTENCE_DIMENSIONS,
      onError: (error) => log(`The connection to the store was lost: ${error.message}`),
    }),
    embedCorpus(),
  ]);
  await store.insert(corpus.chunks);
  const server = createRagServer(store, corpus, log);
  const url = await server.listen(address);
  log(`Serving ${corpus.chunks.length} documents at ${url}.`);
  return {
    /** `http://127.0.0.1:port`; the search is `POST /search {query, k}`. */
    url,
    /** `postgres://` address of the vector store (table `chunks`: id, title, body, embedding). */
    storeUrl: store.url,
    documents: corpus.chunks.length,
    /** Completes open requests, then closes the server and the store. */
    async stop(): Promise<void> {
      await server.close();
      await store.stop();
    },
  };
}

async function embedCorpus() {
  const [documents, questions, answers, vectors] = await Promise.all([
    readDemoDocuments(),
    readDemoQuestions(),
    readDemoAnswers(),
    readSentenceVectors(),
  ]);
  const fitted = fitInverseDocumentFrequencies(documents.map((document) => document.text));
  const words = hashedTfidfEmbedder(fitted, { dimensions: SENTENCE_DIMENSIONS, seed: 0 });
  const halves = documents.flatMap(cutInTwo);
  const known = [...documents, ...halves, ...questions].map(({ text }) => text);
  const embedder = sentenceEmbedder(vectors, known, words);
  return {
    embedder,
    /** A different model with the same number of dimensions, for the `embedding` fault. */
    foreignEmbedder: words,
    judge: createStandInJudge(questions, answers, [...documents, ...halves]),
    /** The whole corpus, from which dropped documents are restored. */
    chunks: documents.map((document) => ({ ...document, embedding: embedder.embed(document.text) })),
  };
}
