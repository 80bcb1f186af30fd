/** The verdict on a candidate (a shadow or an arm) compared with its baseline, and the false positive rate. */
import { comparisonVerdicts } from '../../golden/rules/verdict.ts';
import type { Bounds } from '../../math/stats/intervals.ts';

/**
 * `no_change`: any difference is too small to matter. `inconclusive`: a relevant difference is neither shown nor
 * excluded. `no_data`: there is too little data.
 */
export const experimentVerdicts = [...comparisonVerdicts, 'no_data'] as const;

export type ExperimentVerdict = (typeof experimentVerdicts)[number];

/**
 * Probability that a regression or an improvement is ever reported for a candidate that does not differ from the
 * baseline, however long and however often people check the results.
 */
export const FALSE_CALLS = 0.01;
/**
 * Power with which forecasts are computed. This power is higher than the target power of 0.8, because the data
 * underestimates the spread and the difference until rare large losses have occurred.
 */
export const PLANNED_POWER = 0.9;

/** Returns the significance level of one comparison. Each comparison gets an equal share of the false positive rate. */
export function levelOf(comparisons: number): number {
  return FALSE_CALLS / Math.max(1, comparisons);
}

export function isCalled(verdict: ExperimentVerdict): verdict is 'regression' | 'improvement' {
  return verdict === 'regression' || verdict === 'improvement';
}

/** Status of a comparison after the latest interim analysis. The first decisive analysis is final. */
export interface ComparisonStatus {
  readonly verdict: ExperimentVerdict;
  /** Day (UTC) of the decisive analysis; null if no analysis has been decisive yet. */
  readonly calledOn: string | null;
  /** Candidate - baseline; null if there is too little data. */
  readonly difference: ({ readonly value: number } & Bounds) | null;
}

/**
 * Returns a regression if any comparison regressed. Returns no improvement while a golden set is inconclusive. Judged
 * live queries accumulate slowly, so they count only if their verdict is a regression or an improvement, or if there is
 * no golden set.
 *
 * @param judged null if live queries are not judged
 */
export function verdictOnShadow(golden: readonly ExperimentVerdict[], judged: ExperimentVerdict | null) {
  const verdicts = judged !== null && (golden.length === 0 || isCalled(judged)) ? [...golden, judged] : golden;
  return firstOf(['regression', 'inconclusive', 'improvement', 'no_change'], verdicts);
}

/** Returns a regression if any measure regressed; otherwise, an improvement if any measure improved. */
export function verdictOnArm(verdicts: readonly ExperimentVerdict[]): ExperimentVerdict {
  return firstOf(['regression', 'improvement', 'inconclusive', 'no_change'], verdicts);
}

function firstOf(order: readonly ExperimentVerdict[], verdicts: readonly ExperimentVerdict[]): ExperimentVerdict {
  return order.find((verdict) => verdicts.includes(verdict)) ?? 'no_data';
}

/**
 * `decided`: a regression or an improvement was reported. `enough`: a true difference of the configured size would have
 * been detected with 80 % probability. `days`: the number of additional days needed. `more_questions`: no number of
 * runs of these golden queries will suffice, but the given number of queries would. `unknown`: the noise is still
 * unknown.
 */
export type Evidence =
  | { readonly state: 'decided' | 'enough' | 'unknown' }
  | { readonly state: 'days'; readonly days: number }
  | { readonly state: 'more_questions'; readonly questions: number };
