/** Real queries about Wikipedia articles; the store lacks some of the articles. */
import { readDemoAnswers, readDemoDocuments, readDemoQuestions } from '../../src/demo/rag/corpus.ts';
import { fitInverseDocumentFrequencies, hashedTfidfEmbedder } from '../../src/demo/rag/hashed-tfidf.ts';
import { type Matrix, matrixOf, selectRows } from '../../src/math/vector/matrix.ts';
import { type CorpusName, readCorpus } from '../faults/corpora.ts';
import { readVectors } from '../faults/vectors.ts';
import { type RandomNumbers, randomNumbers } from '../random-numbers.ts';
import { encode } from './dense-encoder.ts';
import { shuffled, type World } from './world.ts';

const LEFT_OUT = 6;
const DIMENSIONS = 256;
const POPULARITY_SPREAD = 0.8;

/** Queries and passages by article. */
export interface Articles {
  readonly count: number;
  readonly questions: readonly { readonly text: string; readonly article: number }[];
  readonly passages: readonly { readonly text: string; readonly article: number }[];
}

/** @param most maximum number of articles */
export async function readArticles(most: number = Number.POSITIVE_INFINITY): Promise<Articles> {
  const [documents, questions, answers] = await Promise.all([
    readDemoDocuments(),
    readDemoQuestions(),
    readDemoAnswers(),
  ]);
  const articles = [...new Set(documents.map(({ id }) => articleOf(id)))].slice(0, most);
  const numbers = new Map(articles.map((article, number) => [article, number]));
  const numbered = (text: string, document: string) => {
    const article = numbers.get(articleOf(document));
    return article === undefined ? [] : [{ text, article }];
  };
  return {
    count: articles.length,
    questions: questions.flatMap(({ id, text }) => numbered(text, answers.get(id) ?? '')),
    passages: documents.flatMap(({ id, title, text }) => numbered(`${title} ${text}`, id)),
  };
}

/** Uses the demo's lexical embedder, which knows only words of the stored passages. */
export async function articleWorld(seed: number): Promise<World> {
  const random = randomNumbers(seed);
  const articles = await readArticles();
  const leftOut = Array.from(shuffled(articles.count, random).slice(0, LEFT_OUT));
  const held = articles.passages.filter(({ article }) => !leftOut.includes(article));
  const embedder = hashedTfidfEmbedder(fitInverseDocumentFrequencies(held.map(({ text }) => text)), {
    dimensions: DIMENSIONS,
    seed: 1,
  });
  const vectors = matrixOf(articles.questions.map(({ text }) => embedder.embed(text)));
  const usable = articles.questions.flatMap((question, row) =>
    vectors.data.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS).some((x) => x !== 0) ? [{ ...question, row }] : [],
  );
  return {
    name: 'articles',
    vectors: selectRows(
      vectors,
      usable.map(({ row }) => row),
    ),
    topics: Int32Array.from(usable, ({ article }) => article),
    asked: askedOf(articles.count, leftOut, random),
    unasked: [],
    uncovered: leftOut.map((topic) => ({ topic, kind: 'article' })),
    store: matrixOf(held.map(({ text }) => embedder.embed(text))),
    chunkTopics: Int32Array.from(held, ({ article }) => article),
  };
}

/** All articles, with vectors of a neural encoder. */
export interface EncodedArticles {
  readonly name: string;
  readonly articles: Articles;
  /** One row per passage, in the order of the passages. */
  readonly passages: Matrix;
  /**
   * Vectors of the queries as they were written. For the small encoder, the vectors of three variants of each query
   * follow; each variant lacks one word.
   */
  readonly questions: Matrix;
  readonly articleOfQuestion: Int32Array;
  /** Number of unchanged queries, which come before the variants. */
  readonly written: number;
}

const VARIANTS = 3;

export async function encodeArticles(articles: Articles): Promise<EncodedArticles> {
  const random = randomNumbers(1);
  const written = articles.questions;
  const variants = Array.from({ length: VARIANTS }, () =>
    written.map(({ text, article }) => ({ text: withoutOneWord(text, random), article })),
  );
  const questions = [...written, ...variants.flat()];
  return {
    name: 'dense articles',
    articles,
    passages: await encode(articles.passages.map(({ text }) => text)),
    questions: await encode(questions.map(({ text }) => text)),
    articleOfQuestion: Int32Array.from(questions, ({ article }) => article),
    written: written.length,
  };
}

