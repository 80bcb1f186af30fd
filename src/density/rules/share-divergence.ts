import { chiSquareTail } from '../../stats/distributions.ts';
import { firstWhere } from '../../stats/numerics.ts';

/** How two lists of counts over the same categories differ, for example sessions per region. */
interface ShareDivergence {
  /** Jensen-Shannon divergence with base 2, from 0 to 1 bit. */
  readonly jensenShannonBits: number;
  /** Its square root, a metric. */
  readonly jensenShannonDistance: number;
  /** Half the sum of |p - q|, from 0 to 1: the share that would have to move. */
  readonly totalVariation: number;
  /** Pearson's statistic of the 2 x K table, without continuity correction. */
  readonly chiSquare: number;
  /** Categories that occur, less one. */
  readonly df: number;
  /** P(chi-square >= observed) if both lists come from the same shares; 1 with a single category. */
  readonly p: number;
  /** sqrt(chiSquare / total count), from 0 to 1. */
  readonly cramersV: number;
}

/**
 * Divergence of two lists of counts.
 *
 * @param current counts >= 0, one per category
 * @param baseline the same categories in the same order
 * @throws RangeError if the lists differ in length or one counts nothing
 */
export function shareDivergence(current: ArrayLike<number>, baseline: ArrayLike<number>): ShareDivergence {
  const n = sumOf(current);
  const m = sumOf(baseline);
  if (current.length !== baseline.length || !(n > 0) || !(m > 0)) {
    throw new RangeError('Both lists must count something, over the same categories.');
  }
  let jensenShannonBits = 0;
  let totalVariation = 0;
  let chiSquare = 0;
  let df = -1;
  for (let i = 0; i < current.length; i++) {
    const inCurrent = current[i] ?? 0;
    const inBaseline = baseline[i] ?? 0;
    if (inCurrent + inBaseline === 0) continue;
    df++;
    const p = inCurrent / n;
    const q = inBaseline / m;
    jensenShannonBits += (logRatioTerm(p, q) + logRatioTerm(q, p)) / 2;
    totalVariation += Math.abs(p - q) / 2;
    // (O - E)^2 / E of the two cells of this column, brought together.
    chiSquare += (n * m * (p - q) ** 2) / (inCurrent + inBaseline);
  }
  jensenShannonBits = Math.max(0, jensenShannonBits);
  return {
    jensenShannonBits,
    jensenShannonDistance: Math.sqrt(jensenShannonBits),
    totalVariation,
    chiSquare,
    df,
    p: df === 0 ? 1 : chiSquareTail(chiSquare, df),
    cramersV: Math.sqrt(chiSquare / (n + m)),
  };
}

/** p log2(p / mean of p and q). */
function logRatioTerm(p: number, q: number): number {
  return p === 0 ? 0 : p * Math.log2((2 * p) / (p + q));
}

function sumOf(counts: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < counts.length; i++) sum += counts[i] ?? 0;
  return sum;
}

/** Population stability index of a score, with bins at the quantiles of the baseline. */
interface PopulationStabilityIndex {
  /** Inner edges, ascending; a value on an edge belongs to the bin above it. */
  readonly edges: Float64Array;
  readonly baselineCounts: Uint32Array;
  readonly currentCounts: Uint32Array;
  /** sum (p - q) ln(p / q) over the bins, in nats, with shares smoothed by half a count per bin. */
  readonly psi: number;
  /** psi / (1/n + 1/m): without drift about chi-square with bins - 1 degrees of freedom (Yurdakul 2018). */
  readonly chiSquareScaled: number;
  /** What psi is on average without any drift: (1/n + 1/m) (bins - 1). */
  readonly nullMean: number;
}

const SMOOTHING = 0.5;

/**
 * Population stability index between a baseline and a current sample of the same score.
 *
 * Fixed limits such as 0.2 are artefacts of the sample size: compare with `nullMean`.
 *
 * @param bins >= 2
 * @throws RangeError if a sample is empty
 */
export function populationStabilityIndex(
  baseline: ArrayLike<number>,
  current: ArrayLike<number>,
  bins: number,
): PopulationStabilityIndex {
  if (baseline.length === 0 || current.length === 0) {
    throw new RangeError('Both samples need at least one value.');
  }
  const sorted = Float64Array.from(baseline).toSorted();
  const edges = Float64Array.from({ length: bins - 1 }, (_, i) => quantile(sorted, i + 1, bins));
  const baselineCounts = countByBin(baseline, edges);
  const currentCounts = countByBin(current, edges);
  let psi = 0;
  for (let bin = 0; bin < bins; bin++) {
    const p = smoothedShare(currentCounts[bin] ?? 0, current.length, bins);
    const q = smoothedShare(baselineCounts[bin] ?? 0, baseline.length, bins);
    psi += (p - q) * Math.log(p / q);
  }
  const scale = 1 / baseline.length + 1 / current.length;
  return {
    edges,
    baselineCounts,
    currentCounts,
    psi,
    chiSquareScaled: psi / scale,
    nullMean: scale * (bins - 1),
  };
}

/** Quantile part / parts of sorted values with linear interpolation (type 7 of Hyndman and Fan 1996). */
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
