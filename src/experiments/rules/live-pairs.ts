/** Compares the results that users got with those of a shadow, by overlap and by judged nDCG, per query and per day. */

import { DAY_MS } from '../../core/time.ts';
import { documentOf } from '../../golden/rules/score-run.ts';
import { defaultMinEffect } from '../../golden/rules/verdict.ts';
import { RELEVANT_GRADE } from '../../judging/rules/judged-scores.ts';
import { createEvaluator } from '../../math/ir/evaluate.ts';
import { rankBiasedOverlap } from '../../math/ir/ranking.ts';
import { chiSquareQuantile, normalQuantile } from '../../math/stats/distributions.ts';
import { effectiveNumberOf } from '../../math/stats/effective-number.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';
import { normalMixtureInterval } from '../../math/stats/sequential.ts';
import { sumSessions } from '../../math/stats/session-sums.ts';
import { isKnown, ratiosOver, type SummedDay, statusOverDays } from './summed-days.ts';
import { type Evidence, levelOf, PLANNED_POWER } from './verdict.ts';

/** nDCG of both lists. */
export type GradedPair = ReturnType<typeof scorePair>;

/**
 * Computes nDCG@k of two lists for one query, relative to the ideal order of all documents in either list. Relative to
 * its own ideal order, a list of only slightly relevant documents would score 1.
 *
 * @param baseline results that the user got; `candidate`: results of the shadow. Each list contains the hashes of
 * document texts, best first, without repeats
 * @param grades grade of each text in the lists, keyed by hash
 */
export function scorePair(
  baseline: readonly string[],
  candidate: readonly string[],
  grades: ReadonlyMap<string, number>,
  k: number,
) {
  const evaluate = createEvaluator([{ measure: 'ndcg', k }], RELEVANT_GRADE);
  const scoreOf = (list: readonly string[]): number => evaluate(list, grades)[0] ?? 0;
  return { baseline: scoreOf(baseline), candidate: scoreOf(candidate) };
}

/** A live query for which both lists are judged. */
export interface LivePair extends GradedPair {
  /** Random number that identifies the query's session. */
  readonly cluster: number;
  /** Probability that the query is sampled and selected for judging. */
  readonly probability: number;
}

/**
 * Sums the differences and the scores of both lists. All queries of a session on a day count as one unit.
 *
 * @param leftOut number of queries that were excluded because the shadow failed, or because a document could not be
 *   read or graded
 */
export function sumPairs(day: string, pairs: readonly LivePair[], leftOut: number): SummedDay {
  const sum = (score: (pair: LivePair) => number) =>
    sumSessions(
      pairs.map((pair) => ({ cluster: pair.cluster, x: score(pair) / pair.probability, y: 1 / pair.probability })),
    );
  return {
    day,
    counts: { queries: pairs.length, leftOut },
    sums: {
      difference: sum(({ baseline, candidate }) => candidate - baseline),
      baseline: sum(({ baseline }) => baseline),
      candidate: sum(({ candidate }) => candidate),
    },
  };
}

/** Minimum effect; a smaller difference does not matter in practice. */
const MIN_EFFECT = defaultMinEffect('ndcg');
/**
 * Probability that the variance is below the planned variance. Rare large losses may not have occurred yet, so the plan
 * needs a margin.
 */
const PLANNED_VARIANCE = 0.95;
/** Longest forecast, in days. */
const MAX_DAYS = 36_500;

/**
 * Computes the verdict after each day from the mean difference over all live traffic. If there is still too little data
 * to estimate the variance on a day, the bounds of the previous day remain.
 *
 * @param days in order
 * @param difference smallest true difference that must be detected, > 0
 * @param comparisons number of comparisons of the shadow, which share the false positive rate
 */
export function statusOfPairs(days: readonly SummedDay[], difference: number, comparisons: number) {
  const alpha = levelOf(comparisons);
  const known = ratiosOver(days, 'difference').flatMap((estimate, at) =>
    isKnown(estimate) ? [{ day: days[at]?.day ?? '', estimate }] : [],
  );
  const status = statusOverDays(known, { alpha, scale: difference, minEffect: MIN_EFFECT, margin: MIN_EFFECT });
  const variance = known.at(-1)?.estimate.variance;
  return {
    ...status,
    baseline: ratiosOver(days, 'baseline').at(-1) ?? null,
    candidate: ratiosOver(days, 'candidate').at(-1) ?? null,
    /** Difference that the current data can detect with 80 % power; null if there is too little data. */
    smallestDetectableDifference: variance === undefined ? null : detectable(variance, difference, alpha, 0.8),
    evidence: status.calledOn === null ? evidenceOfPairs(days, difference, comparisons) : { state: 'decided' as const },
  };
}

