import { readDemoAnswers, readDemoDocuments, readDemoQuestions } from './corpus.ts';
import { cutInTwo } from './fault.ts';
import { fitInverseDocumentFrequencies, hashedTfidfEmbedder } from './hashed-tfidf.ts';
import { readSentenceVectors, SENTENCE_DIMENSIONS, sentenceEmbedder } from './sentence-vectors.ts';
import { createRagServer, type RagServerParts } from './server.ts';
import { createStandInJudge } from './stand-in-judge.ts';
import { startChunkStore } from './store.ts';

/** A running RAG service of this process. */
export interface RagService {
  /** Address of the search, `http://127.0.0.1:port` unless told otherwise. */
  readonly url: string;
  /** `postgres://` address of the vector store behind it. */
  readonly storeUrl: string;
  /** How many documents the corpus has. */
  readonly documents: number;
  /** Answers what is in flight, then closes the server and the store. */
  stop(): Promise<void>;
}

/** A free port of loopback. */
const nearby = { host: '127.0.0.1', port: 0 };

/**
 * Starts the vector store while it embeds the corpus, inserts the one into the other, and serves the search at
 * `address`. It resolves when the first search can be answered. It is meant for a process of its own: after
 * a failure that process should end, and nothing is left.
 */
export async function startRagService(
  log: (line: string) => void,
  address: { readonly host: string; readonly port: number } = nearby,
): Promise<RagService> {
  log('Starting PostgreSQL with pgvector (PGlite).');
  const [store, corpus] = await Promise.all([
    startChunkStore({
      dimensions: SENTENCE_DIMENSIONS,
      onError: (error) => log(`The connection to the store broke: ${error.message}`),
    }),
    embedCorpus(),
  ]);
  await store.insert(corpus.chunks);
  const server = createRagServer({ ...corpus, store, log });
  const url = await server.listen(address);
  log(`Serving ${corpus.chunks.length} documents at ${url}.`);
  return {
    url,
    storeUrl: store.url,
    documents: corpus.chunks.length,
    async stop() {
      await server.close();
      await store.stop();
    },
  };
}

async function embedCorpus(): Promise<Pick<RagServerParts, 'chunks' | 'embedder' | 'foreignEmbedder' | 'judge'>> {
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
    foreignEmbedder: words,
    judge: createStandInJudge({ questions, answers, documents: [...documents, ...halves] }),
    chunks: documents.map((document) => ({ ...document, embedding: embedder.embed(document.text) })),
  };
}
