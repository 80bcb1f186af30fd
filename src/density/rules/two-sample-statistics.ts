import { firstWhere } from '../../math/stats/distributions.ts';

/**
 * Jensen-Shannon divergence with base 2 between two lists of counts, from 0 to 1 bit.
 *
 * @param current counts >= 0, one per category
 * @param baseline the same categories in the same order
 * @throws RangeError if the lists differ in length, or if one has only zeros
 */
export function shareDivergence(current: ArrayLike<number>, baseline: ArrayLike<number>): number {
  const n = sumOf(current);
  const m = sumOf(baseline);
  if (current.length !== baseline.length || !(n > 0) || !(m > 0)) {
    throw new RangeError('Both lists must have the same categories and at least one positive count each.');
  }
  let bits = 0;
  for (let i = 0; i < current.length; i++) {
    const p = (current[i] ?? 0) / n;
    const q = (baseline[i] ?? 0) / m;
    bits += (logRatioTerm(p, q) + logRatioTerm(q, p)) / 2;
  }
  return Math.max(0, bits);
}

/** Returns p log2(p / m), where m is the mean of p and q; 0 if p is 0. */
function logRatioTerm(p: number, q: number): number {
  return p === 0 ? 0 : p * Math.log2((2 * p) / (p + q));
}

function sumOf(counts: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < counts.length; i++) sum += counts[i] ?? 0;
  return sum;
}

const SMOOTHING = 0.5;

/**
 * Population stability index of a current sample against a baseline sample of the same score: sum (p - q) ln(p / q)
 * over the bins, in nats, with shares smoothed by half a count per bin.
 *
 * The meaning of fixed limits such as 0.2 depends on the sample sizes: without drift, the expected value is
 * approximately (1/n + 1/m) (bins - 1) (Yurdakul 2018).
 *
 * @param bins >= 2
 * @throws RangeError if a sample is empty
 */
export function populationStabilityIndex(
  baseline: ArrayLike<number>,
  current: ArrayLike<number>,
  bins: number,
): number {
  requireSamples(baseline, current);
  const sorted = Float64Array.from(baseline).toSorted();
  // A value on an edge belongs to the bin above that edge.
  const edges = Float64Array.from({ length: bins - 1 }, (_, i) => quantile(sorted, i + 1, bins));
  const baselineCounts = countByBin(baseline, edges);
  const currentCounts = countByBin(current, edges);
  let psi = 0;
  for (let bin = 0; bin < bins; bin++) {
    const p = smoothedShare(currentCounts[bin] ?? 0, current.length, bins);
    const q = smoothedShare(baselineCounts[bin] ?? 0, baseline.length, bins);
    psi += (p - q) * Math.log(p / q);
  }
  return psi;
}

/**
 * Returns the quantile `part / parts` of the sorted values, with linear interpolation (type 7 of Hyndman and Fan 1996).
 */
function quantile(sorted: Float64Array, part: number, parts: number): number {
  const steps = part * (sorted.length - 1);
  const low = Math.floor(steps / parts);
  const below = sorted[low] ?? 0;
  const above = sorted[Math.min(low + 1, sorted.length - 1)] ?? 0;
  return below + (above - below) * ((steps - low * parts) / parts);
}

function countByBin(values: ArrayLike<number>, edges: Float64Array): Uint32Array {
  const counts = new Uint32Array(edges.length + 1);
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    const bin = firstWhere(0, edges.length, (edge) => (edges[edge] ?? 0) > value);
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts;
}

function smoothedShare(count: number, total: number, bins: number): number {
  return (count + SMOOTHING) / (total + SMOOTHING * bins);
}

/**
 * @param value a value in at least one of the samples
 * @param atOrBelowX number of x values <= value
 * @param atOrBelowY number of y values <= value
 */
type OrderedVisitor = (value: number, atOrBelowX: number, atOrBelowY: number) => void;

/** Visits each distinct value in the two samples once, in ascending order. The samples must not contain NaN. */
function visitOrdered(x: ArrayLike<number>, y: ArrayLike<number>, visit: OrderedVisitor): void {
  const sortedX = Float64Array.from(x).toSorted();
  const sortedY = Float64Array.from(y).toSorted();
  let i = 0;
  let j = 0;
  while (i < sortedX.length || j < sortedY.length) {
    const value = Math.min(sortedX[i] ?? Number.POSITIVE_INFINITY, sortedY[j] ?? Number.POSITIVE_INFINITY);
    while (i < sortedX.length && sortedX[i] === value) i++;
    while (j < sortedY.length && sortedY[j] === value) j++;
    visit(value, i, j);
  }
}

