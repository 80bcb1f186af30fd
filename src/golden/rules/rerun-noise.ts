/** How much the mean of a metric moves between runs of one retriever over one unchanged index. */
import { formatMetricKey, type MetricKey } from '../../ir/metric-key.ts';
import { ALL_SEGMENT } from '../../model.ts';
import { mean, moments } from '../../stats/descriptive.ts';
import type { Segment } from './segments.ts';

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
