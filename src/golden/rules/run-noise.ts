/**
 * Models how much the mean of a metric varies while the retriever stays the same. The mean can vary between runs on an
 * unchanged index, from day to day, and between rebuilds of the index. This noise limits how small a drop a golden set
 * can detect.
 */

import { decimal, percentage, plural } from '../../core/format.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { formatMetricKey, type MetricKey } from '../../math/ir/metric-key.ts';
import { mean, moments } from '../../math/stats/descriptive.ts';
import { chiSquareQuantile, normalCdf, normalMean, normalQuantile } from '../../math/stats/distributions.ts';
import type { Segment } from './golden-set.ts';
import { POWER } from './verdict.ts';

export type RerunNoise = NonNullable<ReturnType<typeof rerunNoise>>;

/**
 * Measures the noise of a retriever with A/A reruns. Let V be the variance of the means of K runs, and W the variance
 * of a query's K scores, averaged over the n queries. Then standardDeviation^2 = 2 V and sharedVariance = 2 max(0, V -
 * W / n), because V would be W / n if the scores of the queries varied independently (one-way analysis of variance,
 * Searle, Casella and McCulloch 1992, chapter 3).
 *
 * @param reruns scores of the same queries in the same order, one array per run; five or more give a usable estimate
 * @returns null for fewer than two runs
 * @throws RangeError if the runs have no queries or different numbers of queries
 */
export function rerunNoise(reruns: readonly ArrayLike<number>[]) {
  const n = reruns[0]?.length ?? 0;
  if (reruns.length < 2) return null;
  if (reruns.some((run) => run.length !== n)) throw new RangeError('Reruns have different numbers of queries.');
  const ofMeans = moments(reruns.map(mean)).standardDeviation ** 2;
  const variances = Float64Array.from(
    { length: n },
    (_, query) => moments(reruns.map((run) => run[query] ?? 0)).standardDeviation ** 2,
  );
  const ofQueries = mean(variances);
  const moved = variances.filter((variance) => variance > ROUNDING).length;
  return {
    /** Number of reruns, at least 2. */
    reruns: reruns.length,
    /**
     * Standard deviation of the difference between the means of two runs: sqrt(2) times the standard deviation of one
     * mean.
     */
    standardDeviation: Math.sqrt(2 * ofMeans),
    /**
     * Variance that all queries of a run share, at least 0. A paired test cannot distinguish the effect of this shared
     * variance from a real drop.
     */
    sharedVariance: 2 * Math.max(0, ofMeans - ofQueries / n),
    /** Number of queries in the noise measurement. */
    queries: n,
    /** Number of queries whose score differed between reruns. */
    moved,
    /** Variance of a query's score between reruns, averaged over the queries. */
    ofQueries,
    /**
     * True if all reruns have the same score for every query and metric. If true, any difference in a later run is a
     * real change.
     */
    isConstant: moved === 0,
  };
}

/** Variances below this value are due to rounding. */
const ROUNDING = 1e-24;

/** Noise of every metric, keyed by segment and metric key; stored with a baseline. */
export type NoiseTable = Readonly<Record<string, Readonly<Record<string, RerunNoise>>>>;

/** Mean score of each query over the reruns, keyed by metric key. */
export type MeanScores = Readonly<Record<string, ArrayLike<number>>>;

export type Reruns = ReturnType<typeof measureReruns>;

/**
 * Measures the noise of every metric from reruns, for all queries and for each segment. Also computes mean scores.
 *
 * `isConstant` is true only if all metrics stayed the same, because a hit rate that stayed the same while ranks changed
 * may still vary later.
 *
 * @param runs reruns of the same queries in the same order, with columns in key order
 * @returns an empty table and no means for fewer than two runs
 */
export function measureReruns(
  keys: readonly MetricKey[],
  runs: readonly (readonly ArrayLike<number>[])[],
  segments: readonly Segment[],
): { readonly noise: NoiseTable; readonly means: MeanScores | null } {
  if (runs.length < 2) return { noise: {}, means: null };
  const everything = Array.from(runs[0]?.[0] ?? [], (_, row) => row);
  const isConstant = keys.every((_, column) =>
    runs.every((run) => isAlike(run[column] ?? [], runs[0]?.[column] ?? [])),
  );
  const noiseOf = (members: readonly number[]): Record<string, RerunNoise> =>
    Object.fromEntries(
      keys.flatMap((key, column) => {
        const scores = runs.map((run) => Float64Array.from(members, (row) => run[column]?.[row] ?? 0));
        const noise = rerunNoise(scores);
        return noise === null ? [] : [[formatMetricKey(key), { ...noise, isConstant }]];
      }),
    );
  const all = [{ name: ALL_SEGMENT, members: everything }, ...segments].filter(({ members }) => members.length > 0);
  const meanOf = (column: number): Float64Array =>
    Float64Array.from(everything, (row) => mean(runs.map((run) => run[column]?.[row] ?? 0)));
  return {
    noise: Object.fromEntries(all.map(({ name, members }) => [name, noiseOf(members)])),
    means: Object.fromEntries(keys.map((key, column) => [formatMetricKey(key), meanOf(column)])),
  };
}

