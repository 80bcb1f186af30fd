/** Results of checks, threshold shifts, and the evaluation of measures against thresholds. */

import { capitalized, formatBeside, formatValue, interval, type Unit } from '../../core/format.ts';
import { ALL_SEGMENT, type Severity, type Verdict } from '../../core/model.ts';
import { goldenSetOf } from '../../golden/rules/golden-set.ts';
import { type Bounds, rescaledInterval } from '../../math/stats/intervals.ts';
import type { ThresholdPolicy } from '../../measures/rules/measure-row.ts';
import { measureTable, type ThresholdMeasureName, thresholdPolicy } from '../../measures/rules/measure-table.ts';

/** Correction of a check's threshold after its golden set got a new version. */
export interface CheckShift {
  /**
   * Shift that is added to the threshold for the mean. For a regression check, it is at most 0, and is subtracted from
   * the minimum drop.
   */
  readonly mean: number;
  /** Shift that is added to the threshold for the upper bound; at most `mean`. Regression checks do not use it. */
  readonly upper: number;
}

export const NO_SHIFT: CheckShift = { mean: 0, upper: 0 };

/** Shifts, keyed by check name. */
export type CheckShifts = Readonly<Record<string, CheckShift>>;

/** Sums the shifts of consecutive rotations. */
export function addShifts(rotations: readonly CheckShifts[]): CheckShifts {
  const sums: Record<string, CheckShift> = {};
  for (const [name, { mean, upper }] of rotations.flatMap((shifts) => Object.entries(shifts))) {
    const before = sums[name] ?? NO_SHIFT;
    sums[name] = { mean: before.mean + mean, upper: before.upper + upper };
  }
  return sums;
}

/** Returns the shift of a check; `NO_SHIFT` for a check that was added after the rotation. */
export function shiftOf(shifts: CheckShifts, name: string): CheckShift {
  return shifts[name] ?? NO_SHIFT;
}

export interface MeasuredValue {
  readonly value: number | null;
  /** Lower bound of the 95 % confidence interval; null if the value is exact or has no interval. */
  readonly ciLow: number | null;
  /** Upper bound of the interval; null if there is none. */
  readonly ciHigh: number | null;
  /** Number of queries, feedback items or documents; null if the value is not an estimate. */
  readonly n: number | null;
}

export const NO_VALUE: MeasuredValue = { value: null, ciLow: null, ciHigh: null, n: null };

export interface CheckResult extends MeasuredValue {
  readonly name: string;
  readonly severity: Severity;
  readonly verdict: Verdict;
  readonly threshold: number;
  /** True if this measurement is beyond the threshold, confirmed or not. */
  readonly isBeyond: boolean;
  /** Drop that a regression check detects with 80 % power; omitted if unknown. */
  readonly smallestDetectableDrop?: number | null;
  /** One sentence that explains the verdict with its numbers. */
  readonly explanation: string;
}

export type CheckOutcome = Omit<CheckResult, 'name' | 'severity' | 'threshold'>;

export function isBreach(verdict: Verdict | null): verdict is Severity {
  return verdict === 'warning' || verdict === 'critical';
}

/** Returns the worst verdict; `ok` for an empty list. `no_data` is worse than `warning` and better than `critical`. */
export function worstVerdict(verdicts: readonly Verdict[]): Verdict {
  const order: readonly Verdict[] = ['critical', 'no_data', 'warning', 'ok'];
  return order.find((verdict) => verdicts.includes(verdict)) ?? 'ok';
}

/** A configured check of any kind. */
export interface AnyCheck {
  /** Configured name, which stays the same if the threshold changes. */
  readonly name?: string | undefined;
  readonly severity: Severity;
}

export interface ThresholdCheck extends AnyCheck {
  readonly measure: ThresholdMeasureName;
  readonly threshold: number;
  /**
   * `each`: every segment is evaluated, and the worst determines the verdict. `all`: all traffic is evaluated together.
   */
  readonly segments: 'all' | 'each';
  /** Minimum number of queries, feedback items or sessions behind an evaluated value. */
  readonly minN: number;
  /** Number of consecutive new measurements that must agree before the verdict changes. */
  readonly confirm: number;
  /** What happens if there is too little data. If recalld cannot measure the value at all, an alert always fires. */
  readonly noData: 'alert' | 'silent';
}

