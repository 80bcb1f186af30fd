/** How old a stored value may be before nobody should act on it: what is exported and what is shown agree by this. */

import { measureRow } from './measure-table.ts';
import type { Measurement } from './measurement.ts';

/** Longest gap between two ticks of a set in seconds, null for a set that runs by hand. */
export type IntervalOf = (pipeline: string, goldenSet: string) => number | null;

/** Values older than this many intervals are withheld. */
export const INTERVALS_TO_TRUST = 3;
/** Sets that run only by hand are expected to be run daily. */
const INTERVAL_BY_HAND_SECONDS = 86_400;

/** Of how well golden sets stand for live traffic: measured every six hours, with a score for each metric of the set. */
const GOLDEN = 'golden_';
const LIVE_MIX = 'golden_live_mix_';

/** Longest that what a probe found is trusted, in seconds; null for what no probe finds. */
export function probeTrustSeconds(measure: string): number | null {
  const { every } = measureRow(measure);
  return typeof every !== 'number' || measure.startsWith(GOLDEN) ? null : INTERVALS_TO_TRUST * every;
}

/** Longest that the scores of a golden run are trusted, in seconds; null is the interval of a set that runs by hand. */
export function runTrustSeconds(intervalSeconds: number | null): number {
  return INTERVALS_TO_TRUST * (intervalSeconds ?? INTERVAL_BY_HAND_SECONDS);
}

/** Whether a golden run that ended at `finishedAt` is too old to trust. */
export function isRunTooOld(finishedAt: Date, intervalSeconds: number | null, now: Date): boolean {
  return ageSeconds(finishedAt, now) > runTrustSeconds(intervalSeconds);
}

/**
 * Longest that a measurement is trusted, in seconds: three times what passes between two of its kind. Of a measure whose
 * schedule is not known here, that is the length of its window, or the interval of live measures where that is longer.
 *
 * @param liveIntervalSeconds longest gap between two measurements of live traffic
 */
export function measurementTrustSeconds(
  { measure, windowStart, windowEnd }: Pick<Measurement, 'measure' | 'windowStart' | 'windowEnd'>,
  liveIntervalSeconds: number,
): number {
  const { every } = measureRow(measure.startsWith(LIVE_MIX) ? 'golden_live_mix_ndcg' : measure);
  if (typeof every === 'number') return INTERVALS_TO_TRUST * every;
  const windowSeconds = every === 'live' ? 0 : ageSeconds(windowStart, windowEnd);
  return INTERVALS_TO_TRUST * Math.max(liveIntervalSeconds, windowSeconds);
}

export function ageSeconds(at: Date, now: Date): number {
  return (now.getTime() - at.getTime()) / 1000;
}
