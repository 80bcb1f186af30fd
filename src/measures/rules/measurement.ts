/** The outcome of a scheduled measure: a value with its bounds, or the reason why there is none. */
import { measureRow } from './measure-table.ts';

/** Longest gap between two ticks of a set in seconds, null for a set that runs by hand. */
export type IntervalOf = (pipeline: string, goldenSet: string) => number | null;

/** Values older than this many intervals are withheld. */
export const INTERVALS_TO_TRUST = 3;
/** Sets that run only by hand are expected to be run daily. */
const INTERVAL_BY_HAND_SECONDS = 86_400;

/** Of how well golden sets stand for live traffic: measured every six hours, with a score for each metric of the set. */
const GOLDEN = 'golden_';
const LIVE_MIX = 'golden_live_mix_';
/** Of the grades of live queries, which are exported by what judges. */
const JUDGED = /^(live|judged?)_/;

/** Longest that what a probe found is trusted, in seconds; null for what no probe finds. */
export function probeTrustSeconds(measure: string): number | null {
  const { every } = measureRow(measure);
  return typeof every !== 'number' || measure.startsWith(GOLDEN) || JUDGED.test(measure)
    ? null
    : INTERVALS_TO_TRUST * every;
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

/** Names one series of values over time. */
export interface MeasurementSeries {
  readonly pipeline: string;
  /** In snake case, such as `zero_results_ratio`. */
  readonly measure: string;
  /** `all`, `key=value` of a tag, or `other`. */
  readonly segment: string;
}

interface Measuring extends MeasurementSeries {
  /** Start of the window of the data, inclusive. */
  readonly windowStart: Date;
  /** End of the window, exclusive. It dates the value: a series has one value for each end of a window. */
  readonly windowEnd: Date;
  readonly measuredAt: Date;
  /** What else is worth keeping, as JSON. Never a text of a query, nor an id of a user, query or document. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface Measurement extends Measuring {
  readonly kind: 'value';
  readonly value: number;
  /** 95 % bounds; null for what is known without doubt, or cannot be bounded. */
  readonly ciLow: number | null;
  readonly ciHigh: number | null;
  /** How the bounds were found, such as `wilson`; null without bounds. */
  readonly ciMethod: string | null;
  /** Number of queries, sessions, opinions or the like behind the value. */
  readonly n: number;
}

/** An attempt that gave no value. */
export interface MeasurementGap extends Measuring {
  readonly kind: 'no_data';
  /** A word in snake case out of few, such as `too_few_sessions`. */
  readonly reason: string;
}

export type MeasurementOutcome = Measurement | MeasurementGap;

/**
 * Refuses what must never be stored or shown.
 *
 * @throws RangeError for a value or bound that is not finite, bounds that do not hold the value, one bound without the
 * other, an n that is no integer >= 0, and a window that ends before it starts
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
  if (!Number.isSafeInteger(n) || n < 0) refuse(`has an n that is no count: ${n}`);
  if (ciLow === null && ciHigh === null) return;
  if (ciLow === null || ciHigh === null) refuse('has one bound without the other');
  else if (!(Number.isFinite(ciLow) && Number.isFinite(ciHigh) && ciLow <= value && value <= ciHigh)) {
    refuse(`has bounds from ${ciLow} to ${ciHigh} that do not hold its value ${value}`);
  }
}
