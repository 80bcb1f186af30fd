/** How much the session means of the baseline vary, for all traffic and by region. */
import { moments } from '../../stats/moments.ts';
import { normalQuantile } from '../../stats/normal.ts';
import type { SessionMeans } from '../coverage/session-scores.ts';
import { meanXUpper, overdispersion } from './overdispersion.ts';

/** What a detector has to know of its part of the baseline. */
export interface BaselineSpread {
  /** Sessions of every window, summed. */
  readonly sessions: number;
  /** Mean and variance of the session means of x, cross-fitted. */
  readonly meanX: number;
  readonly variance: number;
  /** Overdispersion, >= 1. */
  readonly phi: number;
  /** Upper bound of the true mean of x. */
  readonly meanXUpper: number;
}

export interface RegionSpread extends BaselineSpread {
  readonly region: number;
}

const FEWEST_FOR_DETECTOR = 200;
const GLOBAL_Z = normalQuantile(0.99);
const REGION_Z = 3;

/** @param windows mean surprises of the sessions of each window, at least one session in all */
export function globalSpread(windows: readonly SessionMeans[]): BaselineSpread {
  return spreadOf(
    windows.map(({ all }) => all),
    GLOBAL_Z,
  );
}

/**
 * The regions with sessions enough for a detector of their own. None when there is one region: it is all traffic,
 * which has its detector already.
 */
export function regionSpreads(windows: readonly SessionMeans[], regionCount: number): RegionSpread[] {
  if (regionCount < 2) return [];
  return Array.from({ length: regionCount }, (_, region) => {
    const own = windows.flatMap(({ regions }) => regions.get(region) ?? []);
    const sessions = own.reduce((sum, means) => sum + means.length, 0);
    return sessions < FEWEST_FOR_DETECTOR ? [] : [{ region, ...spreadOf(own, REGION_Z) }];
  }).flat();
}

function spreadOf(windows: readonly Float64Array[], z: number): BaselineSpread {
  const all = windows.flatMap((means) => [...means]);
  const { mean, standardDeviation } = moments(all);
  const pooled = { mean, variance: standardDeviation ** 2 };
  const { phi } = overdispersion(
    windows.map((means) => ({
      sessions: means.length,
      meanX: means.reduce((sum, x) => sum + x, 0) / means.length,
    })),
    pooled,
  );
  return {
    sessions: all.length,
    meanX: mean,
    variance: pooled.variance,
    phi,
    meanXUpper: meanXUpper(pooled, phi, all.length, z),
  };
}
