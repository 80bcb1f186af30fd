import { formatMetricKey, isProportion, isUnbounded, type MetricKey } from '../../math/ir/metric-key.ts';
import { mean, meanInterval } from '../../math/stats/descriptive.ts';
import {
  chiSquareQuantile,
  normalCdf,
  normalQuantile,
  studentTCdf,
  studentTQuantile,
} from '../../math/stats/distributions.ts';
import { type Bounds, newcombePairedInterval, type PairedHits } from '../../math/stats/intervals.ts';
import { mcnemarExact, type PairedT, pairedT, smallestDetectableDifference } from '../../math/stats/paired-tests.ts';
import { signFlipTest } from '../../math/stats/sign-flip.ts';
import { acceptedDropVariance, type Expected, knownVariance, type RerunNoise } from './run-noise.ts';
import {
  type ComparisonSettings,
  classifyDifference,
  type MeasuredDifference,
  minEffectOf,
  testPlan,
} from './verdict.ts';

export type MetricComparison = ReturnType<typeof compareMetric>;

const CONFIDENCE = 0.95;
/** Maximum difference due to rounding: scores that differ by at most this much count as equal. */
const ROUNDING = 1e-12;
/**
 * Minimum number of queries for a point interval if all differences are equal. With fewer queries, the sign-flip test
 * cannot reject any hypothesis about the mean at the 5 % level.
 */
const MIN_EQUAL = 6;

/**
 * Compares a metric between two runs query by query: difference = candidate - baseline.
 *
 * - The 95 % CI of the mean difference is Newcombe's for hit_rate and all_found, otherwise BCa or t as chosen by
 *   `meanInterval`. If all differences are 0, the interval is [0, 0]. If all differences are equal but not 0, the
 *   interval is a single point for 6 or more queries. For fewer than 6 queries, the interval is the whole range of the
 *   measure, because the sign-flip test cannot reject any hypothesis about the mean.
 * - `p`, which decides the verdict, comes from the sign-flip randomization test; for hit_rate and all_found, this is
 *   McNemar's test.
 * - For a retriever with noise, `p` is the larger of the randomization p and the p of `rerunNoiseP`. The interval
 *   extends to each side by at least q * sd, where q is the 97.5 % quantile of Student's t distribution; the variance
 *   (sd^2) and the degrees of freedom come from `noisyVariance`.
 * - If the variance of an unchanged retriever's mean is known, it replaces the variance between queries: the variance
 *   is sd^2 from `knownVariance`, the baseline is the mean of the reruns, `p` is 2 Phi(-|difference| / sd), and the
 *   interval extends 1.96 sd to each side. A retriever that always returns the same results has sd 0, so any difference
 *   is a change.
 * - If the variance is unknown because the index was rebuilt, `p` and the width of the interval are at least those of a
 *   normal distribution with the variance from `acceptedDropVariance`. A rebuild can shift the scores of all queries at
 *   once, and no paired test can distinguish such a shift from a drop.
 *
 * @param baseline one score per query
 * @param candidate scores of the same queries in the same order
 * @param noise noise of this metric over these queries; null for a retriever that always returns the same results
 * @param expected mean scores over the baseline's reruns, and accepted differences from the baseline; null if they are
 *   unknown, so that only the scores of the queries decide
 * @throws RangeError if there are no queries, or if the lengths differ
 */
