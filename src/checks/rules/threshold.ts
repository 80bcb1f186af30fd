/**
 * What a check came to; and the one that a measure of traffic, retriever, store or schedule stays on the right side of
 * a threshold, which shifts when a golden set takes over a new version.
 */

import { ALL_SEGMENT, type Severity, type Verdict } from '../../core/model.ts';
import { type Interval, rescaledInterval } from '../../math/stats/intervals.ts';
import type { ThresholdPolicy } from '../../measures/rules/measure-row.ts';
import { measureTable, type ThresholdMeasureName, thresholdPolicy } from '../../measures/rules/measure-table.ts';

/** By how much a check is judged differently from what the config says. */
export interface CheckShift {
  /** Added to the threshold of the mean, or to the least fall of a regression (then <= 0). */
  readonly mean: number;
  /** Added to the threshold of the upper bound; never above `mean`. Regressions have no use for it. */
  readonly upper: number;
}

export const NO_SHIFT: CheckShift = { mean: 0, upper: 0 };

/** Shifts by the name of the check. */
export type CheckShifts = Readonly<Record<string, CheckShift>>;

/** Several rotations one after the other move a threshold by the sum of what each did. */
export function addShifts(rotations: readonly CheckShifts[]): CheckShifts {
  const sums: Record<string, CheckShift> = {};
  for (const [name, { mean, upper }] of rotations.flatMap((shifts) => Object.entries(shifts))) {
    const before = sums[name] ?? NO_SHIFT;
    sums[name] = { mean: before.mean + mean, upper: before.upper + upper };
  }
  return sums;
}

/** The shift of a check; a check that the config got after the switch has none. */
export function shiftOf(shifts: CheckShifts, name: string): CheckShift {
  return shifts[name] ?? NO_SHIFT;
}

/** What was measured, with what is known of how sure it is. */
export interface MeasuredValue {
  readonly value: number | null;
  /** 95 %; null where the value is known for certain or cannot be bounded. */
  readonly ciLow: number | null;
  readonly ciHigh: number | null;
  /** Queries, opinions or documents behind it; null where it is no estimate. */
  readonly n: number | null;
}

export const NO_VALUE: MeasuredValue = { value: null, ciLow: null, ciHigh: null, n: null };

/** What a check came to. */
export interface CheckResult extends MeasuredValue {
  readonly name: string;
  readonly severity: Severity;
  readonly verdict: Verdict;
  readonly threshold: number;
  /** Whether this measurement by itself is beyond the threshold, confirmed by others or not. */
  readonly isBeyond: boolean;
  /** Of a regression check: the drop that it would find with a chance of 0.8; left out where that is unknown. */
  readonly smallestDetectableDrop?: number | null;
  /** One sentence with the numbers behind the verdict. */
  readonly explanation: string;
}

/** What judging found, without what the config says of the check. */
export type CheckOutcome = Omit<CheckResult, 'name' | 'severity' | 'threshold'>;

/** Whether a check stands beyond what is expected of it; not knowing is no breach. */
export function isBreach(verdict: Verdict | null): verdict is Severity {
  return verdict === 'warning' || verdict === 'critical';
}

/** The worst of some verdicts; `ok` for none. Not knowing is worse than a warning and better than certain harm. */
export function worstVerdict(verdicts: readonly Verdict[]): Verdict {
  const order: readonly Verdict[] = ['critical', 'no_data', 'warning', 'ok'];
  return order.find((verdict) => verdicts.includes(verdict)) ?? 'ok';
}

/** Four decimals, as scores are shown everywhere. */
export function decimals(value: number): string {
  return value.toFixed(4);
}

export interface ThresholdCheck {
  /** Given by the config, so that it stays what it is called when its threshold changes. */
  readonly name?: string | undefined;
  readonly measure: ThresholdMeasureName;
  readonly threshold: number;
  readonly severity: Severity;
  /** `each`: every segment is judged and the worst decides; `all`: all traffic as one. */
  readonly segments: 'all' | 'each';
  /** A value of fewer queries, opinions or sessions than this is not judged. */
  readonly minN: number;
  /** New measurements in a row that must show the same before the verdict changes. */
  readonly confirm: number;
  /** Whether too little data to judge is an alarm. When nothing is measured at all, it always is one. */
  readonly noData: 'alert' | 'silent';
}

