/** Density over several windows, of all traffic or of one region. */
import type { WindowSpan } from './evidence-windows.ts';
import { densityInterval, densityOf } from './query-density.ts';
import { type SessionMeans, type SurpriseTotal, surpriseTotal } from './session-scores.ts';

/** What is kept of a closed window. */
export interface WindowTotals extends WindowSpan {
  readonly all: SurpriseTotal;
  readonly regions: readonly (SurpriseTotal & { readonly region: number })[];
}

/** All traffic, or the number of a region. */
export type Scope = 'global' | number;

export interface PooledDensity {
  readonly startMs: number;
  readonly endMs: number;
  readonly sessions: number;
  readonly density: number;
  /** Ends of the 95 % interval. */
  readonly low: number;
  readonly high: number;
}

export function windowTotals(span: WindowSpan, means: SessionMeans): WindowTotals {
  return {
    ...span,
    all: surpriseTotal(means.all),
    regions: [...means.regions]
      .map(([region, own]) => ({ region, ...surpriseTotal(own) }))
      .toSorted((a, b) => a.region - b.region),
  };
}

/**
 * Density of the windows that start at or after `fromMs`, with each session of each window as one vote.
 *
 * @param phi overdispersion of the scope in the baseline
 * @returns null without sessions
 */
export function pooledDensity(
  windows: readonly WindowTotals[],
  scope: Scope,
  fromMs: number,
  phi: number,
): PooledDensity | null {
  const pooled = windows.filter(({ startMs }) => startMs >= fromMs);
  let sessions = 0;
  let sumX = 0;
  for (const window of pooled) {
    const total = scope === 'global' ? window.all : window.regions.find(({ region }) => region === scope);
    sessions += total?.sessions ?? 0;
    sumX += total?.sumX ?? 0;
  }
  if (sessions === 0) return null;
  const density = densityOf(sumX / sessions);
  return {
    startMs: Math.min(...pooled.map(({ startMs }) => startMs)),
    endMs: Math.max(...pooled.map(({ endMs }) => endMs)),
    sessions,
    density,
    ...densityInterval(density, sessions, phi),
  };
}
