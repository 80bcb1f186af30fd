/** Selects sampled live queries for judging, with known probabilities. */
import { uniformHash } from '../../live/rules/sampling/decision.ts';

export interface Drawable {
  /** Number of live queries that the query represents: 1 / its inclusion probability. */
  readonly represents: number;
  /** Segment of the query. Small segments are oversampled. */
  readonly segment: string;
  /** True if a cheap signal, such as negative feedback, suggests bad results. Suspect queries are oversampled. */
  readonly isSuspect: boolean;
}

const SUSPECT = 2;
const MAX_ROUNDS = 50;

/**
 * Returns selection probabilities that sum to `expected`, or 1 for every query if there are at most `expected` queries.
 *
 * The probability of a query is proportional to the number of queries that it represents. The final weights within a
 * stratum are therefore equal, which keeps confidence intervals narrow (Särndal, Swensson and Wretman, Model Assisted
 * Survey Sampling, 1992, section 3.6.1). A suspect query is selected twice as often, because its score varies more
 * (Neyman's allocation with twice the spread). The number of queries selected in a segment is proportional to the
 * square root of its traffic (power allocation, Bankier 1988). This allocation covers small segments with little loss
 * of overall precision.
 *
 * The probability of a query never depends on its own random number or its grades.
 *
 * @param expected mean number of queries that the draws select, >= 0
 */
export function drawingProbabilities(queries: readonly Drawable[], expected: number): number[] {
  const traffic = new Map<string, number>();
  for (const { segment, represents } of queries) traffic.set(segment, (traffic.get(segment) ?? 0) + represents);
  const sizes = queries.map(
    ({ segment, represents, isSuspect }) =>
      ((isSuspect ? SUSPECT : 1) * represents) / Math.sqrt(traffic.get(segment) ?? 1),
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
 * Returns a random number in [0, 1) for a session and a purpose. A query of the session is selected if this number is
 * below the query's probability. The number is the same on every replica. This number is independent of the number that
 * decides whether the session is sampled, and of the numbers for other purposes.
 *
 * @param sessionHash identifies the session; the session id itself is not stored
 */
export function judgeDraw(
  pipeline: string,
  sessionHash: string,
  drawnFor: 'model' | 'people' | 'second' | 'deeper' | 'episode',
): number {
  return uniformHash(['recalld/judging/v1', pipeline, drawnFor, sessionHash]);
}