function isAlike(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  return Array.from(a).every((score, row) => Math.abs(score - (b[row] ?? 0)) <= SAME_SCORE);
}

const SAME_SCORE = 1e-12;

export interface Expected {
  /** Mean score of each query over the pinned run and its reruns. */
  readonly means: ArrayLike<number>;
  readonly unit: Accepted['unit'];
  /** Differences from the baseline on accepted days or in accepted index generations. */
  readonly accepted: readonly number[];
}

const CONFIDENCE_OF_NOISE = 0.95;

/**
 * Let D be the difference between one run of n queries and the mean of K reruns. Returns an upper bound on the variance
 * of D: (W / n + S) (1 + 1 / K). W is the variance of a query's score between runs, computed with the upper 95 %
 * Poisson bound for the number of queries whose scores vary. If no query varied in this metric, but some varied in
 * others, W assumes that each of the queries counted by this bound differed by 1 in one of the reruns. S is the
 * variance that all queries share, at least 0: the upper 95 % bound (chi-square) of the variance of the rerun means,
 * minus v / q. Here, v is the measured variance of a query's score between reruns, averaged over the q queries of the
 * reruns. The result is exactly 0 if all reruns have the same scores.
 */
export function rerunVariance(noise: RerunNoise, n: number): number {
  const { reruns, standardDeviation, queries, moved, ofQueries, isConstant } = noise;
  if (isConstant) return 0;
  const atMost = Math.min(queries, poissonBound(moved));
  const each = moved === 0 ? 1 / reruns : (ofQueries * queries) / moved;
  const within = (atMost * each) / queries;
  const ofMeans = standardDeviation ** 2 / 2;
  const ofMeansAtMost = (ofMeans * (reruns - 1)) / chiSquareQuantile(1 - CONFIDENCE_OF_NOISE, reruns - 1);
  const shared = Math.max(0, ofMeansAtMost - ofQueries / queries);
  return (within / n + shared) * (1 + 1 / reruns);
}

/**
 * Let D be the difference between a run of n queries and the mean of the reruns. Returns an upper bound on the variance
 * of D: the larger of the bounds from reruns and from accepted days, because reruns can be similar by chance.
 *
 * @param minEffect smallest difference that matters
 * @returns null if the variance is unknown. The variance is unknown if the index generation differs from the
 *   baseline's. The variance is also unknown if scores vary more from day to day than between reruns and this variation
 *   exceeds `minEffect`, because such variation indicates unnoticed rebuilds of the index. With such an index, only the
 *   paired test can determine whether scores changed. If all reruns scored the same, the limit is `minEffect` / 2
 *   instead of `minEffect`: only the differences between days then show how much scores vary, and a few days reveal
 *   little about the largest drop.
 */
export function knownVariance(
  noise: RerunNoise,
  { unit, accepted }: Expected,
  n: number,
  minEffect: number,
): number | null {
  if (unit === 'generation') return null;
  const ofReruns = rerunVariance(noise, n);
  const ofDays = acceptedVariance(accepted) ?? 0;
  const squares = accepted.reduce((sum, difference) => sum + difference ** 2, 0) / Math.max(1, accepted.length);
  const threshold = noise.isConstant ? minEffect / 2 : minEffect;
  const isMoving = squares > ofReruns && normalQuantile(SURE) * Math.sqrt(ofDays) > threshold;
  return isMoving ? null : Math.max(ofReruns, ofDays);
}

/** Probability whose normal quantile is the critical value of a two-sided test at level 0.01. */
const SURE = 0.995;

/** Upper 95 % bound of the mean of a count, by Byar's approximation (Rothman and Boice 1979); 2.97 for a count of 0. */
function poissonBound(count: number): number {
  const next = count + 1;
  return next * (1 - 1 / (9 * next) + normalQuantile(CONFIDENCE_OF_NOISE) / (3 * Math.sqrt(next))) ** 3;
}