/** Latest measurement of one segment. */
export type Reading =
  | ValueReading
  /** The value is based on too little data; the reason is a phrase. */
  | { readonly kind: 'quiet'; readonly segment: string; readonly reason: string }
  /** There is no value, because it was not measured or the measurement failed; the reason is a phrase. */
  | { readonly kind: 'unknown'; readonly segment: string; readonly reason: string };

interface ValueReading extends MeasuredValue {
  readonly kind: 'value';
  readonly segment: string;
  readonly value: number;
  readonly n: number;
}

/** Verdict on simultaneous readings, before hysteresis and confirmation. */
export interface ThresholdFinding extends CheckResult {
  /** The segment that decided the verdict; null if there is none. */
  readonly segment: string | null;
  /** True if every value is better than the threshold by the margin that ends a breach. */
  readonly isClear: boolean;
  /** True if `no_data` is due to too little traffic rather than a fault. */
  readonly isQuiet: boolean;
}

/**
 * To end a breach, a value must be better than the threshold by at least this share of a scale (see `scaleOf`). In
 * addition, the worse confidence bound of the value must not be beyond the threshold.
 */
const MARGIN = 0.1;
const CONFIDENCE = 0.95;

export function thresholdCheckName({ name, measure, threshold, segments }: ThresholdCheck): string {
  if (name !== undefined) return name;
  const each = segments === 'each' ? ' in each segment' : '';
  return `${measure} ${thresholdPolicy(measure).worse} ${threshold}${each}`;
}

/**
 * Evaluates a threshold on the latest readings.
 *
 * With severity `critical`, the verdict is `critical` only if the whole 95 % confidence interval is beyond the
 * threshold. Sampling noise alone therefore rarely triggers a page. If only the value is beyond the threshold, the
 * verdict is `warning`. With several segments, the intervals hold for all segments together (Bonferroni); otherwise, m
 * healthy segments would trigger m times as many pages. If a value has no confidence interval, both bounds equal the
 * value. Values from fewer than `minN` samples are not evaluated.
 *
 * @param readings one per segment; empty if nothing was measured
 */
export function evaluateThreshold(check: ThresholdCheck, readings: readonly Reading[]): ThresholdFinding {
  const { severity, threshold, minN } = check;
  const name = thresholdCheckName(check);
  const values = readings.flatMap((one) => (one.kind === 'value' && one.n >= minN ? [one] : []));
  const evaluated = values.map((one) => evaluateValue(check, one, values.length));
  const worst = evaluated.toSorted((a, b) => rank(b.verdict) - rank(a.verdict) || b.excess - a.excess)[0];
  if (worst === undefined) return { name, severity, threshold, ...withoutValue(check, readings) };
  const others =
    evaluated.length === 1 ? '' : ` This value is the worst of ${evaluated.length} segments${countBeyond(evaluated)}.`;
  // Avoids an object spread, which takes a microsecond per field: a backtest calls this function a million times.
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
    isClear: evaluated.every(({ isClear }) => isClear),
    isQuiet: false,
    explanation: `${worst.explanation}${others}`,
  };
}

