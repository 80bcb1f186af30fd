/**
 * Mean, median, spread and skewness, the confidence interval of a mean, and Kaplan-Meier quantiles of censored
 * durations.
 */
import { isProportion, isUnbounded, type Measure } from '../ir/metric-key.ts';
import { normalCdf, normalQuantile } from './distributions.ts';
import { effectiveNumber } from './effective-number.ts';
import { studentTInterval, wilsonInterval } from './intervals.ts';
import { createRandom } from './random.ts';

const MIN_FOR_BOOTSTRAP = 10;
const MIN_FOR_T = 50;
const MAX_REPLICATES = 9_999;
const MIN_REPLICATES = 999;
/** Maximum number of draws, which limits a bootstrap interval of up to 20,000 values to about 0.1 s. */
const MAX_DRAWS = 20_000_000;
const SEED = 1;

/**
 * Returns the confidence interval of a mean by the method that fits the values.
 *
 * - `bca` for 10 to 49 values, and for more values that are too skewed for the t interval: n <= 25 G1^2, the rule in
 *   Cochran, Sampling Techniques, 1977, section 2.15. The bootstrap uses 9,999 seeded replicates; for more than 2,000
 *   values it uses fewer, but at least 999.
 * - `t` otherwise, which includes all cases with fewer than 10 values. Bootstrap replicates cannot leave the range of
 *   the values. With a typical nDCG and 5 queries, a bootstrap interval therefore covers the true mean in only 82 % of
 *   cases; the t interval covers it in 92 %.
 *
 * For several equal values the interval is a point; for one value it is (-Infinity, Infinity).
 *
 * @param values in any order; the order does not change the interval
 * @throws RangeError if there are no values
 */
export function meanInterval(values: ArrayLike<number>, confidence: number) {
  const sorted = Float64Array.from(values).toSorted();
  const n = sorted.length;
  const { mean, standardDeviation, skewness } = moments(sorted);
  if (n < MIN_FOR_BOOTSTRAP || (n >= MIN_FOR_T && !isSkewed(n, skewness))) {
    return { ...studentTInterval(mean, standardDeviation, n, confidence), method: 't' as const };
  }
  const replicates = Math.max(MIN_REPLICATES, Math.min(MAX_REPLICATES, Math.floor(MAX_DRAWS / n)));
  const { low, high } = bcaInterval(sorted, { confidence, replicates, seed: SEED });
  return { low, high, method: 'bca' as const };
}

/** True if the values are too skewed for the t interval of a mean: n <= 25 G1^2. */
function isSkewed(n: number, skewness: number): boolean {
  return n <= 25 * skewness ** 2;
}

interface BootstrapSettings {
  readonly confidence: number;
  readonly replicates: number;
  readonly seed: number;
}

/**
 * Bias-corrected and accelerated bootstrap interval of a mean, Efron 1987: the quantiles Phi(z0 + (z0 + z) / (1 - a (z0
 * + z))) of the replicate means, interpolated linearly.
 *
 * The values are sorted before resampling, so their order does not matter. The same values and settings always return
 * the same interval. The computation needs replicates * n draws, at about 5 ns each.
 *
 * @throws RangeError if there are no values
 */
export function bcaInterval(values: ArrayLike<number>, settings: BootstrapSettings) {
  const sorted = Float64Array.from(values).toSorted();
  const { mean, standardDeviation, skewness } = moments(sorted);
  if (standardDeviation === 0) return { low: mean, high: mean, bias: 0, acceleration: 0 };
  const means = resampledMeans(sorted, settings).toSorted();
  const bias = biasOf(means, mean);
  const acceleration = skewness / (6 * Math.sqrt(sorted.length));
  const endAt = (z: number): number =>
    quantileOf(means, normalCdf(bias + (bias + z) / (1 - acceleration * (bias + z))));
  const z = normalQuantile((1 - settings.confidence) / 2);
  return {
    low: endAt(z),
    high: endAt(-z),
    /**
     * z0: normal quantile of the share of replicates below the mean; a replicate that equals the mean counts as half.
     */
    bias,
    /** a: sum e^3 / (6 (sum e^2)^1.5) over the deviations e from the mean, exact for a mean. */
    acceleration,
  };
}

function resampledMeans(sorted: Float64Array, { replicates, seed }: BootstrapSettings): Float64Array {
  const fillRandom = createRandom(seed);
  const n = sorted.length;
  const draws = new Uint32Array(n);
  const scale = n / 2 ** 32;
  const means = new Float64Array(replicates);
  for (let replicate = 0; replicate < replicates; replicate++) {
    fillRandom(draws);
    let sum = 0;
    for (let i = 0; i < n; i++) sum += sorted[Math.floor((draws[i] ?? 0) * scale)] ?? 0;
    means[replicate] = sum / n;
  }
  return means;
}