/** Minimum number of days or generations for an estimate of the variance. */
const MIN_ACCEPTED = 5;
/**
 * Maximum number of days or generations for the estimate of the variance. The estimate uses only the first days or
 * generations after the baseline, because later scores may drift with the index.
 */
export const MAX_ACCEPTED = 30;

/** A drop of at least the minimum effect is not accepted if its p-value is below this significance level. */
export const CLEAR_P = 0.01;

/**
 * Differences between later runs and a pinned baseline, except clear regressions. While the index is unchanged since
 * the baseline was pinned, there is one difference per day; after an index change, there is one difference per index
 * generation. Each difference comes from the last clean run of the day or generation. A generation begins when the
 * index or the embedding model changes.
 */
export interface Accepted {
  readonly unit: 'day' | 'generation';
  /** Differences from the baseline, oldest first, keyed by segment and metric key. */
  readonly differences: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
}

/**
 * Confidence level of the bound for all differences. The level is high because the scores of a few nights may be
 * similar by chance; a bound computed from these nights would then cause repeated pages on later nights.
 */
const CONFIDENCE_OF_ACCEPTED = 0.99;
/**
 * Confidence level of the bound for drops. This level is lower than `CONFIDENCE_OF_ACCEPTED`, because only about half
 * of the differences are drops, and because the larger of the two bounds applies.
 */
const CONFIDENCE_OF_DROPS = 0.95;

/**
 * Let D be the difference between a later run and the baseline. Returns the upper 99 % bound on the variance of D: the
 * sum of m squared differences, divided by the 1 % quantile of chi-square with m degrees of freedom. Deviations are
 * measured from 0, not from the mean of the differences, because the baseline itself is only one random run.
 *
 * @param differences one per day or generation, oldest first
 * @returns null for fewer than five differences
 */
export function acceptedVariance(differences: readonly number[]): number | null {
  return varianceBound(differences.slice(0, MAX_ACCEPTED), CONFIDENCE_OF_ACCEPTED);
}

/**
 * Like `acceptedVariance`, but for metrics whose drops may be larger than their rises, such as a hit rate close to 1.
 * If there are at least five accepted drops, the result is at least the upper 95 % bound for the drops alone. This
 * bound is the sum of the squared drops divided by the 5 % quantile of chi-square with one degree of freedom per drop.
 * The bound for drops assumes that the lower half of the distribution is half of a normal distribution about 0.
 */
export function acceptedDropVariance(differences: readonly number[]): number | null {
  const bound = acceptedVariance(differences);
  if (bound === null) return null;
  const drops = differences.slice(0, MAX_ACCEPTED).filter((difference) => difference < 0);
  return Math.max(bound, varianceBound(drops, CONFIDENCE_OF_DROPS) ?? 0);
}

function varianceBound(differences: readonly number[], confidence: number): number | null {
  if (differences.length < MIN_ACCEPTED) return null;
  const squares = differences.reduce((sum, difference) => sum + difference ** 2, 0);
  return squares / chiSquareQuantile(1 - confidence, differences.length);
}

/** Scores of the two runs of a pair, in the order of the query indexes. */
export interface ScoredPair {
  readonly baseline: Float64Array;
  readonly candidate: Float64Array;
}

/** @throws RangeError if there is no pair */
export function averagePairs(pairs: readonly ScoredPair[]) {
  const [first] = pairs;
  if (first === undefined) throw new RangeError('There is no pair of runs.');
  const queries = first.baseline.length;
  const meanOf = (scoreOf: (pair: ScoredPair) => Float64Array): Float64Array =>
    Float64Array.from(
      { length: queries },
      (_, row) => pairs.reduce((sum, pair) => sum + (scoreOf(pair)[row] ?? 0), 0) / pairs.length,
    );
  const [baseline, candidate] = [meanOf((pair) => pair.baseline), meanOf((pair) => pair.candidate)];
  const scores = { baseline: [baseline], candidate: [candidate] } as const;
  if (pairs.length === 1 || queries === 0) return { scores, noise: null };
  let squares = 0;
  for (let row = 0; row < queries; row++) {
    const usual = (candidate[row] ?? 0) - (baseline[row] ?? 0);
    for (const pair of pairs) squares += ((pair.candidate[row] ?? 0) - (pair.baseline[row] ?? 0) - usual) ** 2;
  }
  return { scores, noise: Math.sqrt(squares / (queries * (pairs.length - 1))) };
}

