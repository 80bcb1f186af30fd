/** Outcome of a scheduled measurement: a value with its bounds, or a gap with its reason. */
import { measureRow } from './measure-table.ts';

/** Returns the maximum number of seconds between two scheduled runs of a golden set; null without a schedule. */
export type IntervalOf = (pipeline: string, goldenSet: string) => number | null;

/** Number of intervals after which a value is stale and withheld. */
export const INTERVALS_TO_TRUST = 3;
/** Assumed interval for golden sets without a schedule, which are expected to be run daily. */
const INTERVAL_BY_HAND_SECONDS = 86_400;

/** Prefix of the measures of golden sets; none of these measures comes from a probe. */
const GOLDEN = 'golden_';
const LIVE_MIX = 'golden_live_mix_';
/** Matches measures of judged live relevance; none of these measures comes from a probe. */
const JUDGED = /^(live|judged?)_/;

/** Returns how long a probe result is trusted, in seconds; null for a measure that does not come from a probe. */
export function probeTrustSeconds(measure: string): number | null {
  const { every } = measureRow(measure);
  return typeof every !== 'number' || measure.startsWith(GOLDEN) || JUDGED.test(measure)
    ? null
    : INTERVALS_TO_TRUST * every;
}

/** Returns how long golden run scores are trusted, in seconds; the interval is null for a set without a schedule. */
export function runTrustSeconds(intervalSeconds: number | null): number {
  return INTERVALS_TO_TRUST * (intervalSeconds ?? INTERVAL_BY_HAND_SECONDS);
}

export function isRunTooOld(finishedAt: Date, intervalSeconds: number | null, now: Date): boolean {
  return ageSeconds(finishedAt, now) > runTrustSeconds(intervalSeconds);
}

/**
 * Returns how long a measurement is trusted, in seconds: three times its interval. A measure that is taken only during
 * incidents is trusted forever, because it is expected to be absent at other times. If the table has no interval for
 * the measure, the interval is the window length or the interval of live measures, whichever is longer.
 *
 * @param liveIntervalSeconds maximum time between two measurements of live traffic
 */
export function measurementTrustSeconds(
  { measure, windowStart, windowEnd }: Pick<Measurement, 'measure' | 'windowStart' | 'windowEnd'>,
  liveIntervalSeconds: number,
): number {
  const { every } = measureRow(measure.startsWith(LIVE_MIX) ? 'golden_live_mix_ndcg' : measure);
  if (typeof every === 'number') return INTERVALS_TO_TRUST * every;
  if (every === 'incident') return Number.POSITIVE_INFINITY;
  const windowSeconds = every === 'live' ? 0 : ageSeconds(windowStart, windowEnd);
  return INTERVALS_TO_TRUST * Math.max(liveIntervalSeconds, windowSeconds);
}

export function ageSeconds(at: Date, now: Date): number {
  return (now.getTime() - at.getTime()) / 1000;
}

/** Key of a series of values over time. */
export interface MeasurementSeries {
  readonly pipeline: string;
  /** Name of the measure in snake case, such as `zero_results_ratio`. */
  readonly measure: string;
  /** `all`, `key=value`, or `other`. */
  readonly segment: string;
}

interface Measuring extends MeasurementSeries {
  /** Start of the data window, inclusive. */
  readonly windowStart: Date;
  /** End of the data window, exclusive. A series has one value for each window end. */
  readonly windowEnd: Date;
  readonly measuredAt: Date;
  /** Further details as JSON, which must contain no query texts, and no ids of users, queries or documents. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface Measurement extends Measuring {
  readonly kind: 'value';
  readonly value: number;
  /** Lower 95 % bound; null for a value that is exact or has no bounds. */
  readonly ciLow: number | null;
  /** Upper 95 % bound; null if the lower bound is null. */
  readonly ciHigh: number | null;
  /** Method of the bounds, such as `wilson`; null if there are no bounds. */
  readonly ciMethod: string | null;
  /** Number of queries, sessions or feedback items that the value is based on. */
  readonly n: number;
}

/** A measurement without a value. */
export interface MeasurementGap extends Measuring {
  readonly kind: 'no_data';
  /** Reason code in snake case, such as `too_few_sessions`. */
  readonly reason: string;
}

export type MeasurementOutcome = Measurement | MeasurementGap;

/**
 * Rejects outcomes that must never be stored or shown.
 *
 * @throws RangeError for a value or bound that is not finite, bounds that do not contain the value, one bound without
 *   the other, an n that is not a whole number of at least 0, and a window that ends before it starts
 */
export function checkMeasurement(outcome: MeasurementOutcome): void {
  const { pipeline, measure, segment, windowStart, windowEnd } = outcome;
  const refuse = (problem: string): never => {
    throw new RangeError(`The measurement ${measure} of ${segment} on ${pipeline} ${problem}.`);
  };
  if (!(windowEnd.getTime() >= windowStart.getTime())) refuse('has a window that ends before it starts');
  if (outcome.kind === 'no_data') return;
  const { value, ciLow, ciHigh, n } = outcome;
  if (!Number.isFinite(value)) refuse(`is not finite: ${value}`);
  if (!Number.isSafeInteger(n) || n < 0) refuse(`has an n that is not a whole number of at least 0: ${n}`);
  if (ciLow === null && ciHigh === null) return;
  if (ciLow === null || ciHigh === null) refuse('has one bound without the other');
  else if (!(Number.isFinite(ciLow) && Number.isFinite(ciHigh) && ciLow <= value && value <= ciHigh)) {
    refuse(`has bounds from ${ciLow} to ${ciHigh} that do not contain its value ${value}`);
  }
}
