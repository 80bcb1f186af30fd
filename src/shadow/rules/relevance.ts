/**
 * What users got beside what a shadow brings: without any judgment, and as one judge grades both, query by query, and
 * day by day what it comes to.
 */
import { documentOf } from '../../golden/rules/score-run.ts';
import { defaultMinEffect } from '../../golden/rules/verdict.ts';
import { RELEVANT_GRADE } from '../../judging/rules/judged-scores.ts';
import { createEvaluator } from '../../math/ir/evaluate.ts';
import { rankBiasedOverlap } from '../../math/ir/ranking.ts';
import { chiSquareQuantile, normalQuantile } from '../../math/stats/distributions.ts';
import { effectiveNumberOf } from '../../math/stats/effective-number.ts';
import { type Interval, wilsonInterval } from '../../math/stats/intervals.ts';
import { normalMixtureInterval } from '../../math/stats/sequential.ts';
import { addSums, ratioOf, type SessionSums, sumSessions } from '../../math/stats/session-sums.ts';
import { DAY_MS } from '../../time.ts';
import { type Evidence, falseCallsOf, PLANNED_POWER, type ShadowVerdict } from './looks.ts';

/** nDCG of both lists. */
interface GradedPair {
  readonly baseline: number;
  readonly candidate: number;
}

/**
 * nDCG@k of two lists for one query, against the best order of all documents of either: alone, a list of nothing but
 * slightly relevant documents would be in the best order, and score 1.
 *
 * @param baseline what users got, and `candidate` what the shadow brings: contents by name, best first, each at most once
 * @param grades of all of them
 */
export function scorePair(
  baseline: readonly string[],
  candidate: readonly string[],
  grades: ReadonlyMap<string, number>,
  k: number,
): GradedPair {
  const evaluate = createEvaluator([{ measure: 'ndcg', k }], RELEVANT_GRADE);
  const scoreOf = (list: readonly string[]): number => evaluate(list, grades)[0] ?? 0;
  return { baseline: scoreOf(baseline), candidate: scoreOf(candidate) };
}

/** A pair of a live query. */
export interface LivePair extends GradedPair {
  /** Names its session. */
  readonly cluster: number;
  /** Chance of being kept and drawn. */
  readonly probability: number;
}

export interface LiveDay {
  /** YYYY-MM-DD, UTC. */
  readonly day: string;
  readonly queries: number;
  /** Drawn, and left out: the shadow did not answer, or something could not be read or graded. */
  readonly leftOut: number;
  /** Sums of the scores, by inverse probabilities. */
  readonly baseline: number;
  readonly candidate: number;
  /** Of differences over weights. */
  readonly sums: SessionSums;
}

/** A session counts once a day. */
export function sumLiveDay(day: string, pairs: readonly LivePair[], leftOut: number): LiveDay {
  const sum = (value: (pair: LivePair) => number): number =>
    pairs.reduce((total, pair) => total + value(pair) / pair.probability, 0);
  return {
    day,
    queries: pairs.length,
    leftOut,
    baseline: sum((pair) => pair.baseline),
    candidate: sum((pair) => pair.candidate),
    sums: sumSessions(
      pairs.map(({ cluster, probability, baseline, candidate }) => ({
        cluster,
        x: (candidate - baseline) / probability,
        y: 1 / probability,
      })),
    ),
  };
}

/** What judged live queries say of a shadow. */
export interface LiveStanding {
  readonly verdict: ShadowVerdict;
  /** Day after which it was called; null while it is not. */
  readonly calledOn: string | null;
  /** Days with graded queries, queries, and sessions (one that comes on two days counts twice). */
  readonly days: number;
  readonly queries: number;
  readonly sessions: number;
  readonly leftOut: number;
  /** Means over all live traffic; null without a query. */
  readonly baseline: number | null;
  readonly candidate: number | null;
  /** Of the shadow less what users got, with bounds that hold whenever somebody looks; null while too little is known. */
  readonly difference: ({ readonly value: number } & Interval) | null;
  /** What would have been called by now with a chance of 0.8; null while too little is known. */
  readonly smallestDetectableDifference: number | null;
  readonly evidence: Evidence;
}

/** A smaller one matters to nobody. */
const MIN_DIFFERENCE = defaultMinEffect('ndcg');
/** Degrees of freedom of the variance below which it is not known well enough to call anything, or to plan by. */
const MIN_FREEDOM = 30;
/** Chance that the variance is smaller than the one that is planned by: few large losses, still to come, are in none. */
const PLANNED_VARIANCE = 0.95;
/** Nobody waits for longer. */
const MAX_DAYS = 36_500;

/**
 * Looked at after each day: the first one that calls it decides, and no later one takes it back. The mean of all live
 * traffic is a ratio by inverse probabilities with sessions as units; its bounds are a confidence sequence
 * (`normalMixtureInterval`), tightest for differences about as large as the one that is to be found. A shadow that is alike is
 * ever called with a chance of the level at most, however often anybody looks.
 *
 * @param days rising
 * @param difference to be found, > 0
 * @param verdicts how many share the chance of a false call: golden sets, and this one
 */
