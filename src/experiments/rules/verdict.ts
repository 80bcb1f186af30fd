/**
 * The verdict on a candidate (a shadow, or an arm of live traffic) beside its baseline, and how often an equal candidate
 * is called.
 */
import { comparisonVerdicts } from '../../golden/rules/verdict.ts';
import type { Bounds } from '../../math/stats/intervals.ts';

/**
 * `no_change`: no difference that matters is left possible. `inconclusive`: neither a difference that matters nor its
 * absence is shown. `no_data`: too little is known to tell.
 */
export const experimentVerdicts = [...comparisonVerdicts, 'no_data'] as const;

export type ExperimentVerdict = (typeof experimentVerdicts)[number];

/** Chance that an equal candidate is ever called a regression or an improvement, however long and often people look. */
export const FALSE_CALLS = 0.01;
/** Planned power, so that the evidence comes with a chance of 0.8: where a few large losses are missing, spread and difference look small. */
export const PLANNED_POWER = 0.9;

/** Level of one of so many comparisons, which share the chance of a false call evenly. */
export function levelOf(comparisons: number): number {
  return FALSE_CALLS / Math.max(1, comparisons);
}

export function isCalled(verdict: ExperimentVerdict): verdict is 'regression' | 'improvement' {
  return verdict === 'regression' || verdict === 'improvement';
}

/** A comparison after its latest interim analysis. The first analysis that called it decides for good. */
export interface ComparisonStatus {
  readonly verdict: ExperimentVerdict;
  /** Day (UTC) of the analysis that called it; null while none did. */
  readonly calledOn: string | null;
  /** Candidate - baseline; null while too little is known. */
  readonly difference: ({ readonly value: number } & Bounds) | null;
}

/**
 * The verdict on a shadow: a regression anywhere is one; an improvement waits while a golden set is inconclusive. Judged live
 * queries take long, so they count when they are called, and where there is no golden set.
 *
 * @param judged null where live queries are not judged
 */
export function verdictOnShadow(
  golden: readonly ExperimentVerdict[],
  judged: ExperimentVerdict | null,
): ExperimentVerdict {
  const verdicts = judged !== null && (golden.length === 0 || isCalled(judged)) ? [...golden, judged] : golden;
  return firstOf(['regression', 'inconclusive', 'improvement', 'no_change'], verdicts);
}

/** The verdict on an arm: a regression by any measure is one, and so is an improvement where there is none. */
export function verdictOnArm(verdicts: readonly ExperimentVerdict[]): ExperimentVerdict {
  return firstOf(['regression', 'improvement', 'inconclusive', 'no_change'], verdicts);
}

function firstOf(order: readonly ExperimentVerdict[], verdicts: readonly ExperimentVerdict[]): ExperimentVerdict {
  return order.find((verdict) => verdicts.includes(verdict)) ?? 'no_data';
}

/**
 * `decided`: it was called. `enough`: a difference that is to be found would have been called with a chance of 0.8.
 * `days`: that many more days are needed. `more_questions`: more runs of these golden questions never suffice, so many
 * questions would. `unknown`: the noise is unknown yet.
 */
export type Evidence =
  | { readonly state: 'decided' | 'enough' | 'unknown' }
  | { readonly state: 'days'; readonly days: number }
  | { readonly state: 'more_questions'; readonly questions: number };