/**
 * Returns the true difference that the current data detects with probability `power`.
 *
 * @param variance squared standard error of the mean difference, > 0
 */
function detectable(variance: number, scale: number, alpha: number, power: number): number {
  const { high } = normalMixtureInterval(0, variance, scale, alpha);
  return high + normalQuantile(power) * Math.sqrt(variance);
}

/**
 * Forecasts when a true difference will be detected with 80 % power. As a safety margin, the forecast uses 90 % power
 * and the upper 95 % bound of the variance. The forecast assumes that future days resemble past days, so the variance
 * is inversely proportional to the total number of days.
 *
 * @param days ascending
 * @param difference smallest true difference that must be detected, > 0
 */
export function evidenceOfPairs(days: readonly SummedDay[], difference: number, comparisons: number): Evidence {
  const [first, last] = [days[0], days.at(-1)];
  const ratio = ratiosOver(days, 'difference').at(-1) ?? null;
  if (first === undefined || last === undefined || !isKnown(ratio)) return { state: 'unknown' };
  const { variance, degreesOfFreedom } = ratio;
  const until = 1 + (Date.parse(last.day) - Date.parse(first.day)) / DAY_MS;
  const alpha = levelOf(comparisons);
  const planned = (variance * degreesOfFreedom) / chiSquareQuantile(1 - PLANNED_VARIANCE, degreesOfFreedom);
  const isFound = (more: number): boolean => {
    const longer = (until + more) / until;
    return detectable(planned / longer, difference, alpha, PLANNED_POWER) <= difference;
  };
  if (isFound(0)) return { state: 'enough' };
  let [least, most] = [0, 1];
  while (!isFound(most) && most < MAX_DAYS) [least, most] = [most, 2 * most];
  while (most - least > 1) {
    const middle = Math.floor((least + most) / 2);
    if (isFound(middle)) most = middle;
    else least = middle;
  }
  return { state: 'days', days: most };
}

const CONFIDENCE = 0.95;

/**
 * Computes the rank-biased overlap of the top k documents in both lists, from 0 to 1, and determines whether any
 * document or rank differs.
 *
 * @param separator text at which chunk ids are cut before they are compared; if null, ids are compared unchanged
 * @param k number of documents that a user gets; if a list is shorter, both are cut to its length
 */
export function overlapOf(shown: readonly string[], shadow: readonly string[], separator: string | null, k: number) {
  const [ours, theirs] = [ranked(shown, separator).slice(0, k), ranked(shadow, separator).slice(0, k)];
  const isChanged = ours.length !== theirs.length || ours.some((id, place) => id !== theirs[place]);
  return { overlap: rankBiasedOverlap(ours, theirs, k), isChanged };
}

/** Returns each document at its first rank. */
function ranked(ids: readonly string[], separator: string | null): string[] {
  return [...new Set(separator === null ? ids : ids.map((id) => documentOf(id, separator)))];
}

export type WeightedShare = NonNullable<ReturnType<typeof weightedShare>>;

/**
 * Sums over the live queries whose two result lists were compared. Each query is weighted by the inverse of its
 * inclusion probability.
 */
export interface WeightedSums {
  readonly n: number;
  readonly weights: number;
  /** Sum of the squared weights of the sessions. */
  readonly squares: number;
}

/**
 * Returns the mean of a value in [0, 1] over all live traffic, weighted by inverse probability (Hájek), with Wilson's
 * 95 % bounds. The bounds treat the value as the share of successes in yes/no trials, whose number is the effective
 * number of sessions (Kish, (sum W)^2 / sum W^2). The bounds are conservative, because a yes/no trial has the largest
 * variance of all variables in [0, 1] with a given mean.
 *
 * @param sum total of weight times value
 * @returns null without queries
 */
export function weightedShare({ n, weights, squares }: WeightedSums, sum: number) {
  if (n === 0 || weights === 0) return null;
  const value = Math.min(1, Math.max(0, sum / weights));
  const { low, high } = wilsonInterval(value, Math.max(1, effectiveNumberOf(weights, squares)), CONFIDENCE);
  return { value, low: Math.min(low, value), high: Math.max(high, value), n };
}