/**
 * Scenario names by encoder name and corpus. For these corpora, the fault benchmark has recorded vectors of
 * all-MiniLM-L6-v2.
 */
const recorded = {
  minilm: { 'xquad-en': 'MiniLM, English', 'xquad-es': 'MiniLM, Spanish', 'xquad-de': 'MiniLM, German' },
  'minilm-papers': { 'covid-qa': 'MiniLM, English research papers' },
} as const satisfies Readonly<Record<string, Readonly<Partial<Record<CorpusName, string>>>>>;

function recordedArticles(corpus: CorpusName, name: string): EncodedArticles {
  const { documents, queries } = readCorpus(corpus);
  const vectorOf = readVectors('minilm');
  const sources = [...new Set(documents.map(({ source }) => source))];
  const numbered = ({ text, source }: { readonly text: string; readonly source: string }) => ({
    text,
    article: sources.indexOf(source),
  });
  return {
    name,
    articles: { count: sources.length, questions: queries.map(numbered), passages: documents.map(numbered) },
    passages: matrixOf(documents.map(({ text }) => vectorOf(text))),
    questions: matrixOf(queries.map(({ text }) => vectorOf(text))),
    articleOfQuestion: Int32Array.from(queries, ({ source }) => sources.indexOf(source)),
    written: queries.length,
  };
}

const encoderNames = ['use-lite', 'minilm', 'minilm-papers'] as const;

export type BenchEncoder = (typeof encoderNames)[number];

/** Reads the value of `--encoder`; null means the default encoder. */
export function readEncoder(name: string | null): BenchEncoder | null {
  const encoder = encoderNames.find((one) => one === name) ?? null;
  if (encoder === null && name !== null) throw new Error(`--encoder takes ${encoderNames.join(', ')}.`);
  return encoder;
}

/** Returns the scenarios of a benchmark: the articles of each, and whether users repeat the same queries. */
export async function encodedSettings(encoder: BenchEncoder, most: number) {
  if (encoder !== 'use-lite')
    return Object.entries(recorded[encoder]).map(([corpus, name]) => ({
      encoded: recordedArticles(corpus as CorpusName, name),
      repeats: true,
    }));
  const encoded = await encodeArticles(await readArticles(most));
  return [true, false].map((repeats) => ({ encoded, repeats }));
}

function withoutOneWord(text: string, random: RandomNumbers): string {
  const words = text.split(' ');
  return words.toSpliced(random.below(words.length), 1).join(' ');
}

/**
 * Creates a world with the vectors of a neural encoder. The store lacks six articles, and contains six other articles
 * that no query asks about before a change.
 *
 * @param repeats true if users repeat the written queries unchanged; otherwise, two users rarely use the same words
 */
export function denseWorld(encoded: EncodedArticles, seed: number, repeats: boolean, leftOut = LEFT_OUT): World {
  const { name, articles, passages, questions, articleOfQuestion, written } = encoded;
  const random = randomNumbers(seed);
  const order = Array.from(shuffled(articles.count, random));
  const [missing, quiet] = [order.slice(0, leftOut), order.slice(leftOut, 2 * leftOut)];
  const held = articles.passages.flatMap(({ article }, row) => (missing.includes(article) ? [] : [row]));
  const asked = Array.from({ length: repeats ? written : questions.rows }, (_, row) => row);
  return {
    name: repeats ? `${name}, repeated questions` : name,
    vectors: selectRows(questions, asked),
    topics: articleOfQuestion.slice(0, asked.length),
    asked: askedOf(articles.count, [...missing, ...quiet], random),
    unasked: quiet,
    uncovered: missing.map((topic) => ({ topic, kind: 'article' })),
    store: selectRows(passages, held),
    chunkTopics: Int32Array.from(held, (row) => articles.passages[row]?.article ?? -1),
  };
}

function askedOf(count: number, without: readonly number[], random: RandomNumbers): World['asked'] {
  const asked = Array.from({ length: count }, (_, article) => article).filter((article) => !without.includes(article));
  const popularity = asked.map(() => Math.exp(POPULARITY_SPREAD * random.normal()));
  const total = popularity.reduce((sum, value) => sum + value, 0);
  return asked.map((topic, i) => ({ topic, group: i % 8, share: (popularity[i] ?? 0) / total }));
}

function articleOf(documentId: string): string {
  return documentId.split('/')[0] ?? '';
}