function evaluateValue({ measure, threshold, severity }: ThresholdCheck, reading: ValueReading, family: number) {
  const watched: ThresholdPolicy = thresholdPolicy(measure);
  const sign = watched.worse === 'below' ? -1 : 1;
  const { segment, value } = reading;
  const { low, high } = boundsOf(reading, watched, family);
  const bound = watched.worse === 'below' ? high : low;
  const excess = sign * (value - threshold);
  const isProven = sign * (bound - threshold) > 0;
  // Distance from the worse confidence bound to the threshold; positive if the bound is better than the threshold.
  const spare = watched.worse === 'below' ? low - threshold : threshold - high;
  const numbers = `${measureTable[measure].subject}${whereOf(segment)} is ${formatBeside(value, threshold, unitOf(measure))}${spread(reading, measure, { low, high }, family)}`;
  const isBounded = reading.ciLow !== null;
  const evaluated = {
    segment,
    value,
    ciLow: isBounded ? low : null,
    ciHigh: isBounded ? high : null,
    n: reading.n > 0 ? reading.n : null,
    /** Distance beyond the threshold; negative if the value is better than the threshold. */
    excess,
    isClear: excess <= -MARGIN * scaleOf(watched, threshold) && (isBest(watched, value) || spare >= 0),
  };
  const limit = `${watched.worse} ${formatValue(threshold, unitOf(measure))}`;
  const found = (verdict: Verdict, text: string) => ({ ...evaluated, verdict, explanation: sentence(text) });
  if (excess <= 0) return found('ok', `${numbers}, not ${limit}`);
  if (severity === 'critical' && isProven) {
    const proof = low === high ? ', ' : `; even the ${watched.worse === 'below' ? 'upper' : 'lower'} bound is `;
    return found('critical', `${numbers}${proof}${limit}`);
  }
  return found('warning', `${numbers}, ${limit}${isProven ? '' : '; the difference may be due to chance'}`);
}

/** Names the golden set or the segment of traffic that was measured; empty for all traffic. */
export function whereOf(segment: string): string {
  if (segment === ALL_SEGMENT) return '';
  const goldenSet = goldenSetOf(segment);
  return goldenSet === null ? ` in ${segment}` : ` on ${goldenSet}`;
}

/**
 * True if the value is the best possible. Its bounds need not be better than the threshold: 0 failures in 40 queries
 * cannot prove a share below 0.03.
 */
function isBest({ unit, worse }: ThresholdPolicy, value: number): boolean {
  return unit === 'share' && (worse === 'below' ? value >= 1 : value <= 0);
}

/** Returns the bounds of one value. The bounds of all `family` values hold simultaneously with 95 % confidence. */
function boundsOf({ value, ciLow, ciHigh }: ValueReading, { unit }: ThresholdPolicy, family: number): Bounds {
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
    return { ...none, isQuiet: false, explanation: sentence(`${subject} is unknown: ${reason}`) };
  }
  const largest = Math.max(0, ...readings.map((one) => (one.kind === 'value' ? one.n : 0)));
  const quiet = readings.find((one) => one.kind === 'quiet');
  const reason = largest > 0 ? `${largest} of at least ${minN} samples` : (quiet?.reason ?? 'no live queries');
  return { ...none, isQuiet: true, explanation: sentence(`${subject}: no data yet (${reason})`) };
}

const DIFFERENCE_SCALE = 0.1;

/**
 * Returns the scale that is multiplied by `MARGIN`. The scale of a share is the smaller of the threshold and its
 * complement, so the threshold 0.99 has a margin of 0.001. The scale of a difference does not depend on the threshold,
 * which may be 0.
 */
function scaleOf({ unit }: ThresholdPolicy, threshold: number): number {
  if (unit === 'difference') return DIFFERENCE_SCALE;
  return unit === 'share' ? Math.min(threshold, 1 - threshold) : threshold;
}

function spread({ ciLow, n }: ValueReading, measure: ThresholdMeasureName, { low, high }: Bounds, family: number) {
  if (ciLow === null) return n > 0 ? ` (n = ${n})` : '';
  const together = family > 1 && thresholdPolicy(measure).unit === 'share' ? ` over ${family} segments` : '';
  return ` (${interval(low, high, unitOf(measure))}${together}, n = ${n})`;
}

function countBeyond(values: readonly Pick<CheckResult, 'verdict'>[]): string {
  const beyond = values.filter(({ verdict }) => verdict !== 'ok').length;
  return beyond > 1 ? `; ${beyond} are beyond the threshold` : '';
}

function unitOf(measure: ThresholdMeasureName): Unit {
  const { scale } = measureTable[measure];
  return scale === 'other' ? 'score' : scale;
}

function sentence(text: string): string {
  return `${capitalized(text)}.`;
}

function rank(verdict: Verdict): number {
  return ['ok', 'warning', 'critical'].indexOf(verdict);
}