function biasOf(means: Float64Array, mean: number): number {
  // The order of addition affects the last digits of a mean, so means that differ only in these digits count as equal.
  const rounding = 1e-12 * Math.max(1, Math.abs(mean));
  let below = 0;
  for (const replicate of means) {
    if (replicate < mean - rounding) below++;
    else if (replicate <= mean + rounding) below += 0.5;
  }
  const half = 0.5 / means.length;
  return normalQuantile(Math.min(1 - half, Math.max(half, below / means.length)));
}

/** Quantile of sorted values with linear interpolation (type 7 in Hyndman and Fan 1996). */
function quantileOf(sorted: Float64Array, share: number): number {
  const position = share * (sorted.length - 1);
  const low = Math.floor(position);
  const below = sorted[low] ?? 0;
  const above = sorted[Math.min(low + 1, sorted.length - 1)] ?? 0;
  return below + (above - below) * (position - low);
}

/** Mean of a measure over queries, with the 95 % confidence interval of this mean. */
export interface MetricSummary {
  readonly mean: number;
  readonly n: number;
  /** Lower bound of the confidence interval: within the measure's range, and never above the mean. */
  readonly ciLow: number;
  /** Upper bound of the confidence interval: within the measure's range, and never below the mean. */
  readonly ciHigh: number;
  readonly ciMethod: 'bca' | 't' | 'wilson';
}

/** Returns a bound as it appears in JSON documents and metrics: null if the bound is infinite. */
export function finiteOrNull(bound: number): number | null {
  return Number.isFinite(bound) ? bound : null;
}

const CONFIDENCE = 0.95;

/**
 * Returns the mean over queries and its 95 % confidence interval.
 *
 * - `wilson` for hit_rate and all_found, which are proportions. Wilson's interval is also used for any other measure in
 *   [0, 1] if all values are equal (a single query, for example), or if there are fewer than 50 values and Cochran's
 *   rule calls them skewed (for example, because nearly all queries have the maximum score). For such values, the t and
 *   bootstrap intervals shrink to a point, or cover the mean in as few as 91 % of cases. Wilson's interval is wide
 *   enough, because no variable on [0, 1] with a given mean varies more than the binary outcome that Wilson assumes.
 * - `bca` or `t` otherwise, by the rule in `meanInterval`.
 *
 * The measures cg and dcg have no upper bound. The interval of their mean is [0, Infinity] for one query, and a point
 * if several values are all equal.
 *
 * @param values one per query, with failed and empty queries as 0; the result does not depend on their order
 * @throws RangeError if there are no values
 */
export function summarize(values: ArrayLike<number>, measure: Measure): MetricSummary {
  const n = values.length;
  const sorted = Float64Array.from(values).toSorted();
  const { mean, standardDeviation, skewness } = moments(sorted);
  const isBounded = !isUnbounded(measure);
  const isFewAndSkewed = n < MIN_FOR_T && isSkewed(n, skewness);
  const isWilson = isProportion(measure) || (isBounded && (standardDeviation === 0 || isFewAndSkewed));
  const { low, high, method } = isWilson
    ? { ...wilsonInterval(mean, n, CONFIDENCE), method: 'wilson' as const }
    : meanInterval(sorted, CONFIDENCE);
  return {
    mean,
    n,
    ciLow: Math.max(0, Math.min(low, mean)),
    ciHigh: Math.min(isBounded ? 1 : Number.POSITIVE_INFINITY, Math.max(high, mean)),
    ciMethod: method,
  };
}

/** Returns the mean, spread and skewness of values. @throws RangeError if there are no values */
export function moments(values: ArrayLike<number>) {
  const n = values.length;
  const centre = mean(values);
  let widest = 0;
  for (let i = 0; i < n; i++) widest = Math.max(widest, Math.abs((values[i] ?? 0) - centre));
  if (widest === 0) return { mean: centre, standardDeviation: 0, skewness: 0 };
  // Deviations are divided by the largest deviation, so that no power of a small deviation underflows.
  let squares = 0;
  let cubes = 0;
  for (let i = 0; i < n; i++) {
    const deviation = ((values[i] ?? 0) - centre) / widest;
    squares += deviation * deviation;
    cubes += deviation * deviation * deviation;
  }
  return {
    mean: centre,
    /** Standard deviation with n - 1 in the denominator; 0 for one value. */
    standardDeviation: widest * Math.sqrt(squares / (n - 1)),
    /** Fisher's G1 = m3 / m2^1.5 with central moments over n; 0 if there is no spread. */
    skewness: cubes / n / (squares / n) ** 1.5,
  };
}

/**
 * Arithmetic mean by Neumaier's compensated sum (1974): correct to the last digits for any size and order of the
 * values, and never outside their range.
 *
 * @throws RangeError if there are no values, because such a call is a bug; the result is therefore never NaN
 */
