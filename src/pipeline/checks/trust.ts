/** How old a stored value may be before nobody should act on it: what is exported and what is shown agree by this. */
import { liveMeasures } from '../../core/live/live-measures.ts';
import type { Measurement } from '../../core/measurement.ts';
import { LIVE_MIX_PREFIX, REPRESENTATIVENESS } from '../golden-sets/measure-golden-representativeness.ts';
import { SAMPLES_READ } from '../live/measure-live-traffic.ts';

/** Values older than this many intervals are withheld. */
export const INTERVALS_TO_TRUST = 3;
/** Sets that run only by hand are expected to be run daily. */
const INTERVAL_BY_HAND_SECONDS = 86_400;

/** Longest that what a probe found is trusted: three times what passes between two probes. */
export const probeTrustSeconds = {
  store_vectors: INTERVALS_TO_TRUST * 300,
  embedding_canary_median: INTERVALS_TO_TRUST * 600,
  embedding_canary_least: INTERVALS_TO_TRUST * 600,
  ann_recall: INTERVALS_TO_TRUST * 3600,
  store_sample_vectors: INTERVALS_TO_TRUST * 21_600,
  store_centroid_shift: INTERVALS_TO_TRUST * 21_600,
  store_length_ratio: INTERVALS_TO_TRUST * 21_600,
  store_query_divergence: INTERVALS_TO_TRUST * 21_600,
  store_queries_apart_ratio: INTERVALS_TO_TRUST * 21_600,
  store_chunks_unasked_ratio: INTERVALS_TO_TRUST * 21_600,
  store_duplicates_ratio: INTERVALS_TO_TRUST * 21_600,
} as const;

/** Of how well golden sets stand for live traffic, measured every six hours. */
const liveMixTrustSeconds = INTERVALS_TO_TRUST * 21_600;

const measuresOfTraffic: ReadonlySet<string> = new Set([
  ...liveMeasures,
  'feedback_positive_ratio',
  SAMPLES_READ,
]);

export type ProbeMeasure = keyof typeof probeTrustSeconds;

export function isProbeMeasure(measure: string): measure is ProbeMeasure {
  return Object.hasOwn(probeTrustSeconds, measure);
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
  if (isProbeMeasure(measure)) return probeTrustSeconds[measure];
  if (measure === REPRESENTATIVENESS || measure.startsWith(LIVE_MIX_PREFIX)) return liveMixTrustSeconds;
  const interval = measuresOfTraffic.has(measure)
    ? liveIntervalSeconds
    : Math.max(liveIntervalSeconds, ageSeconds(windowStart, windowEnd));
  return INTERVALS_TO_TRUST * interval;
}

export function ageSeconds(at: Date, now: Date): number {
  return (now.getTime() - at.getTime()) / 1000;
}
