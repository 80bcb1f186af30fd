/**
 * Estimates of a window of live queries from the samples that were kept of it.
 *
 * The population is finite: the live queries that arrived in the window (of the segment in question), sampled or not.
 * Bounds are for its total or mean, not for what users might have asked; if every query was kept they are a point.
 */

import { normalQuantile, studentTQuantile } from '../../../stats/distributions.ts';
import { type Interval, wilsonInterval } from '../../../stats/intervals.ts';
import {
  type ClusterMember,
  type ClusterVariance,
  chanceClusters,
  clusterVariance,
  effectiveClusters,
  totalWeight,
} from './cluster-variance.ts';

/** Means of variables with a range, whose bounds must stay in it and must not claim certainty from a few samples. */
const CONFIDENCE = 0.95;
/** Standard errors from a normal mean to its bounds. */
const Z = normalQuantile((1 + CONFIDENCE) / 2);

/**
 * `hajekMean` of a variable that lies in `range`. Bounds are clipped to it, and they stay apart when all samples have
 * the same value, where their spread would claim a certainty that they do not have.
 *
 * @param range the least and the greatest value that the variable can have
 * @throws RangeError as `hajekMean`, or for a value outside the range
 */
export function hajekBoundedMean(
  samples: readonly SampledValue[],
  window: SampledWindow,
  range: Interval,
): EstimateOutcome {
  if (samples.some(({ value }) => !(value >= range.low && value <= range.high))) {
    throw new RangeError(`A value lies outside its range of ${range.low} to ${range.high}.`);
  }
  const outcome = hajekMean(samples, window);
  if (outcome.kind === 'insufficient_data') return outcome;
  // Rounding can carry a mean of equal values past the end of their range.
  const value = clip(outcome.value, range);
  const first = samples[0]?.value;
  const isUnanimous = !window.isComplete && samples.every((sample) => sample.value === first);
  const bounds = isUnanimous ? unanimousBounds(value, samples, range) : outcome;
  return {
    ...outcome,
    value,
    low: Math.min(value, clip(bounds.low, range)),
    high: Math.max(value, clip(bounds.high, range)),
  };
}

/**
 * Share of the window's queries for which `value` is 1 rather than 0: `hajekMean` with the Wilson interval of n
 * independent queries, n such that their normal interval would reach as far as the t interval of `hajekMean` (Korn
 * and Graubard 1998; Dean and Pagano 2015). It stays in [0, 1] and is no point when all samples agree.
 *
 * @throws RangeError as `hajekMean`, or for a value other than 0 and 1
 */
export function hajekProportion(samples: readonly SampledValue[], window: SampledWindow): EstimateOutcome {
  if (samples.some(({ value }) => value !== 0 && value !== 1)) {
    throw new RangeError('The values of a proportion must be 0 or 1.');
  }
  const outcome = hajekMean(samples, window);
  if (outcome.kind === 'insufficient_data') return outcome;
  const { value, high, standardError } = outcome;
  if (window.isComplete || standardError === 0) return hajekBoundedMean(samples, window, { low: 0, high: 1 });
  const n = value * (1 - value) * (Z / (high - value)) ** 2;
  return { ...outcome, ...wilsonInterval(value, n, CONFIDENCE) };
}

/**
 * Bounds of a mean when all samples agree. What was kept for certain is known, so only the part of the weight that was
 * drawn by chance is in doubt: by as much as the Wilson interval of its effective number of clusters, because no
 * variable on the range with this mean spreads more than one that takes only the two ends.
 */
function unanimousBounds(value: number, samples: readonly ClusterMember[], range: Interval): Interval {
  const drawn = samples.filter((sample) => sample.probability < 1);
  const doubt = totalWeight(drawn) / totalWeight(samples);
  const width = range.high - range.low;
  const rate = (value - range.low) / width;
  const { low, high } = wilsonInterval(rate, effectiveClusters(drawn), CONFIDENCE);
  return { low: value - doubt * width * (rate - low), high: value + doubt * width * (high - rate) };
}

function clip(value: number, range: Interval): number {
  return Math.min(range.high, Math.max(range.low, value));
}

export interface SampledValue extends ClusterMember {
  readonly value: number;
}

interface SampledRatio extends ClusterMember {
  readonly numerator: number;
  /** >= 0. */
  readonly denominator: number;
}

/**
 * Whether every live query of the window had probability 1: rate 1 at level 0 and nothing sampled upstream. Samples
 * cannot tell: if only queries with an always-keep rule happen to be sampled, all their probabilities are 1 as well.
 */
export interface SampledWindow {
  readonly isComplete: boolean;
}

/** 95 % bounds; `low <= value <= high`, all finite. */
export interface WeightedEstimate {
  readonly kind: 'estimate';
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly standardError: number;
  /** Sampled queries. */
  readonly n: number;
  /** Kish's effective number of sampled clusters. */
  readonly effectiveClusters: number;
}

/** Too few clusters that chance could have left out: their spread, and so the bounds, cannot be known. */
interface InsufficientData {
  readonly kind: 'insufficient_data';
  readonly have: number;
  readonly need: number;
}

export type EstimateOutcome = WeightedEstimate | InsufficientData;

