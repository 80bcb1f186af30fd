/**
 * Windows of live queries, and densities pooled over several windows.
 *
 * Each window closes exactly once, one grace period after its end. Windows close in order, including empty windows. The
 * drift test includes queries that arrive before their window closes, in any order and on any worker. Queries that
 * arrive later change the metrics of the window but never its drift test, so no alert fires or is withdrawn
 * retroactively.
 */

import { DAY_MS } from '../../core/time.ts';
import { type BaselineSpread, sessionVariance } from './baseline-spread.ts';
import {
  CONFIDENCE,
  densityInterval,
  densityOf,
  MIN_SESSIONS,
  type QueryDensity,
  uncoveredShareOf,
} from './query-density.ts';
import { type SessionMeans, surpriseTotal } from './sessions.ts';

export interface WindowSpan {
  readonly startMs: number;
  /** Exclusive. */
  readonly endMs: number;
}

/** Returns the window that contains the given time; windows are aligned to the epoch. */
export function windowAt(timeMs: number, windowMs: number): WindowSpan {
  const startMs = Math.floor(timeMs / windowMs) * windowMs;
  return { startMs, endMs: startMs + windowMs };
}

/**
 * Returns the windows that may close now, oldest first: those that ended at least `graceMs` ago and directly follow the
 * last closed window.
 *
 * @param closedUntilMs end of the last closed window, or the time at which monitoring starts
 * @param most maximum number of windows returned; after a long downtime, the next call returns the following windows
 */
export function windowsToClose(
  closedUntilMs: number,
  nowMs: number,
  timing: { readonly windowMs: number; readonly graceMs: number; readonly most: number },
): readonly WindowSpan[] {
  const spans: WindowSpan[] = [];
  let startMs = Math.ceil(closedUntilMs / timing.windowMs) * timing.windowMs;
  while (spans.length < timing.most && startMs + timing.windowMs + timing.graceMs <= nowMs) {
    spans.push({ startMs, endMs: startMs + timing.windowMs });
    startMs += timing.windowMs;
  }
  return spans;
}

/** Stored totals of a closed window. */
export type WindowTotals = ReturnType<typeof windowTotals>;

export function windowTotals(span: WindowSpan, means: SessionMeans) {
  return {
    ...span,
    all: surpriseTotal(means.all),
    regions: [...means.regions]
      .map(([region, own]) => ({ region, ...surpriseTotal(own) }))
      .toSorted((a, b) => a.region - b.region),
  };
}

export type PooledDensity = NonNullable<ReturnType<typeof pooledDensity>>;

/**
 * Density of the windows that start at or after `fromMs`. Each session in each window has equal weight. The interval is
 * valid for comparing windows of the same baseline with each other, or with a threshold that already accounts for the
 * sampling error of the baseline.
 *
 * @param variance variance of the mean surprise between sessions, from `sessionVariance`
 * @returns null if there are no sessions
 */
export function pooledDensity(
  windows: readonly WindowTotals[],
  fromMs: number,
  variance: number,
  confidence = CONFIDENCE,
) {
  const pooled = windows.filter(({ startMs }) => startMs >= fromMs);
  let sessions = 0;
  let sumX = 0;
  for (const { all } of pooled) {
    sessions += all.sessions;
    sumX += all.sumX;
  }
  if (sessions === 0) return null;
  const density = densityOf(sumX / sessions);
  return {
    startMs: Math.min(...pooled.map(({ startMs }) => startMs)),
    endMs: Math.max(...pooled.map(({ endMs }) => endMs)),
    sessions,
    density,
    ...densityInterval(density, variance, sessions, Number.POSITIVE_INFINITY, confidence),
  };
}

const MAX_POOL_MS = DAY_MS;

/**
 * Stored coverage totals of one window: sums over its sessions; each session counts once, with the mean of its queries.
 */
export type CoverageTotals = ReturnType<typeof coverageTotals>;

export function coverageTotals({ sessions, queries, meanX, varianceX, uncovered }: QueryDensity) {
  return {
    sessions,
    queries,
    sumX: sessions * meanX,
    sumXSquared: sessions * (varianceX + meanX ** 2),
    sumUncovered: sessions * uncovered.share,
  };
}

/** Number of sessions in these totals, and the share of them that is uncovered; 0 without sessions. */
export function uncoveredIn(totals: readonly CoverageTotals[]) {
  const sessions = totals.reduce((sum, one) => sum + one.sessions, 0);
  const uncovered = totals.reduce((sum, one) => sum + one.sumUncovered, 0);
  return { sessions, share: Math.min(1, uncovered / Math.max(1, sessions)) };
}

export type PooledCoverage = Extract<ReturnType<typeof pooledCoverage>, { kind: 'coverage' }>;

/**
 * Coverage of the latest windows: as many as are needed for 200 sessions, but at most one day. If some sessions are
 * poorly covered, sessions vary more than in the baseline. The confidence interval of the density accounts for this
 * variation.
 *
 * @param windows in order, latest last; `totals` is null if the segment has no queries in the window
 * @param baseline spread of the baseline sessions
 */
export function pooledCoverage(
  windows: readonly (WindowSpan & { readonly totals: CoverageTotals | null })[],
  baseline: Pick<BaselineSpread, 'variance' | 'phi' | 'sessions'>,
) {
  const endMs = windows.at(-1)?.endMs ?? 0;
  let startMs = endMs;
  let [sessions, queries, sumX, sumXSquared, sumUncovered] = [0, 0, 0, 0, 0];
  for (const window of windows.toReversed()) {
    if (sessions >= MIN_SESSIONS || endMs - window.startMs > MAX_POOL_MS) break;
    startMs = window.startMs;
    sessions += window.totals?.sessions ?? 0;
    queries += window.totals?.queries ?? 0;
    sumX += window.totals?.sumX ?? 0;
    sumXSquared += window.totals?.sumXSquared ?? 0;
    sumUncovered += window.totals?.sumUncovered ?? 0;
  }
  if (sessions < MIN_SESSIONS) return { kind: 'insufficient_data' as const, have: sessions, need: MIN_SESSIONS };
  const meanX = sumX / sessions;
  const density = densityOf(meanX);
  const variance = Math.max(sessionVariance(baseline), sumXSquared / sessions - meanX ** 2);
  return {
    kind: 'coverage' as const,
    startMs,
    endMs,
    sessions,
    queries,
    density,
    ...densityInterval(density, variance, sessions, baseline.sessions),
    uncovered: uncoveredShareOf(Math.min(1, sumUncovered / sessions), sessions, baseline.sessions),
  };
}
