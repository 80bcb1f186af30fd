/**
 * Documents and queries of a pipeline, in memory. The weights of the diagnosis were tuned on the demo's passages and
 * queries; diagnoses are tested on random corpora.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { GoldenQuery } from '../../src/core/model.ts';
import { demoDataPath, readDemoDocuments, readDemoQuestions } from '../../src/demo/rag/corpus.ts';
import { fitInverseDocumentFrequencies, hashedTfidfEmbedder } from '../../src/demo/rag/hashed-tfidf.ts';
import type { RandomNumbers } from '../random-numbers.ts';

export interface Chunk {
  readonly id: string;
  readonly topic: string;
  readonly vector: Float32Array;
}

export interface Question extends GoldenQuery {
  readonly topic: string;
  readonly vector: Float32Array;
}

export interface Corpus {
  readonly chunks: readonly Chunk[];
  readonly questions: readonly Question[];
}

const DIMENSIONS = 256;

/** Returns the demo's corpus: 240 passages of 48 articles, and 1,190 queries with one relevant passage each. */
export async function demoCorpus(): Promise<Corpus> {
  const [documents, questions] = await Promise.all([readDemoDocuments(), readDemoQuestions()]);
  const fitted = fitInverseDocumentFrequencies(documents.map(({ text }) => text));
  const embedder = hashedTfidfEmbedder(fitted, { dimensions: DIMENSIONS, seed: 0 });
  const rows = readFileSync(path.join(demoDataPath, 'qrels.tsv'), 'utf8').trim().split('\n').slice(1);
  const answers = new Map(rows.map((row) => row.split('\t').slice(0, 2) as [string, string]));
  const titleOf = new Map(documents.map(({ id, title }) => [id, title]));
  return {
    chunks: documents.map(({ id, title, text }) => ({ id, topic: title, vector: embedder.embed(text) })),
    questions: questions.map(({ id, text }) => {
      const documentId = answers.get(id) ?? '';
      const topic = titleOf.get(documentId) ?? '';
      return { id, text, topic, tags: {}, judgments: [{ documentId, grade: 1 }], vector: embedder.embed(text) };
    }),
  };
}

/** Parameters of a random corpus. */
interface Draw {
  readonly dimensions: number;
  /** Distance of documents from the center of their topic. */
  readonly spread: number;
  /** Distance of queries from their relevant document. */
  readonly distance: number;
  readonly topics: number;
  topicSize(): number;
  /** Share of documents that are near-duplicates of the previous document in their topic. */
  readonly repeats: number;
  /** Share of the other documents in the topic that are also relevant to a query. */
  readonly alsoRight: number;
  /** Maximum number of documents that are relevant to a query. */
  readonly mostRight: number;
}

/** Returns a corpus of 15 to 60 topics with 6 to 25 documents each; one to three documents are relevant to a query. */
export function evenCorpus(random: RandomNumbers): Corpus {
  return drawCorpus(random, {
    dimensions: 24 + random.below(40),
    spread: 0.5 + 0.5 * random.uniform(),
    distance: 0.5 + 0.6 * random.uniform(),
    topics: 15 + random.below(46),
    topicSize: () => 6 + random.below(20),
    repeats: 0,
    alsoRight: 0.1,
    mostRight: 3,
  });
}

/**
 * Returns a corpus of 12 to 40 topics, most of them small and some with up to 90 documents. Some documents are
 * near-duplicates, and one to five documents are relevant to a query.
 */
export function unevenCorpus(random: RandomNumbers): Corpus {
  return drawCorpus(random, {
    dimensions: 32 + random.below(64),
    spread: 0.4 + 0.8 * random.uniform(),
    distance: 0.4 + 0.8 * random.uniform(),
    topics: 12 + random.below(29),
    topicSize: () => 4 + Math.floor(86 * random.uniform() ** 3),
    repeats: 0.2 * random.uniform(),
    alsoRight: 0.15,
    mostRight: 5,
  });
}

const QUESTIONS = 1000;
const NEARLY = 0.15;