/** What a look at one segment gave. */
export type Reading =
  | {
      readonly kind: 'value';
      readonly segment: string;
      readonly value: number;
      /** 95 %; null where the value is known for certain or cannot be bounded. */
      readonly ciLow: number | null;
      readonly ciHigh: number | null;
      readonly n: number;
    }
  /** It was looked at, and there was too little to say anything; the reason is in words. */
  | { readonly kind: 'quiet'; readonly segment: string; readonly reason: string }
  /** Nobody looked, or the look failed; the reason is in words. */
  | { readonly kind: 'unknown'; readonly segment: string; readonly reason: string };

/** The verdict on the readings of one moment, before hysteresis. */
export interface ThresholdFinding extends CheckResult {
  /** The segment that decided; null without one. */
  readonly segment: string | null;
  /** Whether every value lies on the good side by the margin that it takes to call a breach over. */
  readonly isClear: boolean;
  /** Whether `no_data` comes from too little traffic rather than from something that is broken. */
  readonly isQuiet: boolean;
}

/**
 * Share of the threshold by which a value must be better than it before a breach ends; its bound must be better than the
 * threshold as well.
 */
const MARGIN = 0.1;
const CONFIDENCE = 0.95;

export function thresholdCheckName({ name, measure, threshold, segments }: ThresholdCheck): string {
  if (name !== undefined) return name;
  const each = segments === 'each' ? ' in each segment' : '';
  return `${measure} ${thresholdPolicy(measure).worse} ${threshold}${each}`;
}

/**
 * Judges a threshold on what was read.
 *
 * A critical check is critical only when the bound of the value that is nearer to the good side is beyond the
 * threshold too, so that luck pages nobody; a value beyond it is a warning. Where several segments are judged, their
 * bounds are those of a family (Bonferroni): of m healthy segments the worst shall not page m times as often. A value
 * without bounds is its own bound. Values of fewer than `leastN` things are not judged.
 *
 * @param readings one per segment; none when nothing was measured
 */
export function evaluateThreshold(check: ThresholdCheck, readings: readonly Reading[]): ThresholdFinding {
  const { severity, threshold, minN } = check;
  const name = thresholdCheckName(check);
  const values = readings.flatMap((one) => (one.kind === 'value' && one.n >= minN ? [one] : []));
  const judged = values.map((one) => judgeValue(check, one, values.length));
  const worst = judged.toSorted((a, b) => rank(b.verdict) - rank(a.verdict) || b.excess - a.excess)[0];
  if (worst === undefined) return { name, severity, threshold, ...withoutValue(check, readings) };
  const others = judged.length === 1 ? '' : ` Of ${judged.length} segments it is the worst${countBeyond(judged)}.`;
  // Without a spread, which makes each field cost a microsecond: a backtest comes here a million times.
  return {
    name,
    severity,
    threshold,
    verdict: worst.verdict,
    value: worst.value,
    ciLow: worst.ciLow,
    ciHigh: worst.ciHigh,
    n: worst.n,
    isBeyond: worst.verdict !== 'ok',
    segment: worst.segment,
    isClear: judged.every(({ isClear }) => isClear),
    isQuiet: false,
    explanation: `${worst.explanation}${others}`,
  };
}

interface JudgedValue extends Omit<MeasuredValue, 'value'> {
  readonly segment: string;
  readonly value: number;
  readonly verdict: Verdict;
  /** How far the value is beyond the threshold, below 0 when it is not. */
  readonly excess: number;
  readonly isClear: boolean;
  readonly explanation: string;
}

