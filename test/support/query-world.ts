/** A store with chunks about topics, and users who ask about these topics, both generated from a seed. */

import { coverageScores, type ScoredQuery } from '../../src/density/rules/query-score.ts';
import { type Matrix, matrixOf, meanDirection } from '../../src/math/vector/matrix.ts';
import { nearestNeighbours } from '../../src/math/vector/nearest-neighbours.ts';
import { uniforms } from './uniforms.ts';

const COLUMNS = 24;
const CHUNKS_PER_TOPIC = 40;
const SPREAD = 0.14;

export interface Question {
  readonly topic: number;
  readonly session: string | null;
  readonly occurredAt: Date;
}

export interface AskedQueries {
  readonly queries: readonly ScoredQuery[];
  readonly vectors: Matrix;
}

export interface QueryWorld {
  /** Chunks about the topics with numbers below `covered`; the store has no chunks about other topics. */
  readonly store: Matrix;
  readonly storeMean: Float64Array;
  ask(questions: readonly Question[], store?: Matrix): AskedQueries;
  chunksOf(topics: readonly number[]): Matrix;
}

export function queryWorld(seed: number, topics: number, covered: number): QueryWorld {
  const uniform = uniforms(seed);
  const gaussian = (): number => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const direction = (): number[] => {
    const vector = Array.from({ length: COLUMNS }, gaussian);
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  };
  const centres = Array.from({ length: topics }, direction);
  const near = (topic: number): number[] => (centres[topic] ?? []).map((value) => value + SPREAD * gaussian());
  const chunks = centres.map((_, topic) => Array.from({ length: CHUNKS_PER_TOPIC }, () => near(topic)));
  const chunksOf = (chosen: readonly number[]): Matrix => matrixOf(chosen.flatMap((topic) => chunks[topic] ?? []));
  const store = chunksOf(Array.from({ length: covered }, (_, topic) => topic));
  const storeMean = meanDirection(store);
  let asked = 0;
  return {
    store,
    storeMean,
    chunksOf,
    ask: (questions, searched = store) => {
      const vectors = matrixOf(questions.map(({ topic }) => near(topic)));
      const scores = coverageScores(nearestNeighbours(searched, vectors, 1), vectors, storeMean);
      const queries = questions.map(({ session, occurredAt }, row) => ({
        id: `q${String(asked++).padStart(7, '0')}`,
        session,
        score: scores[row] ?? null,
        row,
        occurredAt,
      }));
      return { queries, vectors };
    },
  };
}

/** Queries spread evenly over a period, each in a separate session; the queries cycle through the topics. */
export function evenQuestions(count: number, topics: readonly number[], from: Date, lengthMs: number): Question[] {
  return Array.from({ length: count }, (_, i) => ({
    topic: topics[i % topics.length] ?? 0,
    session: `session ${from.getTime()} ${i}`,
    occurredAt: new Date(from.getTime() + Math.floor((i * lengthMs) / count)),
  }));
}
