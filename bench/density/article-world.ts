/** Real questions about Wikipedia articles; some articles are left out of the store. By the demo's lexical embedder. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { demoDataPath, readDemoDocuments, readDemoQuestions } from '../../src/demo/rag/corpus.ts';
import { fitInverseDocumentFrequencies, hashedTfidfEmbedder } from '../../src/demo/rag/embedder.ts';
import { matrixOf, selectRows } from '../../src/vector/matrix.ts';
import { randomNumbers } from '../random-numbers.ts';
import { shuffled, type World } from './world.ts';

const LEFT_OUT = 6;
const DIMENSIONS = 256;
const POPULARITY_SPREAD = 0.8;

/** @param seed decides which articles are left out, and how often each of the others is asked for */
export async function articleWorld(seed: number): Promise<World> {
  const random = randomNumbers(seed);
  const [documents, questions, qrels] = await Promise.all([
    readDemoDocuments(),
    readDemoQuestions(),
    readFile(join(demoDataPath, 'qrels.tsv'), 'utf8'),
  ]);
  const articles = [...new Set(documents.map(({ id }) => articleOf(id)))];
  const numbers = new Map(articles.map((article, number) => [article, number]));
  const judged = new Map(
    qrels
      .split('\n')
      .slice(1)
      .map((line) => line.split('\t'))
      .map(([question = '', document = '']) => [question, numbers.get(articleOf(document)) ?? -1]),
  );
  const leftOut = Array.from(shuffled(articles.length, random).slice(0, LEFT_OUT));
  const covered = documents.filter(({ id }) => !leftOut.includes(numbers.get(articleOf(id)) ?? -1));
  const textOf = ({ title, text }: (typeof documents)[number]): string => `${title} ${text}`;
  const embedder = hashedTfidfEmbedder(fitInverseDocumentFrequencies(covered.map(textOf)), {
    dimensions: DIMENSIONS,
    seed: 1,
  });
  const vectors = matrixOf(questions.map(({ text }) => embedder.embed(text)));
  const usable = [...vectors.data.keys()]
    .filter((i) => i % DIMENSIONS === 0)
    .map((i) => i / DIMENSIONS)
    .filter((row) => vectors.data.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS).some((x) => x !== 0));
  const asked = [...articles.keys()].filter((article) => !leftOut.includes(article));
  const popularity = asked.map(() => Math.exp(POPULARITY_SPREAD * random.normal()));
  const total = popularity.reduce((sum, value) => sum + value, 0);
  return {
    name: 'articles',
    vectors: selectRows(vectors, usable),
    topics: Int32Array.from(usable, (row) => judged.get(questions[row]?.id ?? '') ?? -1),
    asked: asked.map((topic, i) => ({ topic, group: i % 8, share: (popularity[i] ?? 0) / total })),
    uncovered: leftOut.map((topic) => ({ topic, kind: 'article' })),
    store: matrixOf(covered.map((document) => embedder.embed(textOf(document)))),
    chunkTopics: Int32Array.from(covered, ({ id }) => numbers.get(articleOf(id)) ?? -1),
  };
}

function articleOf(documentId: string): string {
  return documentId.split('/')[0] ?? '';
}