export interface DropCheck {
  /** Metric key such as `ndcg@10`. */
  readonly measure: string;
  readonly drop: number;
  /** One-sided level. */
  readonly alpha: number;
  /** Number of consecutive runs that must show the drop. */
  readonly runs: number;
}

/** The regression check of the example config, assumed for a config without regression checks. */
export const usualCheck = { drop: 0.02, alpha: 0.005, runs: 2 } as const;

/** Upper end of the search for the detectable drop, in standard deviations above the drop that the check needs. */
const REACH = 12;

/**
 * Returns the smallest drop in the true mean that the check reports within `runs` runs with a probability of 0.8, if
 * the index and the model have not changed since the baseline was pinned.
 *
 * A run shows a drop if its mean is below the mean of the K reruns by at least `drop` and also by at least z standard
 * deviations, which are computed from `rerunVariance`. The true variance of a run is assumed to be W / n + S, with
 * estimates of W and S instead of the upper bounds in `rerunVariance`. The variance of the rerun mean is assumed to be
 * 1 / K of the variance of a run. Because all runs are compared with the same rerun mean, the probability is averaged
 * over the possible values of that mean.
 *
 * @param n number of queries in the set
 * @param runs number of runs within which the drop must be reported
 * @returns null if `runs` is less than the number of runs that the check requires
 */
export function detectableDrop(noise: RerunNoise, n: number, check: DropCheck, runs: number): number | null {
  if (runs < check.runs) return null;
  if (noise.isConstant) return check.drop;
  const { reruns, standardDeviation, queries, ofQueries } = noise;
  const shared = Math.max(0, standardDeviation ** 2 / 2 - ofQueries / queries);
  const deviation = Math.sqrt(ofQueries / n + shared);
  const needed = Math.max(check.drop, normalQuantile(1 - check.alpha) * Math.sqrt(rerunVariance(noise, n)));
  if (deviation === 0) return needed;
  const chanceOf = (drop: number): number =>
    normalMean((baseline) => {
      const perRun = normalCdf((drop - needed) / deviation + baseline / Math.sqrt(reruns));
      return chanceOfStreak(perRun, check.runs, runs);
    });
  let [low, high] = [0, needed + REACH * deviation];
  while (high - low > 1e-5) {
    const middle = (low + high) / 2;
    if (chanceOf(middle) < POWER) low = middle;
    else high = middle;
  }
  return high;
}

/**
 * Returns the probability of at least `streak` consecutive hits in `trials` trials, if each trial is a hit with
 * probability p.
 */
export function chanceOfStreak(p: number, streak: number, trials: number): number {
  const states = new Float64Array(streak);
  states[0] = 1;
  let done = 0;
  for (let trial = 0; trial < trials; trial++) {
    const open = 1 - done;
    done += (states[streak - 1] ?? 0) * p;
    for (let length = streak - 1; length > 0; length--) states[length] = (states[length - 1] ?? 0) * p;
    states[0] = open * (1 - p);
  }
  return done;
}

/**
 * Describes how large a drop must be for a check to detect it. `noise` is null if there are no reruns; `runsPerDay` is
 * 0 if there is no schedule.
 */
export function describePower(noise: RerunNoise | null, n: number, check: DropCheck, runsPerDay: number): string {
  const { measure, runs } = check;
  const inRuns = plural(runs, 'run');
  const watched = decimal(check.drop);
  if (noise === null) {
    return (
      `${measure}: the detectable drop is unknown until a run is pinned with reruns, which measure the retriever ` +
      `noise (\`recalld baselines pin RUN --reruns 9\`). For a retriever that always returns the same results, the check ` +
      `reports every drop of at least ${watched} within ${inRuns}.`
    );
  }
  if (noise.isConstant) {
    return (
      `${measure}: the check reports every drop of at least ${watched} within ${inRuns}, because the retriever returned the same results in ` +
      `${plural(noise.reruns, 'run')}.`
    );
  }
  const soon = detectableDrop(noise, n, check, runs) ?? Number.NaN;
  const day = runsPerDay > runs ? detectableDrop(noise, n, check, runsPerDay) : null;
  const within = day === null ? '' : `, and a drop of ${decimal(day)} within a day (${plural(runsPerDay, 'run')})`;
  return (
    `${measure}: with ${plural(n, 'query', 'queries')} and the noise of ${plural(noise.reruns, 'run')}, the check detects a drop of ` +
    `${decimal(soon)} within ${inRuns} with a probability of ${percentage(POWER)}${within}. The threshold of the check is ${watched}.`
  );
}
