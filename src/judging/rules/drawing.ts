/** Which of the kept live queries a judge grades, and with which probability. */
import { uniformHash } from '../../live/rules/sampling/decision.ts';

/** A kept live query that has something to grade. */
export interface Drawable {
  /** Live queries that it stands for: 1 / its inclusion probability. */
  readonly standsFor: number;
  /** Its segment; segments with little traffic are drawn more often. */
  readonly segment: string;
  /** Whether something that costs nothing says that it was answered badly; such are drawn more often. */
  readonly isSuspect: boolean;
}

/** A suspect query is drawn so many times as often as another. */
const SUSPECT = 2;
const MAX_ROUNDS = 50;

/**
 * Probabilities that add up to `expected`, or 1 for all where there are no more.
 *
 * A query is drawn in proportion to what it stands for, so that the final weights within a stratum are equal, which
 * keeps bounds narrow (Särndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992, section 3.6.1). A suspect
 * query, where scores differ most, is drawn twice as often (Neyman's allocation with a spread of two). Segments get parts
 * in proportion to the square root of their traffic (power allocation, Bankier 1988): a small one is seen as well, and the
 * whole still is.
 *
 * What is asked of a query never depends on its own draw, nor on its grades.
 *
 * @param expected number of queries, >= 0
 */
export function drawingProbabilities(queries: readonly Drawable[], expected: number): number[] {
  const traffic = new Map<string, number>();
  for (const { segment, standsFor } of queries) traffic.set(segment, (traffic.get(segment) ?? 0) + standsFor);
  const sizes = queries.map(
    ({ segment, standsFor, isSuspect }) =>
      ((isSuspect ? SUSPECT : 1) * standsFor) / Math.sqrt(traffic.get(segment) ?? 1),
  );
  let certain = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const rest = sizes.reduce((sum, size, index) => (certain.has(index) ? sum : sum + size), 0);
    const scale = rest === 0 ? 0 : Math.max(0, expected - certain.size) / rest;
    const full = new Set(sizes.flatMap((size, index) => (size * scale >= 1 || certain.has(index) ? [index] : [])));
    if (full.size === certain.size) return sizes.map((size, index) => (certain.has(index) ? 1 : size * scale));
    certain = full;
  }
  return sizes.map(() => Math.min(1, expected / queries.length));
}

/**
 * The draw of a session for a judge, or for the deeper search, in [0, 1): its queries are taken where it is below their
 * probability. The same on every replica, independent of the draw that kept the session and of the other draws.
 *
 * @param sessionHash names the session; the session id is not stored
 */
export function judgeDraw(
  pipeline: string,
  sessionHash: string,
  drawnFor: 'model' | 'people' | 'second' | 'deeper',
): number {
  return uniformHash(['recalld/judging/v1', pipeline, drawnFor, sessionHash]);
}