function drawCorpus(random: RandomNumbers, draw: Draw): Corpus {
  const { dimensions, spread, distance, repeats, alsoRight, mostRight } = draw;
  const point = (around: Float32Array | null, reach: number): Float32Array =>
    unit(
      Float32Array.from(
        { length: dimensions },
        (_, axis) => (around?.[axis] ?? 0) + (reach * random.normal()) / Math.sqrt(dimensions),
      ),
    );
  const groups = Array.from({ length: draw.topics }, (_, index): Chunk[] => {
    const topic = `topic-${index}`;
    const centre = point(null, 1);
    const chunks: Chunk[] = [];
    for (let count = draw.topicSize(); chunks.length < count; ) {
      const repeated = random.uniform() < repeats ? chunks.at(-1) : undefined;
      const vector = repeated === undefined ? point(centre, spread) : point(repeated.vector, NEARLY);
      chunks.push({ id: `${topic}/${chunks.length}`, topic, vector });
    }
    return chunks;
  });
  const all = groups.flat();
  const groupOf = new Map(groups.map((group) => [group[0]?.topic, group]));
  const questions = Array.from({ length: QUESTIONS }, (_, index): Question => {
    const chunk = all[random.below(all.length)] as Chunk;
    const others = (groupOf.get(chunk.topic) ?? [])
      .filter((one) => one !== chunk && random.uniform() < alsoRight)
      .slice(0, mostRight - 1);
    return {
      id: `q${index}`,
      text: textOf(index),
      topic: chunk.topic,
      tags: {},
      judgments: [
        { documentId: chunk.id, grade: others.length === 0 ? 1 : 2 },
        ...others.map(({ id }) => ({ documentId: id, grade: 1 })),
      ],
      vector: point(chunk.vector, distance),
    };
  });
  return { chunks: all, questions };
}

const words = {
  english: ['how', 'do', 'the', 'invoice', 'change', 'my', 'account', 'before', 'payment', 'with', 'export', 'report'],
  german: ['wie', 'kann', 'ich', 'die', 'Rechnung', 'für', 'das', 'Konto', 'ändern', 'und', 'wann', 'kommt'],
  russian: ['как', 'изменить', 'счёт', 'и', 'когда', 'придёт', 'отчёт', 'для', 'оплаты'],
} as const;

/**
 * Returns the text of query number `index`; the same number always returns the same text. Texts differ in language and
 * length, and some contain digits or a question mark.
 */
function textOf(index: number): string {
  const drawn = (salt: number, below: number): number => hashOf(String(index), salt) % below;
  const kind = drawn(1, 10);
  const list = words[kind === 0 ? 'russian' : kind < 3 ? 'german' : 'english'];
  const count = 2 + drawn(2, 4) ** 2 + drawn(3, 8);
  const text = Array.from({ length: count }, (_, place) => list[drawn(10 + place, list.length)]).join(' ');
  return `${text}${drawn(4, 5) === 0 ? ` ${drawn(5, 9999)}` : ''}${drawn(6, 2) === 0 ? '?' : ''}`;
}

export function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector));
  return vector.map((value) => value / length);
}

export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

export interface Found {
  readonly id: string;
  readonly similarity: number;
}

/**
 * Returns the k chunks with the largest cosine among those that the index examines. Equal cosines keep the order of
 * `chunks`.
 */
export function search(
  chunks: readonly Chunk[],
  vector: Float32Array,
  k: number,
  looksAt: ((chunk: Chunk) => boolean) | null = null,
): Found[] {
  const best: Found[] = [];
  for (const chunk of chunks) {
    const similarity = dot(chunk.vector, vector);
    if (best.length === k && similarity <= (best[k - 1]?.similarity ?? 0)) continue;
    if (looksAt !== null && !looksAt(chunk)) continue;
    let place = Math.min(best.length, k - 1);
    while (place > 0 && (best[place - 1]?.similarity ?? 0) < similarity) {
      best[place] = best[place - 1] as Found;
      place -= 1;
    }
    best[place] = { id: chunk.id, similarity };
  }
  return best;
}

/**
 * Simulates which chunks an index of the given quality (0 to 1) examines for a query: always the same chunks for the
 * same query. An index of kind `lists` uses random chunks of `built` as the centers of its lists.
 */
export function indexOf(
  kind: 'lists' | 'graph',
  built: readonly Chunk[],
  quality: number,
  random: RandomNumbers,
): (vector: Float32Array) => ((chunk: Chunk) => boolean) | null {
  if (quality >= 1) return () => null;
  if (kind === 'graph') {
    const salt = random.below(2 ** 31);
    return (vector) => {
      const asked = hashOf(String(vector[0]), salt);
      return ({ id }) => hashOf(id, asked) / 2 ** 32 < quality;
    };
  }
  const pivots = Array.from({ length: 16 }, () => built[random.below(built.length)]?.vector as Float32Array);
  const nearest = (vector: Float32Array): number[] =>
    pivots
      .map((pivot, list) => [list, dot(pivot, vector)] as const)
      .toSorted((a, b) => b[1] - a[1])
      .map(([list]) => list);
  const listOf = new WeakMap<Float32Array, number>();
  const listWith = (vector: Float32Array): number => {
    const list = listOf.get(vector) ?? nearest(vector)[0] ?? 0;
    listOf.set(vector, list);
    return list;
  };
  return (vector) => {
    const lists = new Set(nearest(vector).slice(0, Math.max(1, Math.round(quality * pivots.length))));
    return (chunk) => lists.has(listWith(chunk.vector));
  };
}

function hashOf(text: string, salt: number): number {
  let hash = salt | 0;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
