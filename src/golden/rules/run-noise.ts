/**
 * How much the mean of a metric moves while the retriever stays as it is: between runs over one unchanged index, from
 * day to day, and from one generation of an index to the next; and so what fall a golden set finds, said before it
 * comes.
 */

import { decimal } from '../../core/format.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { formatMetricKey, type MetricKey } from '../../math/ir/metric-key.ts';
import { mean, moments } from '../../math/stats/descriptive.ts';
import { chiSquareQuantile, normalCdf, normalMean, normalQuantile } from '../../math/stats/distributions.ts';
import type { Segment } from './golden-set.ts';
import { POWER } from './verdict.ts';

export interface RerunNoise {
  /** Number of reruns, >= 2. */
  readonly reruns: number;
  /** Standard deviation of the difference of two such runs' means: sqrt(2) times that of one mean. */
  readonly standardDeviation: number;
  /**
   * What of its square the queries of a run share, >= 0. A paired test cannot see it: a run in which every query is a
   * little worse looks like a real drop.
   */
  readonly sharedVariance: number;
  /** Queries by which it was measured. */
  readonly queries: number;
  /** How many of them did not score the same in every rerun. */
  readonly moved: number;
  /** Variance of a query's score between reruns, mean over the queries. */
  readonly ofQueries: number;
  /** Whether every rerun answered the same by every metric: any difference is a change. */
  readonly isStill: boolean;
}

/**
 * Measures the noise of a retriever by A/A reruns. With K runs of n queries,
 * V = variance of the K means over runs, W = mean over queries of the variance of a query's K scores:
 * standardDeviation^2 = 2 V and sharedVariance = 2 max(0, V - W / n), because W / n is what V would be if the
 * queries moved independently (one-way analysis of variance, Searle, Casella and McCulloch 1992, chapter 3).
 *
 * @param reruns scores of the same queries in the same order, one array per run; five or more give a usable estimate
 * @returns null for fewer than two runs, which tell nothing
 * @throws RangeError when the runs have no queries or not the same number
 */
export function rerunNoise(reruns: readonly ArrayLike<number>[]): RerunNoise | null {
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
    reruns: reruns.length,
    standardDeviation: Math.sqrt(2 * ofMeans),
    sharedVariance: 2 * Math.max(0, ofMeans - ofQueries / n),
    queries: n,
    moved,
    ofQueries,
    isStill: moved === 0,
  };
}

/** A variance that is no more than this is rounding. */
const ROUNDING = 1e-24;

/** Noise of every metric of every segment, by segment and metric key; stored with a baseline. */
export type NoiseTable = Readonly<Record<string, Readonly<Record<string, RerunNoise>>>>;

/** Mean score of each query over the reruns, by metric key. */
export type MeanScores = Readonly<Record<string, ArrayLike<number>>>;

export interface Reruns {
  readonly noise: NoiseTable;
  /** In the order of the queries; null when nothing was rerun. */
  readonly means: MeanScores | null;
}

/**
 * What reruns tell: the noise of every metric over all queries and over each segment, and the mean scores.
 *
 * A metric that did not move is still only when no other one moved: a hit rate that stood still while ranks changed
 * will move one day.
 *
 * @param runs of the same queries in the same order, columns in the order of the keys
 * @returns an empty table and no means for fewer than two runs
 */