export function mean(values: ArrayLike<number>): number {
  if (values.length === 0) throw new RangeError('The mean of no values is not defined.');
  let sum = 0;
  let lost = 0;
  let smallest = Number.POSITIVE_INFINITY;
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
    if (value < smallest) smallest = value;
    if (value > largest) largest = value;
  }
  return Math.min(largest, Math.max(smallest, (sum + lost) / values.length));
}

/**
 * Median (for an even number of values, the mean of the two middle ones), computed in linear time by Hoare's selection
 * (1961) with the median of three as pivot.
 *
 * @param values without NaN; their order is changed
 * @throws RangeError if there are no values
 */
export function medianInPlace(values: Float64Array): number {
  if (values.length === 0) throw new RangeError('The median of no values is not defined.');
  const middle = values.length >>> 1;
  const upper = select(values, middle);
  if (values.length % 2 === 1) return upper;
  let lower = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < middle; i++) lower = Math.max(lower, values[i] ?? lower);
  return (lower + upper) / 2;
}

/** Returns the median without changing the order of the values. @throws RangeError if there are no values */
export function median(values: ArrayLike<number>): number {
  return medianInPlace(Float64Array.from(values));
}

/**
 * Returns the value that would be at index `place` after sorting. Reorders the values so that none before `place` is
 * larger than the returned value.
 */
function select(values: Float64Array, place: number): number {
  let from = 0;
  let to = values.length - 1;
  while (from < to) {
    const pivot = medianOfThree(values[from] ?? 0, values[(from + to) >>> 1] ?? 0, values[to] ?? 0);
    let low = from;
    let high = to;
    while (low <= high) {
      while ((values[low] ?? 0) < pivot) low++;
      while ((values[high] ?? 0) > pivot) high--;
      if (low > high) break;
      const kept = values[low] ?? 0;
      values[low++] = values[high] ?? 0;
      values[high--] = kept;
    }
    if (place <= high) to = high;
    else if (place >= low) from = low;
    else break;
  }
  return values[place] ?? 0;
}

function medianOfThree(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}

interface Lifetime {
  /** Time until the event, or until the last observation if there was no event; >= 0. */
  readonly time: number;
  readonly hasArrived: boolean;
  /** Number of cases that this case represents; > 0. */
  readonly weight: number;
}

/**
 * Returns the time by which the given share of all cases had the event, by the product-limit estimator of Kaplan and
 * Meier (1958). A case without the event counts as waiting for the whole time that it was observed, so missing events
 * do not make durations look shorter.
 *
 * The bounds follow Brookmeyer and Crowley 1982 with Greenwood's variance on the scale of log(-log S), as in R's
 * `survfit` with `conf.type = "log-log"`. Weights are sampling weights: the variance is computed from the effective
 * number of cases. If all remaining cases have their event at the same time, the previous upper bound of S is
 * multiplied by the upper Clopper-Pearson bound of a share with zero successes.
 *
 * @param share in (0, 1): 0.5 is the median
 * @returns null for every field if there are no lifetimes
 */
export function survivalQuantile(lifetimes: readonly Lifetime[], share: number, confidence: number) {
  const tail = (1 - confidence) / 2;
  const z = -normalQuantile(tail);
  const sorted = lifetimes.toSorted((a, b) => a.time - b.time || Number(b.hasArrived) - Number(a.hasArrived));
  const weights = sorted.reduce((sum, { weight }) => sum + weight, 0);
  const inflation = weights / effectiveNumber(sorted.map(({ weight }) => weight));
  const found = {
    /** The quantile; null if less than `share` of the cases had the event by the longest observed time. */
    value: null as number | null,
    /** Bounds of the quantile; null if the observed times do not reach them. */
    low: null as number | null,
    high: null as number | null,
  };
  let [waiting, survival, greenwood, upper] = [weights, 1, 0, 1];
  for (let next = 0; next < sorted.length && found.high === null; ) {
    const time = sorted[next]?.time ?? 0;
    let [arrived, censored] = [0, 0];
    for (; sorted[next]?.time === time; next += 1) {
      const { hasArrived = false, weight = 0 } = sorted[next] ?? {};
      censored += weight;
      if (hasArrived) arrived += weight;
    }
    if (arrived > 0) {
      const rest = Math.max(0, waiting - arrived);
      survival = rest < 1e-9 * weights ? 0 : survival * (rest / waiting);
      greenwood += survival === 0 ? 0 : arrived / (waiting * rest);
      const reach = survival === 0 ? 0 : (z * Math.sqrt(greenwood * inflation)) / Math.abs(Math.log(survival));
      // When no case remains, Greenwood's variance is undefined, so an exact bound is used for the last cases.
      upper = survival > 0 ? survival ** Math.exp(-reach) : upper * (1 - tail ** (inflation / waiting));
      if (survival === 0 || survival ** Math.exp(reach) <= 1 - share) found.low ??= time;
      if (survival <= 1 - share + 1e-12) found.value ??= time;
      if (upper <= 1 - share) found.high ??= time;
    }
    waiting -= censored;
  }
  return found;
}
