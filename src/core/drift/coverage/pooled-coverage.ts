/** Density and uncovered share of all traffic or a segment, over as many windows as it takes to know them. */

import type { Interval } from '../../stats/interval.ts';
import { DAY_MS } from '../../time.ts';
import type { WindowSpan } from './evidence-windows.ts';
import {
  densityInterval,
  densityOf,
  FEWEST_SESSIONS,
  type InsufficientSessions,
  type QueryDensity,
  tooFewSessions,
  UNCOVERED_PERCENTILE,
  type UncoveredShare,
  uncoveredShareOf,
} from './query-density.ts';

/** What is kept of the traffic of one window. */
export interface CoverageTotals {
  readonly sessions: number;
  readonly queries: number;
  /** Sums over the sessions, each with its mean over its queries. */
  readonly sumX: number;
  readonly sumUncovered: number;
}

export interface PooledCoverage extends WindowSpan, Interval {
  readonly kind: 'coverage';
  readonly sessions: number;
  readonly queries: number;
  /** With 95 % bounds `low` and `high`. */
  readonly density: number;
  readonly uncovered: UncoveredShare;
}

/** How far back windows with few sessions are pooled. */
const LONGEST_POOL_MS = DAY_MS;

export function coverageTotals({ sessions, queries, meanX, uncovered }: QueryDensity): CoverageTotals {
  return { sessions, queries, sumX: sessions * meanX, sumUncovered: sessions * uncovered.share };
}

/**
 * Coverage of the latest windows that together have 200 sessions, the fewest of them, at most a day back.
 *
 * @param windows in the order of time, the latest last; null for those without such queries
 * @param phi overdispersion of the baseline
 */
export function pooledCoverage(
  windows: readonly (WindowSpan & { readonly totals: CoverageTotals | null })[],
  phi: number,
): PooledCoverage | InsufficientSessions {
  const endMs = windows.at(-1)?.endMs ?? 0;
  let startMs = endMs;
  let [sessions, queries, sumX, sumUncovered] = [0, 0, 0, 0];
  for (const window of windows.toReversed()) {
    if (sessions >= FEWEST_SESSIONS || endMs - window.startMs > LONGEST_POOL_MS) break;
    startMs = window.startMs;
    sessions += window.totals?.sessions ?? 0;
    queries += window.totals?.queries ?? 0;
    sumX += window.totals?.sumX ?? 0;
    sumUncovered += window.totals?.sumUncovered ?? 0;
  }
  const insufficient = tooFewSessions(sessions);
  if (insufficient !== null) return insufficient;
  const density = densityOf(sumX / sessions);
  return {
    kind: 'coverage',
    startMs,
    endMs,
    sessions,
    queries,
    density,
    ...densityInterval(density, sessions, phi),
    uncovered: uncoveredShareOf(Math.min(1, sumUncovered / sessions), sessions, UNCOVERED_PERCENTILE),
  };
}