export function compareMetric(
  key: MetricKey,
  baseline: ArrayLike<number>,
  candidate: ArrayLike<number>,
  noise: RerunNoise | null,
  settings: ComparisonSettings,
  expected: Expected | null = null,
) {
  const n = baseline.length;
  if (candidate.length !== n) {
    throw new RangeError(
      `Both runs need the same number of scores of ${formatMetricKey(key)}, not ${n} and ${candidate.length}.`,
    );
  }
  const variance =
    noise === null || expected === null ? null : knownVariance(noise, expected, n, minEffectOf(key.measure, settings));
  const reference = variance === null || expected === null ? baseline : expected.means;
  const ofPinned = differencesFrom(baseline, candidate);
  const differences = variance === null ? ofPinned : differencesFrom(reference, candidate);
  const wins = ofPinned.filter((difference) => difference > 0).length;
  const losses = ofPinned.filter((difference) => difference < 0).length;
  const test = pairedT(differences);
  const randomization = signFlipTest(differences);
  const hits = isProportion(key.measure) ? countHits(baseline, candidate) : null;
  const accepted = acceptedDropVariance(expected?.accepted ?? []) ?? 0;
  const { p, ciMethod, low, high, smallest } =
    variance === null
      ? atLeast(testByQueries(differences, test, randomization.p, hits, noise, settings), test, accepted, settings)
      : testByVariance(test, variance, settings);
  const limit = isUnbounded(key.measure) ? Number.POSITIVE_INFINITY : 1;
  const measured: MeasuredDifference = {
    measure: key.measure,
    difference: test.mean,
    ciLow: Math.max(-limit, low),
    ciHigh: Math.min(limit, high),
    p,
    wins,
    losses,
    ciMethod,
  };
  return {
    ...measured,
    key,
    n,
    /** Mean over the queries. */
    baseline: mean(reference),
    candidate: mean(candidate),
    /** The t statistic; null if all differences are equal but not zero. */
    t: test.t,
    df: test.df,
    pT: test.p,
    pRandomization: randomization.p,
    pMethod: randomization.method,
    /** McNemar's exact p; null for measures whose scores are not 0 or 1. */
    mcnemarP: hits === null ? null : mcnemarExact(losses, wins).p,
    ties: n - wins - losses,
    /** Standard deviation of the differences. */
    standardDeviation: test.standardDeviation,
    /** Smallest mean difference that the test detects with power 0.8; null for one query. */
    smallestDetectableDifference: smallest,
    verdict: classifyDifference(measured, settings),
  };
}

function differencesFrom(before: ArrayLike<number>, after: ArrayLike<number>): Float64Array {
  return Float64Array.from({ length: after.length }, (_, i) => {
    const difference = (after[i] ?? 0) - (before[i] ?? 0);
    return Math.abs(difference) <= ROUNDING ? 0 : difference;
  });
}

function testByQueries(
  differences: Float64Array,
  test: PairedT,
  pRandomization: number,
  hits: PairedHits | null,
  noise: RerunNoise | null,
  settings: ComparisonSettings,
) {
  const { n } = test;
  const noisy = noise === null ? null : noisyVariance(test, noise);
  const { method: ciMethod, ...reach } =
    hits === null
      ? boundsOf(differences, test)
      : { ...newcombePairedInterval(hits, CONFIDENCE), method: 'newcombe' as const };
  const spread = Math.sqrt(noisy === null ? test.standardDeviation ** 2 : n * noisy.variance);
  return {
    ...widen(reach, test.mean, noisy),
    p: Math.max(pRandomization, noise === null ? 0 : rerunNoiseP(test, noise)),
    ciMethod,
    smallest: smallestDetectableDifference(spread, n, testPlan(settings)),
  };
}

function testByVariance({ mean: centre }: PairedT, variance: number, settings: ComparisonSettings) {
  const deviation = Math.sqrt(variance);
  const reach = normalQuantile((1 + CONFIDENCE) / 2) * deviation;
  const { alpha, sided, power } = testPlan(settings);
  return {
    low: centre - reach,
    high: centre + reach,
    p: knownNoiseP(centre, deviation),
    ciMethod: 'reruns' as const,
    smallest: (normalQuantile(1 - alpha / sided) + normalQuantile(power)) * deviation,
  };
}

/** Returns the test, with p raised and the interval widened if the values computed from `variance` are larger. */
function atLeast(
  test: ReturnType<typeof testByQueries>,
  paired: PairedT,
  variance: number,
  settings: ComparisonSettings,
) {
  const { low, high, p, smallest } = testByVariance(paired, variance, settings);
  return {
    low: Math.min(test.low, low),
    high: Math.max(test.high, high),
    p: Math.max(test.p, p),
    ciMethod: test.ciMethod,
    smallest: test.smallest === null ? null : Math.max(test.smallest, smallest ?? 0),
  };
}