/** Probability outside the 95 % bounds on either side. */
const TAIL = 0.025;
/** One cluster has no spread. */
const FEWEST_CLUSTERS = 2;

/**
 * Total over the window: sum of value / probability (Horvitz and Thompson 1952). Unbiased whatever the values and the
 * probabilities. Bounds are value -+ t * standard error with the degrees of freedom of `clusterVariance`; for values
 * >= 0 the lower one is at least the sum that was seen. Without any sample the total of a complete window is 0; that of
 * any other window is unknown. A total of which nothing was sampled has the bounds 0 to 0: where that can happen,
 * multiply the known number of queries with `hajekProportion`.
 *
 * @throws RangeError for a probability outside (0, 1], a value that is not finite, or an overflow
 */
export function horvitzThompsonTotal(samples: readonly SampledValue[], window: SampledWindow): EstimateOutcome {
  checkMembers(samples, window);
  const chance = chanceClusters(samples);
  if (!window.isComplete && chance < FEWEST_CLUSTERS) return insufficient(chance, FEWEST_CLUSTERS);
  const values = samples.map((sample) => sample.value);
  const total = samples.reduce((sum, { value, probability }) => sum + value / probability, 0);
  const outcome = estimate(total, clusterVariance(samples, values), samples);
  if (values.some((value) => value < 0)) return outcome;
  const seen = values.reduce((sum, value) => sum + value, 0);
  // What was seen is no more than its weighted sum, but for rounding.
  return { ...outcome, low: Math.min(total, Math.max(outcome.low, seen)) };
}

/**
 * Ratio of two totals over the window: sum of numerator / probability over sum of denominator / probability. With a
 * session's share (1 / its queries) as weight w, numerator w x and denominator w, it is the mean of x over sessions.
 *
 * Bias is of the order 1 / clusters. The variance is that of the total of the linearised values
 * (numerator - ratio * denominator) / sum of denominator / probability (Särndal, Swensson and Wretman 1992, section
 * 5.6), times m / (m - 1) for the m clusters drawn by chance, because the residuals were fitted. Queries with
 * numerator and denominator 0 have no part in it.
 *
 * @throws RangeError as `horvitzThompsonTotal`, or for a negative denominator
 */
export function hajekRatio(samples: readonly SampledRatio[], window: SampledWindow): EstimateOutcome {
  if (samples.some((sample) => !(sample.denominator >= 0))) {
    throw new RangeError('The denominator of a ratio must not be negative.');
  }
  const members = samples.filter((sample) => sample.numerator !== 0 || sample.denominator !== 0);
  checkMembers(members, window);
  const need = window.isComplete ? 1 : FEWEST_CLUSTERS;
  const size = members.reduce((sum, { denominator, probability }) => sum + denominator / probability, 0);
  if (size === 0) return insufficient(0, need);
  const chance = chanceClusters(members);
  if (!window.isComplete && chance < need) return insufficient(chance, need);
  const total = members.reduce((sum, { numerator, probability }) => sum + numerator / probability, 0);
  const ratio = total / size;
  const residuals = members.map(({ numerator, denominator }) => (numerator - ratio * denominator) / size);
  const { variance, degreesOfFreedom } = clusterVariance(members, residuals);
  const correction = window.isComplete ? 1 : chance / (chance - 1);
  return estimate(ratio, { variance: correction * variance, degreesOfFreedom }, members);
}

/**
 * Mean over the window by the weighted sample mean, sum of value / probability over sum of 1 / probability (Hájek
 * 1971; Särndal, Swensson and Wretman 1992, section 5.7): `hajekRatio` with denominators of 1. Bounds shrink to a
 * point when all values are the same; a variable with a range is better served by `hajekBoundedMean`.
 *
 * @throws RangeError as `hajekRatio`
 */
export function hajekMean(samples: readonly SampledValue[], window: SampledWindow): EstimateOutcome {
  const asRatio = ({ cluster, probability, value }: SampledValue) => ({
    cluster,
    probability,
    numerator: value,
    denominator: 1,
  });
  return hajekRatio(samples.map(asRatio), window);
}

function estimate(
  value: number,
  { variance, degreesOfFreedom }: ClusterVariance,
  members: readonly ClusterMember[],
): WeightedEstimate {
  const standardError = Math.sqrt(variance);
  if (!Number.isFinite(value) || !Number.isFinite(standardError)) {
    throw new RangeError('An estimate is not finite; a value is no number, too large, or its probability too small.');
  }
  const reach = variance === 0 ? 0 : studentTQuantile(1 - TAIL, degreesOfFreedom) * standardError;
  const size = effectiveClusters(members);
  return {
    kind: 'estimate',
    value,
    low: value - reach,
    high: value + reach,
    standardError,
    n: members.length,
    effectiveClusters: size,
  };
}

function insufficient(have: number, need: number): InsufficientData {
  return { kind: 'insufficient_data', have, need };
}

function checkMembers(members: readonly ClusterMember[], window: SampledWindow): void {
  for (const { probability } of members) {
    if (!(probability > 0 && probability <= 1)) {
      throw new RangeError(`An inclusion probability must lie in (0, 1], not be ${probability}.`);
    }
    if (window.isComplete && probability < 1) {
      throw new RangeError(`A complete window has no sample of probability ${probability}.`);
    }
  }
}
