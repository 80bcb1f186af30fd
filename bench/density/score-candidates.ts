/** Measures how well candidate scores of a query separate covered queries from queries whose content is missing. */
import { mannWhitney } from '../../src/density/rules/two-sample-statistics.ts';
import { mean } from '../../src/math/stats/descriptive.ts';
import { dotProduct, lengthOf, type Matrix, meanDirection, rowOf, selectRows } from '../../src/math/vector/matrix.ts';
import { nearestNeighbours } from '../../src/math/vector/nearest-neighbours.ts';
import { randomNumbers } from '../random-numbers.ts';
import { shuffled, type World } from './world.ts';

export interface ScoreCell {
  readonly world: string;
  readonly chunks: number;
  /**
   * Probability that a random covered query has a higher score than a random query whose content is missing; ties
   * count as one half. Mean over the simulated stores, keyed by candidate.
   */
  readonly auc: Readonly<Record<string, number>>;
}

/**
 * @param similarities cosines to the nearest chunks, best first
 * @param toMean mean cosine to all chunks
 */
type Candidate = (similarities: Float64Array, toMean: number) => number;

const DEEPEST = 50;

const ranks = (similarities: Float64Array, from: number, to: number): number =>
  mean(similarities.subarray(Math.min(from, similarities.length) - 1, to));

const candidates: Readonly<Record<string, Candidate>> = {
  'mean of the top 5': (s) => ranks(s, 1, 5),
  'mean of the top 10': (s) => ranks(s, 1, 10),
  nearest: (s) => ranks(s, 1, 1),
  'nearest minus half of the mean to the store': (s, toMean) => ranks(s, 1, 1) - toMean / 2,
  'nearest minus the mean to the store': (s, toMean) => ranks(s, 1, 1) - toMean,
  'nearest minus ranks 11 to 20': (s) => ranks(s, 1, 1) - ranks(s, 11, 20),
  'nearest minus ranks 20 to 50': (s) => ranks(s, 1, 1) - ranks(s, 20, 50),
};

/** A store and a set of queries; some of the queries ask for content that the store lacks. */
interface ScoredCase {
  readonly store: Matrix;
  readonly questions: Matrix;
  readonly isMissing: (row: number) => boolean;
}

/**
 * Returns two groups of queries: queries about the uncovered topics of this kind, which ask for missing content, and
 * queries about the topics of the baseline traffic.
 */
export function uncoveredCase({ vectors, topics, asked, uncovered, store }: World, kind: string): ScoredCase {
  const missing = new Set(uncovered.filter((one) => one.kind === kind).map(({ topic }) => topic));
  const taken = new Set([...missing, ...asked.map(({ topic }) => topic)]);
  return caseOf(vectors, topics, taken, missing, store);
}

/** Deletes one fifteenth of the stored topics; queries about these topics ask for missing content. */
export function deletedCase({ vectors, topics, asked, store, chunkTopics }: World, seed: number): ScoredCase {
  const held = [...new Set(chunkTopics)];
  const gone = new Set(
    Array.from(shuffled(held.length, randomNumbers(seed)).slice(0, Math.ceil(held.length / 15)), (i) => held[i] ?? -1),
  );
  const kept = [...chunkTopics.keys()].filter((row) => !gone.has(chunkTopics[row] ?? -1));
  return caseOf(vectors, topics, new Set(asked.map(({ topic }) => topic)), gone, selectRows(store, kept));
}

function caseOf(
  vectors: Matrix,
  topics: Int32Array,
  taken: ReadonlySet<number>,
  missing: ReadonlySet<number>,
  store: Matrix,
): ScoredCase {
  const rows = [...topics.keys()].filter((row) => taken.has(topics[row] ?? -1));
  return { store, questions: selectRows(vectors, rows), isMissing: (i) => missing.has(topics[rows[i] ?? 0] ?? -1) };
}

/** @param cases at least one */
export function scoreCell(world: string, cases: readonly ScoredCase[]): ScoreCell {
  const all = cases.map(aucsOf);
  const auc = Object.fromEntries(
    Object.keys(candidates).map((name) => [name, mean(all.map((one) => one[name] ?? Number.NaN))]),
  );
  return { world, chunks: cases[0]?.store.rows ?? 0, auc };
}

function aucsOf({ store, questions, isMissing }: ScoredCase): Record<string, number> {
  const { k, similarities } = nearestNeighbours(store, questions, DEEPEST);
  const storeMean = meanDirection(store);
  const rows = Array.from({ length: questions.rows }, (_, row) => row);
  return Object.fromEntries(
    Object.entries(candidates).map(([name, candidate]) => {
      const score = (row: number): number => {
        const vector = rowOf(questions, row);
        const own = similarities.subarray(row * k, (row + 1) * k);
        return candidate(own, dotProduct(vector, storeMean) / lengthOf(vector));
      };
      const [covered, missing] = [false, true].map((side) =>
        Float64Array.from(
          rows.filter((row) => isMissing(row) === side),
          score,
        ),
      );
      return [name, mannWhitney(covered ?? new Float64Array(), missing ?? new Float64Array())];
    }),
  );
}