function judgeValue(
  { measure, threshold, severity }: ThresholdCheck,
  reading: Extract<Reading, { kind: 'value' }>,
  family: number,
): JudgedValue {
  const watched: ThresholdPolicy = thresholdPolicy(measure);
  const sign = watched.worse === 'below' ? -1 : 1;
  const { segment, value } = reading;
  const { low, high } = boundsOf(reading, watched, family);
  const bound = watched.worse === 'below' ? high : low;
  const excess = sign * (value - threshold);
  const isProven = sign * (bound - threshold) > 0;
  // How much better than the threshold the bound is.
  const spare = watched.worse === 'below' ? low - threshold : threshold - high;
  const numbers = `${measureTable[measure].subject}${segment === ALL_SEGMENT ? '' : ` of ${segment}`} is ${format(watched, value)}${spread(reading, watched, { low, high }, family)}`;
  const isBounded = reading.ciLow !== null;
  const judged = {
    segment,
    value,
    ciLow: isBounded ? low : null,
    ciHigh: isBounded ? high : null,
    n: reading.n > 0 ? reading.n : null,
    excess,
    isClear: excess <= -MARGIN * scaleOf(watched, threshold) && (isBest(watched, value) || spare >= 0),
  };
  const limit = format(watched, threshold);
  if (excess <= 0) {
    return { ...judged, verdict: 'ok', explanation: sentence(`${numbers}, not ${watched.worse} ${limit}`) };
  }
  if (severity === 'critical' && isProven) {
    const proof = low === high ? 'it is' : `even the ${watched.worse === 'below' ? 'upper' : 'lower'} bound is`;
    return {
      ...judged,
      verdict: 'critical',
      explanation: sentence(`${numbers}: ${proof} ${watched.worse} ${limit}`),
    };
  }
  const doubt = isProven ? '' : ', though its bounds still hold it';
  return {
    ...judged,
    verdict: 'warning',
    explanation: sentence(`${numbers}: it is ${watched.worse} ${limit}${doubt}`),
  };
}

/** True if no value could be better. 0 failures in 40 queries do not prove a share below 0.03, and waiting would not either. */
function isBest({ unit, worse }: ThresholdPolicy, value: number): boolean {
  return unit === 'share' && (worse === 'below' ? value >= 1 : value <= 0);
}

/** Bounds of one value among several, at 95 % for all of them together. */
function boundsOf(
  { value, ciLow, ciHigh }: Extract<Reading, { kind: 'value' }>,
  { unit }: ThresholdPolicy,
  family: number,
): Interval {
  if (ciLow === null || ciHigh === null) return { low: value, high: value };
  const bounds = { low: ciLow, high: ciHigh };
  if (family === 1 || unit !== 'share') return bounds;
  return rescaledInterval(value, bounds, CONFIDENCE, 1 - (1 - CONFIDENCE) / family);
}

function withoutValue(
  { measure, minN }: ThresholdCheck,
  readings: readonly Reading[],
): Omit<ThresholdFinding, 'name' | 'severity' | 'threshold'> {
  const none = { ...NO_VALUE, verdict: 'no_data', isBeyond: false, segment: null, isClear: false } as const;
  const { subject } = measureTable[measure];
  const broken = readings.find((one) => one.kind === 'unknown');
  if (broken !== undefined || readings.length === 0) {
    const reason = broken === undefined ? 'it has not been measured' : broken.reason;
    return { ...none, isQuiet: false, explanation: sentence(`${subject} is not known: ${reason}`) };
  }
  const largest = Math.max(0, ...readings.map((one) => (one.kind === 'value' ? one.n : 0)));
  const quiet = readings.find((one) => one.kind === 'quiet');
  const reason =
    largest > 0
      ? `there are ${largest} of at least ${minN} that it takes`
      : `there was too little to judge (${quiet?.reason ?? 'no live queries'})`;
  return { ...none, isQuiet: true, explanation: sentence(`${subject} is not judged: ${reason}`) };
}

/**
 * What the margin is a tenth of. For a share it is the smaller of share and rest, so that 0.99 has a margin of 0.001.
 */
function scaleOf({ unit }: ThresholdPolicy, threshold: number): number {
  return unit === 'share' ? Math.min(threshold, 1 - threshold) : threshold;
}

function spread(
  { ciLow, n }: Extract<Reading, { kind: 'value' }>,
  watched: ThresholdPolicy,
  { low, high }: { readonly low: number; readonly high: number },
  family: number,
): string {
  if (ciLow === null) return n > 0 ? ` (n = ${n})` : '';
  const level = family > 1 && watched.unit === 'share' ? `95 % over ${family} segments` : '95 %';
  return ` (${level} ${format(watched, low)} to ${format(watched, high)}, n = ${n})`;
}

function countBeyond(judged: readonly JudgedValue[]): string {
  const beyond = judged.filter(({ verdict }) => verdict !== 'ok').length;
  return beyond > 1 ? `; ${beyond} are beyond the threshold` : '';
}

function format({ unit }: ThresholdPolicy, value: number): string {
  return unit === 'seconds' ? `${Number(value.toPrecision(6))} s` : decimals(value);
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function rank(verdict: Verdict): number {
  return ['ok', 'warning', 'critical'].indexOf(verdict);
}