/** Returns the two-sided p-value of a difference whose standard deviation is known. */
function knownNoiseP(difference: number, deviation: number): number {
  if (difference === 0) return 1;
  return deviation === 0 ? 0 : 2 * normalCdf(-Math.abs(difference) / deviation);
}

function boundsOf(differences: Float64Array, { mean: centre, standardDeviation, n }: PairedT) {
  if (standardDeviation > 0) return meanInterval(differences, CONFIDENCE);
  const reach = centre === 0 || n >= MIN_EQUAL ? 0 : Number.POSITIVE_INFINITY;
  return { low: centre - reach, high: centre + reach, method: 't' as const };
}

type NoisyVariance = NonNullable<ReturnType<typeof noisyVariance>>;

/**
 * Returns the variance of the difference between the mean scores of two runs of an unchanged retriever, with its
 * degrees of freedom.
 *
 * variance = max(sd^2 / n + shared variance, variance of the reruns' differences), where sd is the standard deviation
 * of the n paired differences. The degrees of freedom of the variance, by Satterthwaite (1946), are variance^2 / ((sd^2
 * / n)^2 / (n - 1) + v^2 / (reruns - 1)), where v is the variance of the reruns' differences. If there are only a few
 * reruns, the shared variance may be 0 by chance; even then, the interval is wide, because there are few degrees of
 * freedom.
 *
 * @returns null for one query, or if the reruns did not differ
 */
function noisyVariance({ standardDeviation, n, df }: PairedT, noise: RerunNoise) {
  const ofReruns = noise.standardDeviation ** 2;
  if (n < 2 || ofReruns === 0) return null;
  const sampling = standardDeviation ** 2 / n;
  const variance = Math.max(sampling + noise.sharedVariance, ofReruns);
  return { variance, freedom: variance ** 2 / (sampling ** 2 / df + ofReruns ** 2 / (noise.reruns - 1)) };
}

function widen({ low, high }: Bounds, centre: number, noisy: NoisyVariance | null): Bounds {
  if (noisy === null) return { low, high };
  const reach = studentTQuantile((1 + CONFIDENCE) / 2, noisy.freedom) * Math.sqrt(noisy.variance);
  return { low: Math.min(low, centre - reach), high: Math.max(high, centre + reach) };
}

/**
 * Returns the two-sided probability that an unchanged retriever shows a difference of at least this size, given the
 * noise of its reruns; 0 if the reruns did not differ.
 *
 * The result is the larger of two values: p with the variance from `noisyVariance`, and p with sd^2 / n plus the upper
 * 95 % bound of the shared variance. Runs are compared with one baseline for months, so a noise estimate that is too
 * low by chance would make many unchanged runs look like a change.
 */
export function rerunNoiseP(test: PairedT, noise: RerunNoise): number {
  const noisy = noisyVariance(test, noise);
  if (noisy === null) return 0;
  const difference = -Math.abs(test.mean);
  const sampling = test.standardDeviation ** 2 / test.n;
  const upper = sampling + sharedVarianceBound(noise);
  return Math.max(
    2 * studentTCdf(difference / Math.sqrt(noisy.variance), noisy.freedom),
    upper > 0 ? 2 * studentTCdf(difference / Math.sqrt(upper), test.df) : 0,
  );
}

/** Upper 95 % bound of the shared variance, from chi-square with `reruns` - 1 degrees of freedom. */
function sharedVarianceBound({ sharedVariance, reruns }: RerunNoise): number {
  const freedom = reruns - 1;
  return (sharedVariance * freedom) / chiSquareQuantile(1 - CONFIDENCE, freedom);
}

function countHits(baseline: ArrayLike<number>, candidate: ArrayLike<number>): PairedHits {
  const counts = { both: 0, onlyBaseline: 0, onlyCandidate: 0, neither: 0 };
  for (let i = 0; i < baseline.length; i++) {
    const [before, after] = [(baseline[i] ?? 0) > 0, (candidate[i] ?? 0) > 0];
    if (before && after) counts.both++;
    else if (before) counts.onlyBaseline++;
    else if (after) counts.onlyCandidate++;
    else counts.neither++;
  }
  return counts;
}
