/** The search of the monitored service over the rows of its store: BM25, dense, or dense with a reranker. */
import { type Row, type Shape } from './shape.ts';
import type { VectorOf } from './vectors.ts';

export interface Asked {
  readonly text: string;
  readonly k: number;
  readonly segments: Readonly<Record<string, string>>;
  /** `golden`: a query from a golden run or a probe, sent over HTTP; `live`: a user's query. */
  readonly origin: 'golden' | 'live';
  /** A vector that replaces the vector of the text. */
  readonly vector?: Float32Array;
  /** True for rows that the search may return; if missing, the search may return all rows. */
  readonly allows?: (row: Row) => boolean;
  /** Number of candidates for the reranker; 0 skips the reranker. */
  readonly reranked?: number;
  /** If set, the search compares only the signs of this number of dimensions. */
  readonly bits?: number;
  /** If set, the search ignores the query and skips this share (0 to 1) of the rows; the next rows are the results. */
  readonly shift?: number;
}

export interface Hit {
  readonly id: string;
  readonly score: number;
  readonly text: string;
}

export type Search = (asked: Asked) => readonly Hit[];

const CANDIDATES = 40;
const K1 = 1.2;
const B = 0.75;

export function wordsOf(text: string): string[] {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

interface Posting {
  readonly row: number;
  readonly count: number;
}

interface LexicalIndex {
  readonly postings: ReadonlyMap<string, readonly Posting[]>;
  readonly lengths: readonly number[];
  readonly meanLength: number;
}

function lexicalIndex(rows: readonly Row[]): LexicalIndex {
  const postings = new Map<string, Posting[]>();
  const lengths = rows.map(({ text }, row) => {
    const counts = new Map<string, number>();
    const words = wordsOf(text);
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    for (const [word, count] of counts) {
      const list = postings.get(word);
      if (list === undefined) postings.set(word, [{ row, count }]);
      else list.push({ row, count });
    }
    return words.length;
  });
  return { postings, lengths, meanLength: lengths.reduce((sum, one) => sum + one, 0) / Math.max(1, rows.length) };
}

/** Okapi BM25 (Robertson and Zaragoza 2009, equation 3.15), with Lucene's inverse document frequency. */
function bm25({ postings, lengths, meanLength }: LexicalIndex, text: string): Float64Array {
  const scores = new Float64Array(lengths.length);
  for (const word of new Set(wordsOf(text))) {
    const list = postings.get(word) ?? [];
    const rarity = Math.log(1 + (lengths.length - list.length + 0.5) / (list.length + 0.5));
    for (const { row, count } of list) {
      const norm = K1 * (1 - B + (B * (lengths[row] ?? 0)) / meanLength);
      scores[row] = (scores[row] ?? 0) + (rarity * count * (K1 + 1)) / (count + norm);
    }
  }
  return scores;
}

function cosines(rows: readonly Row[], vector: Float32Array): Float64Array {
  const scores = new Float64Array(rows.length);
  for (const [at, row] of rows.entries()) {
    let sum = 0;
    const other = row.vector;
    for (let i = 0; i < vector.length; i++) sum += (vector[i] ?? 0) * (other[i] ?? 0);
    scores[at] = sum;
  }
  return scores;
}

/** For each row, the share of the first `bits` dimensions in which its vector has the same sign as `vector`. */
function signMatches(rows: readonly Row[], vector: Float32Array, bits: number): Float64Array {
  const isAlike = (other: Float32Array, at: number): boolean => (vector[at] ?? 0) >= 0 === (other[at] ?? 0) >= 0;
  return Float64Array.from(rows, (row) => {
    let alike = 0;
    for (let at = 0; at < bits; at++) if (isAlike(row.vector, at)) alike++;
    return alike / bits;
  });
}

function slice(rows: readonly Row[], start: number, count: number): Row[] {
  const first = Math.floor(start * rows.length);
  return Array.from({ length: Math.min(count, rows.length) }, (_, at) => rows[(first + at) % rows.length] as Row);
}

interface Scored {
  readonly row: Row;
  readonly score: number;
}

function best(rows: readonly Row[], scores: Float64Array, asked: Asked, count: number, least: number): Scored[] {
  const { allows = () => true } = asked;
  const found: Scored[] = [];
  for (const [at, row] of rows.entries()) {
    const score = scores[at] ?? 0;
    if (score > least && allows(row)) found.push({ row, score });
  }
  return found.toSorted((a, b) => b.score - a.score || (a.row.id < b.row.id ? -1 : 1)).slice(0, count);
}

/**
 * Weight of the lexical feature in the reranker's score, in addition to the cosine. The lexical feature is a chunk's
 * BM25 score divided by the highest BM25 score.
 */
const LEXICAL_WEIGHT = 0.5;

function toHit({ row, score }: Scored): Hit {
  return { id: row.id, score, text: row.text };
}

/** Creates the search of a healthy service of this shape over the rows; the lexical index is built only once. */
export function createSearch({ retriever }: Shape, rows: readonly Row[], embed: VectorOf): Search {
  let words: LexicalIndex | null = null;
  const lexical = (text: string): Float64Array => {
    words ??= lexicalIndex(rows);
    return bm25(words, text);
  };
  const vectorsOf = ({ bits }: Asked, vector: Float32Array): Float64Array =>
    bits === undefined ? cosines(rows, vector) : signMatches(rows, vector, bits);
  return (asked) => {
    if (asked.shift !== undefined) return slice(rows, asked.shift, asked.k).map((row) => toHit({ row, score: 0.5 }));
    if (retriever === 'lexical') return best(rows, lexical(asked.text), asked, asked.k, 0).map(toHit);
    const dense = vectorsOf(asked, asked.vector ?? embed(asked.text));
    const { reranked = CANDIDATES } = asked;
    if (retriever === 'dense' || reranked === 0) return best(rows, dense, asked, asked.k, -2).map(toHit);
    const scores = lexical(asked.text);
    const most = Math.max(1, ...scores);
    const place = new Map(rows.map((row, at) => [row, at]));
    return best(rows, dense, asked, reranked, -2)
      .map(({ row, score }) => {
        const share = (scores[place.get(row) ?? 0] ?? 0) / most;
        return { row, score: (1 - LEXICAL_WEIGHT) * score + LEXICAL_WEIGHT * share };
      })
      .toSorted((a, b) => b.score - a.score || (a.row.id < b.row.id ? -1 : 1))
      .slice(0, asked.k)
      .map(toHit);
  };
}