/** @throws RangeError if a sample is empty, because two-sample statistics are then undefined */
function requireSamples(x: ArrayLike<number>, y: ArrayLike<number>): void {
  if (x.length === 0 || y.length === 0) throw new RangeError('Both samples need at least one value.');
}

/**
 * Two-sample Kolmogorov-Smirnov statistic with right-continuous distribution functions and ties pooled.
 *
 * @throws RangeError if a sample is empty
 */
export function kolmogorovSmirnov(x: ArrayLike<number>, y: ArrayLike<number>) {
  requireSamples(x, y);
  const n = x.length;
  const m = y.length;
  // Distances are expressed as integer multiples of 1 / (n m), so that equal distances compare equal for all sample
  // sizes.
  let above = 0;
  let below = 0;
  visitOrdered(x, y, (_value, atOrBelowX, atOrBelowY) => {
    const difference = atOrBelowX * m - atOrBelowY * n;
    above = Math.max(above, difference);
    below = Math.max(below, -difference);
  });
  const d = Math.max(above, below) / (n * m);
  const root = Math.sqrt((n * m) / (n + m));
  return {
    /** max |Fx - Fy|. */
    d,
    /** max (Fx - Fy). */
    dPlus: above / (n * m),
    /** max (Fy - Fx). */
    dMinus: below / (n * m),
    /** P(D >= d) by Kolmogorov's limit, at sqrt(n m / (n + m)) d; conservative with ties and in small samples. */
    pKolmogorov: kolmogorovTail(root * d),
    /** Like `pKolmogorov`, but with the small-sample correction of Stephens 1970. */
    pStephens: kolmogorovTail((root + 0.12 + 0.11 / root) * d),
  };
}

/**
 * P(K > z) of Kolmogorov's distribution, 2 sum_{j>=1} (-1)^(j-1) exp(-2 j^2 z^2). For small z, uses the equivalent
 * theta series, which converges fast there: 1 - sqrt(2 pi) / z sum_{j>=1} exp(-(2j-1)^2 pi^2 / (8 z^2)).
 *
 * @param z >= 0
 */
export function kolmogorovTail(z: number): number {
  if (z <= 0) return 1;
  let sum = 0;
  if (z < 1) {
    for (let j = 1; j <= 9; j += 2) sum += Math.exp(-((j * Math.PI) ** 2) / (8 * z * z));
    return 1 - (Math.sqrt(2 * Math.PI) / z) * sum;
  }
  for (let j = 1; j <= 8; j++) sum += (j % 2 === 1 ? 2 : -2) * Math.exp(-2 * (j * z) ** 2);
  return sum;
}

/**
 * A = U / (n m) of Mann and Whitney (1947) for two independent samples: P(x > y) + P(x = y) / 2. A is 0.5 if neither
 * sample tends to be larger, and equals the area under the ROC curve. Takes O(n log n) time.
 *
 * @throws RangeError if a sample is empty
 */
export function mannWhitney(x: ArrayLike<number>, y: ArrayLike<number>): number {
  requireSamples(x, y);
  let doubledU = 0;
  let belowX = 0;
  let belowY = 0;
  visitOrdered(x, y, (_value, atOrBelowX, atOrBelowY) => {
    doubledU += (atOrBelowX - belowX) * (belowY + atOrBelowY);
    belowX = atOrBelowX;
    belowY = atOrBelowY;
  });
  return doubledU / (2 * x.length * y.length);
}

/**
 * Wasserstein-1 distance between two samples of scores: the integral of |Fx(t) - Fy(t)| dt, in units of the score. The
 * result is the minimum cost, as mass times distance, of turning one distribution into the other.
 *
 * @throws RangeError if a sample is empty
 */
export function wassersteinDistance(x: ArrayLike<number>, y: ArrayLike<number>): number {
  requireSamples(x, y);
  let distance = 0;
  let last = 0;
  let gap = 0;
  visitOrdered(x, y, (value, atOrBelowX, atOrBelowY) => {
    // The gap is 0 before the first value, so the initial `last` does not matter.
    if (gap !== 0) distance += gap * (value - last);
    gap = Math.abs(atOrBelowX / x.length - atOrBelowY / y.length);
    last = value;
  });
  return distance;
}