export function measureReruns(
  keys: readonly MetricKey[],
  runs: readonly (readonly ArrayLike<number>[])[],
  segments: readonly Segment[],
): Reruns {
  if (runs.length < 2) return { noise: {}, means: null };
  const everything = Array.from(runs[0]?.[0] ?? [], (_, row) => row);
  const isStill = keys.every((_, column) => runs.every((run) => isAlike(run[column] ?? [], runs[0]?.[column] ?? [])));
  const noiseOf = (members: readonly number[]): Record<string, RerunNoise> =>
    Object.fromEntries(
      keys.flatMap((key, column) => {
        const scores = runs.map((run) => Float64Array.from(members, (row) => run[column]?.[row] ?? 0));
        const noise = rerunNoise(scores);
        return noise === null ? [] : [[formatMetricKey(key), { ...noise, isStill }]];
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

/** What was learned of a metric before the run that is judged, beside its noise. */
export interface Expected {
  /** Mean of each query over the runs by which the baseline was pinned. */
  readonly means: ArrayLike<number>;
  readonly unit: Accepted['unit'];
  /** Differences of accepted days or generations. */
  readonly accepted: readonly number[];
}

const CONFIDENCE_OF_NOISE = 0.95;

/**
 * Upper bound of the variance of the difference of one run of n queries from the mean of K reruns, (W / n + S) (1 + 1 /
 * K). W is the variance of a query between runs, with the upper 95 % bound of Poisson for the number of queries that
 * move; a metric that stood still while others moved could have moved by 1 in one run. S is the variance that queries
 * share, V - W / n of the reruns with V, the variance of their means, at its upper 95 % bound (chi-square). Exactly 0
 * when every rerun answered the same.
 *
 * @param n queries of the run that is judged
 */
export function rerunVariance(noise: RerunNoise, n: number): number {
  const { reruns, standardDeviation, queries, moved, ofQueries, isStill } = noise;
  if (isStill) return 0;
  const atMost = Math.min(queries, poissonBound(moved));
  const each = moved === 0 ? 1 / reruns : (ofQueries * queries) / moved;
  const within = (atMost * each) / queries;
  const ofMeans = standardDeviation ** 2 / 2;
  const ofMeansAtMost = (ofMeans * (reruns - 1)) / chiSquareQuantile(1 - CONFIDENCE_OF_NOISE, reruns - 1);
  const shared = Math.max(0, ofMeansAtMost - ofQueries / queries);
  return (within / n + shared) * (1 + 1 / reruns);
}

/**
 * Upper bound of the variance of the difference of a run of n queries from the mean of the reruns: that of reruns, or what
 * accepted days differed by where that is more, since reruns can be alike by luck.
 *
 * @param least difference that matters
 * @returns null where it is not known: for another generation of the index than the baseline's, and for an index that
 * moves from day to day by more than its reruns do, and by as much as matters, as one does that is rebuilt unseen. What
 * queries of it were drawn anew only the paired test can tell. Where the reruns all answered the same, half of what matters
 * is enough: then days are all that is known of what moves, and a few of them tell little of the largest fall.
 */
export function knownVariance(
  noise: RerunNoise,
  { unit, accepted }: Expected,
  n: number,
  least: number,
): number | null {
  if (unit === 'generation') return null;
  const ofReruns = rerunVariance(noise, n);
  const ofDays = acceptedVariance(accepted) ?? 0;
  const squares = accepted.reduce((sum, difference) => sum + difference ** 2, 0) / Math.max(1, accepted.length);
  const much = noise.isStill ? least / 2 : least;
  const isMoving = squares > ofReruns && normalQuantile(SURE) * Math.sqrt(ofDays) > much;
  return isMoving ? null : Math.max(ofReruns, ofDays);
}

/** One side of a level of 0.01. */
const SURE = 0.995;

/** Upper 95 % bound of the mean of a count, by Byar's approximation (Rothman and Boice 1979); 2.97 for none. */
function poissonBound(count: number): number {
  const next = count + 1;
  return next * (1 - 1 / (9 * next) + normalQuantile(CONFIDENCE_OF_NOISE) / (3 * Math.sqrt(next))) ** 3;
}

/** Days or generations from which on they are a measure. */
const MIN_ACCEPTED = 5;
/** The first ones after the baseline: what came later could have drifted away with the index. */
export const MAX_ACCEPTED = 30;

/** A fall that matters is not accepted when it is as sure as this, which is the default level of checks on two sides. */
export const CLEAR_P = 0.01;

/**
 * What was seen and accepted since a baseline was pinned, which is what was no clear regression: the last run of each day while
 * the index was that of the baseline, and of each generation once it was another. A generation begins when the index or
 * the embedding model changes.
 */
export interface Accepted {
  readonly unit: 'day' | 'generation';
  /** Differences from the baseline, oldest first, by segment and metric key. */
  readonly differences: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
}

/** Few nights that were alike by luck would page on the nights that are not, again and again. */
const CONFIDENCE_OF_ACCEPTED = 0.99;
/** Of falls by themselves there are half as many, and the bound of all stands beside theirs. */
const CONFIDENCE_OF_FALLS = 0.95;

/**
 * Upper 99 % bound of the variance of the difference of a later run from the baseline: with m differences it is the sum of
 * their squares over the 1 % quantile of chi-square with m degrees of freedom. The squares are about 0, not about their
 * mean, since the generation and the runs of the baseline were drawn like every other.
 *
 * @param differences one for each day or generation, oldest first
 * @returns null for fewer than five
 */
export function acceptedVariance(differences: readonly number[]): number | null {
  return varianceBound(differences.slice(0, MAX_ACCEPTED), CONFIDENCE_OF_ACCEPTED);
}

/**
 * The same where falls may be larger than rises, as those of a hit rate are that has little room above it: where five or more
 * falls were accepted it is no less than the upper 95 % bound by them alone, the sum of their squares over the 5 % quantile
 * of chi-square with a degree of freedom for each. That holds where the lower half of the distribution is half of a normal
 * one about 0.
 */
export function acceptedFallVariance(differences: readonly number[]): number | null {
  const bound = acceptedVariance(differences);
  if (bound === null) return null;
  const falls = differences.slice(0, MAX_ACCEPTED).filter((difference) => difference < 0);
  return Math.max(bound, varianceBound(falls, CONFIDENCE_OF_FALLS) ?? 0);
}

function varianceBound(differences: readonly number[], confidence: number): number | null {
  if (differences.length < MIN_ACCEPTED) return null;
  const squares = differences.reduce((sum, difference) => sum + difference ** 2, 0);
  return squares / chiSquareQuantile(1 - confidence, differences.length);
}

/** Scores of both sides in one pair of runs, a query a place. */
export interface ScoredPair {
  readonly baseline: Float64Array;
  readonly candidate: Float64Array;
}

interface AveragedPairs {
  /** Of both sides, each query by its mean over the pairs. */
  readonly scores: { readonly baseline: readonly [Float64Array]; readonly candidate: readonly [Float64Array] };
  /**
   * Root of the mean over the queries of the variance (n - 1) of their difference from pair to pair: what a further pair
   * averages out, beside what questions differ by and no pair takes away. Null for one pair.
   */
  readonly noise: number | null;
}

/** @throws RangeError without a pair */
export function averagePairs(pairs: readonly ScoredPair[]): AveragedPairs {
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

/** A check on a regression, as far as it decides what is found. */
export interface DropCheck {
  /** Metric key such as `ndcg@10`. */
  readonly measure: string;
  readonly drop: number;
  /** Level of one side. */
  readonly alpha: number;
  /** Runs in a row that must show it. */
  readonly runs: number;
}

/** Where the config has none, a set is spoken of by the check of the example config. */
export const usualCheck = { drop: 0.02, alpha: 0.005, runs: 2 } as const;

/** Standard deviations beyond which no drop is sought. */
const REACH = 12;

/**
 * The least fall of the true mean that is called within so many runs with a chance of 0.8, while index and model are
 * those of the baseline.
 *
 * A run is a fall when it lies below the mean of the K reruns by the drop of the check, and by z sd with sd^2 of
 * `rerunVariance`. What it really moves by is taken as it was estimated, W / n + S (see there), and so is the mean of the
 * reruns with a K-th of that, which all runs are compared with; the chance is averaged over it.
 *
 * @param n queries of the set
 * @param looks runs within which it is to be called; with fewer than the check takes nothing is
 * @returns null when so few runs call nothing
 */
export function detectableDrop(noise: RerunNoise, n: number, check: DropCheck, looks: number): number | null {
  if (looks < check.runs) return null;
  if (noise.isStill) return check.drop;
  const { reruns, standardDeviation, queries, ofQueries } = noise;
  const shared = Math.max(0, standardDeviation ** 2 / 2 - ofQueries / queries);
  const deviation = Math.sqrt(ofQueries / n + shared);
  const needed = Math.max(check.drop, normalQuantile(1 - check.alpha) * Math.sqrt(rerunVariance(noise, n)));
  if (deviation === 0) return needed;
  const chanceOf = (drop: number): number =>
    normalMean((baseline) => {
      const perRun = normalCdf((drop - needed) / deviation + baseline / Math.sqrt(reruns));
      return chanceOfRow(perRun, check.runs, looks);
    });
  let [low, high] = [0, needed + REACH * deviation];
  while (high - low > 1e-5) {
    const middle = (low + high) / 2;
    if (chanceOf(middle) < POWER) low = middle;
    else high = middle;
  }
  return high;
}

/** Chance that of so many looks, each a hit with probability p, some `row` in a row are hits. */
export function chanceOfRow(p: number, row: number, looks: number): number {
  const states = new Float64Array(row);
  states[0] = 1;
  let done = 0;
  for (let look = 0; look < looks; look++) {
    const open = 1 - done;
    done += (states[row - 1] ?? 0) * p;
    for (let length = row - 1; length > 0; length--) states[length] = (states[length - 1] ?? 0) * p;
    states[0] = open * (1 - p);
  }
  return done;
}

/**
 * In a sentence.
 *
 * @param noise of the measure over all queries, or null while nothing was rerun
 * @param runsPerDay 0 for a set without a schedule
 */
export function describePower(noise: RerunNoise | null, n: number, check: DropCheck, runsPerDay: number): string {
  const { measure, runs } = check;
  const inRuns = runs === 1 ? 'one run' : `${runs} runs`;
  const watched = decimal(check.drop);
  if (noise === null) {
    return (
      `${measure}: what fall it finds is not known before a run is pinned with reruns, which measure the noise of the ` +
      `retriever (\`recalld baselines pin RUN --reruns 9\`). One that always answers the same shows each fall of ` +
      `${watched} or more in ${inRuns}.`
    );
  }
  if (noise.isStill) {
    return (
      `${measure}: each fall of ${watched} or more is called within ${inRuns}, as the retriever answered the same in ` +
      `${noise.reruns} runs.`
    );
  }
  const soon = detectableDrop(noise, n, check, runs) ?? Number.NaN;
  const day = runsPerDay > runs ? detectableDrop(noise, n, check, runsPerDay) : null;
  const within = day === null ? '' : `, one of ${decimal(day)} within a day (${runsPerDay} runs)`;
  return (
    `${measure}: with ${n} queries and the noise of ${noise.reruns} runs a fall of ${decimal(soon)} is called within ` +
    `${inRuns} with a chance of ${POWER}${within}; the check watches for ${watched}.`
  );
}