export function standingOnLive(days: readonly LiveDay[], difference: number, verdicts: number): LiveStanding {
  const alpha = falseCallsOf(verdicts);
  let sums = addSums([]);
  let bounds: LiveStanding['difference'] = null;
  let called: { readonly verdict: 'worse' | 'better'; readonly day: string } | null = null;
  for (const day of days) {
    sums = addSums([sums, day.sums]);
    const ratio = ratioOf(sums);
    if (ratio === null || ratio.degreesOfFreedom < MIN_FREEDOM) continue;
    const { value, variance } = ratio;
    bounds = { value, ...normalMixtureInterval(value, variance, difference, alpha) };
    if (value <= -MIN_DIFFERENCE && bounds.high < 0) called ??= { verdict: 'worse', day: day.day };
    if (value >= MIN_DIFFERENCE && bounds.low > 0) called ??= { verdict: 'better', day: day.day };
  }
  const total = (value: (day: LiveDay) => number): number => days.reduce((sum, day) => sum + value(day), 0);
  const [sessions = 0, , weights = 0] = sums;
  const isAlike = bounds !== null && bounds.low > -MIN_DIFFERENCE && bounds.high < MIN_DIFFERENCE;
  const open = bounds === null ? 'no_data' : isAlike ? 'alike' : 'undecided';
  const spread = { variance: ratioOf(sums)?.variance ?? 0, scale: difference, alpha };
  return {
    verdict: called?.verdict ?? open,
    calledOn: called?.day ?? null,
    days: days.filter(({ queries }) => queries > 0).length,
    queries: total((day) => day.queries),
    sessions,
    leftOut: total((day) => day.leftOut),
    baseline: weights === 0 ? null : total((day) => day.baseline) / weights,
    candidate: weights === 0 ? null : total((day) => day.candidate) / weights,
    difference: bounds,
    smallestDetectableDifference: bounds === null ? null : detectable(spread, 0.8),
    evidence: called === null ? evidenceToCome(days, difference, verdicts) : { kind: 'decided' },
  };
}

interface Spread {
  /** Of the mean difference, > 0. */
  readonly variance: number;
  readonly scale: number;
  readonly alpha: number;
}

/** True difference that is called by now with this chance. */
function detectable({ variance, scale, alpha }: Spread, power: number): number {
  const { high } = normalMixtureInterval(0, variance, scale, alpha);
  return high + normalQuantile(power) * Math.sqrt(variance);
}

/**
 * When a true difference is called with a chance of 0.8, planned with 0.9 and a variance that is not likely too small: as days go on
 * like those until now, the variance falls with their number.
 *
 * @param days rising
 * @param difference to be found, > 0
 */
export function evidenceToCome(days: readonly LiveDay[], difference: number, verdicts: number): Evidence {
  const [first, last] = [days[0], days.at(-1)];
  const ratio = ratioOf(addSums(days.map(({ sums }) => sums)));
  if (first === undefined || last === undefined || ratio === null) return { kind: 'unknown' };
  const { variance, degreesOfFreedom } = ratio;
  if (degreesOfFreedom < MIN_FREEDOM) return { kind: 'unknown' };
  const until = 1 + (Date.parse(last.day) - Date.parse(first.day)) / DAY_MS;
  const alpha = falseCallsOf(verdicts);
  const planned = (variance * degreesOfFreedom) / chiSquareQuantile(1 - PLANNED_VARIANCE, degreesOfFreedom);
  const isFound = (more: number): boolean => {
    const longer = (until + more) / until;
    const spread = { variance: planned / longer, scale: difference, alpha };
    return detectable(spread, PLANNED_POWER) <= difference;
  };
  if (isFound(0)) return { kind: 'enough' };
  let [least, most] = [0, 1];
  while (!isFound(most) && most < MAX_DAYS) [least, most] = [most, 2 * most];
  while (most - least > 1) {
    const middle = Math.floor((least + most) / 2);
    if (isFound(middle)) most = middle;
    else least = middle;
  }
  return { kind: 'days', days: most };
}

const CONFIDENCE = 0.95;

interface ListOverlap {
  /** Rank-biased overlap of the first k, 0 to 1. */
  readonly overlap: number;
  /** Whether any of the first k documents or their order differs. */
  readonly isChanged: boolean;
}

/**
 * @param separator cuts the ids of chunks; null takes ids as they are
 * @param k documents that a user gets, of each list as many as both have where one has fewer
 */
export function overlapOf(
  shown: readonly string[],
  shadow: readonly string[],
  separator: string | null,
  k: number,
): ListOverlap {
  const [ours, theirs] = [ranked(shown, separator).slice(0, k), ranked(shadow, separator).slice(0, k)];
  const isChanged = ours.length !== theirs.length || ours.some((id, place) => id !== theirs[place]);
  return { overlap: rankBiasedOverlap(ours, theirs, k), isChanged };
}

/** Each document at its first rank. */
function ranked(ids: readonly string[], separator: string | null): string[] {
  return [...new Set(separator === null ? ids : ids.map((id) => documentOf(id, separator)))];
}

export interface WeightedShare extends Interval {
  readonly value: number;
  /** Queries. */
  readonly n: number;
}

/** Sums over the live queries that were answered on both sides, each weighed by its inverse probability. */
export interface WeightedSums {
  readonly n: number;
  readonly weights: number;
  /** Sum over sessions of the square of their weights. */
  readonly squares: number;
}

/**
 * Mean over all live traffic of a value in [0, 1], by inverse probabilities (Hájek), with Wilson's 95 % bounds for as many
 * yes and no as there are effective sessions (Kish, (sum W)^2 / sum W^2): no variable on [0, 1] of this mean spreads more.
 *
 * @param sum of weight times value
 * @returns null without a query
 */
export function weightedShare({ n, weights, squares }: WeightedSums, sum: number): WeightedShare | null {
  if (n === 0 || weights === 0) return null;
  const value = Math.min(1, Math.max(0, sum / weights));
  const { low, high } = wilsonInterval(value, Math.max(1, effectiveNumberOf(weights, squares)), CONFIDENCE);
  return { value, low: Math.min(low, value), high: Math.max(high, value), n };
}
