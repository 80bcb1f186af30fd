import { moments } from './descriptive.ts';
import { normalCdf, normalQuantile } from './distributions.ts';
import { type Interval, studentTInterval } from './intervals.ts';
import { createRandom } from './random.ts';

export interface MeanInterval extends Interval {
  readonly method: 'bca' | 't';
}

const MIN_FOR_BOOTSTRAP = 10;
const MIN_FOR_T = 50;
const MAX_REPLICATES = 9_999;
const MIN_REPLICATES = 999;
/** Keeps a bootstrap interval at about 0.1 s up to 20,000 values. */
const MAX_DRAWS = 20_000_000;
const SEED = 1;

/**
 * Confidence interval of a mean by the method that suits the values.
 *
 * - `bca` from 10 to 49 values, and above when they are so skewed that the t interval would miss: n <= 25 G1^2, the
 *   rule of Cochran, Sampling Techniques, 1977, section 2.15. It takes 9,999 seeded replicates, fewer above 2,000
 *   values, but at least 999.
 * - `t` otherwise. Below 10 values too: replicates cannot leave the range of the values, so that a bootstrap interval
 *   of 5 queries covers the true mean of a typical nDCG in 82 % of cases and the t interval in 92 %.
 *
 * Values that are all the same give a point, one value gives the whole line.
 *
 * @param values in any order, which does not change the interval
 * @throws RangeError without values
 */
export function meanInterval(values: ArrayLike<number>, confidence: number): MeanInterval {
  const sorted = Float64Array.from(values).toSorted();
  const n = sorted.length;
  const { mean, standardDeviation, skewness } = moments(sorted);
  if (n < MIN_FOR_BOOTSTRAP || (n >= MIN_FOR_T && n > 25 * skewness ** 2)) {
    return { ...studentTInterval(mean, standardDeviation, n, confidence), method: 't' };
  }
  const replicates = Math.max(MIN_REPLICATES, Math.min(MAX_REPLICATES, Math.floor(MAX_DRAWS / n)));
  const { low, high } = bcaInterval(sorted, { confidence, replicates, seed: SEED });
  return { low, high, method: 'bca' };
}

interface BcaInterval extends Interval {
  /** z0: normal quantile of the share of replicates below the mean, equal ones counting half. */
  readonly bias: number;
  /** a: sum e^3 / (6 (sum e^2)^1.5) over the deviations e from the mean, exact for a mean. */
  readonly acceleration: number;
}

interface BootstrapSettings {
  readonly confidence: number;
  readonly replicates: number;
  readonly seed: number;
}

/**
 * Bias-corrected and accelerated bootstrap interval of a mean, Efron 1987: the quantiles
 * Phi(z0 + (z0 + z) / (1 - a (z0 + z))) of the replicates' means, interpolated linearly.
 *
 * The values are sorted before they are drawn, so that their order does not matter; the same values and settings
 * always give the same interval. Takes replicates * n draws, of about 5 ns each.
 *
 * @throws RangeError without values
 */
export function bcaInterval(values: ArrayLike<number>, settings: BootstrapSettings): BcaInterval {
  const sorted = Float64Array.from(values).toSorted();
  const { mean, standardDeviation, skewness } = moments(sorted);
  if (standardDeviation === 0) return { low: mean, high: mean, bias: 0, acceleration: 0 };
  const means = resampledMeans(sorted, settings).toSorted();
  const bias = biasOf(means, mean);
  const acceleration = skewness / (6 * Math.sqrt(sorted.length));
  const endAt = (z: number): number =>
    quantileOf(means, normalCdf(bias + (bias + z) / (1 - acceleration * (bias + z))));
  const z = normalQuantile((1 - settings.confidence) / 2);
  return { low: endAt(z), high: endAt(-z), bias, acceleration };
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
  // The same values summed in another order differ in their last digits and are still equal.
  const rounding = 1e-12 * Math.max(1, Math.abs(mean));
  let below = 0;
  for (const replicate of means) {
    if (replicate < mean - rounding) below++;
    else if (replicate <= mean + rounding) below += 0.5;
  }
  const half = 0.5 / means.length;
  return normalQuantile(Math.min(1 - half, Math.max(half, below / means.length)));
}

/** Quantile of sorted values with linear interpolation (type 7 of Hyndman and Fan 1996). */
function quantileOf(sorted: Float64Array, share: number): number {
  const position = share * (sorted.length - 1);
  const low = Math.floor(position);
  const below = sorted[low] ?? 0;
  const above = sorted[Math.min(low + 1, sorted.length - 1)] ?? 0;
  return below + (above - below) * (position - low);
}
