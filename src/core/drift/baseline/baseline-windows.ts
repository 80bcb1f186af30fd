/** The queries of the baseline by window, because sessions are counted by window. */

import type { Matrix } from '../../vector/matrix.ts';
import { windowAt } from '../coverage/evidence-windows.ts';
import { NO_REGION } from '../coverage/percentile.ts';
import type { MeasuredQuery } from '../coverage/scored-query.ts';
import { type SessionMeans, sessionMeans } from '../coverage/session-scores.ts';
import { numberSessions, sessionWeights } from '../coverage/session-weights.ts';

export interface BaselineWindow {
  readonly startMs: number;
  /** Positions of its queries. */
  readonly indices: readonly number[];
  /** Numbers of their sessions. */
  readonly sessions: Int32Array;
  /** Names of the sessions; null for those that were grouped by likeness. */
  readonly names: readonly (string | null)[];
  readonly means: SessionMeans;
}

/** Windows with queries, in the order of time. */
export function baselineWindows(
  queries: readonly MeasuredQuery[],
  vectors: Matrix,
  regions: Int32Array,
  surprises: Float64Array,
  windowMs: number,
): readonly BaselineWindow[] {
  const byStart = new Map<number, number[]>();
  for (const [index, { occurredAt }] of queries.entries()) {
    const { startMs } = windowAt(occurredAt.getTime(), windowMs);
    const indices = byStart.get(startMs);
    if (indices === undefined) byStart.set(startMs, [index]);
    else indices.push(index);
  }
  return [...byStart]
    .toSorted(([a], [b]) => a - b)
    .map(([startMs, indices]) => {
      const own = indices.flatMap((index) => queries[index] ?? []);
      const sessions = numberSessions(own, vectors);
      const names = own.map(({ session }) => session);
      const means = sessionMeans(
        Float64Array.from(indices, (index) => surprises[index] ?? 0),
        indices.map((index) => regions[index] ?? NO_REGION),
        sessions,
      );
      return { startMs, indices, sessions, names, means };
    });
}

/** Sessions of the period: one that reaches into a second window counts once. */
export function sessionCount(windows: readonly BaselineWindow[]): number {
  const sessions = new Set<string>();
  for (const { startMs, sessions: numbers, names } of windows) {
    for (const [i, name] of names.entries()) {
      sessions.add(name === null ? `${startMs}/${numbers[i]}` : `named ${name}`);
    }
  }
  return sessions.size;
}

/** Share of the session weights by region; queries without a region count in the whole. */
export function regionShares(
  windows: readonly BaselineWindow[],
  regions: Int32Array,
  regionCount: number,
): number[] {
  const sums = Array.from({ length: regionCount }, () => 0);
  let total = 0;
  for (const { indices, sessions } of windows) {
    const { weights } = sessionWeights(sessions);
    for (const [i, index] of indices.entries()) {
      const region = regions[index] ?? NO_REGION;
      total += weights[i] ?? 0;
      if (region !== NO_REGION) sums[region] = (sums[region] ?? 0) + (weights[i] ?? 0);
    }
  }
  return sums.map((sum) => sum / total);
}
