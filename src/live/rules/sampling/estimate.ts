/**
 * Estimates of a window of live queries from the samples that were kept of it.
 *
 * The population is finite: the live queries that arrived in the window (of the segment in question), sampled or not.
 * Bounds are for its total or mean, not for what users might have asked; if every query was kept they are a point.
 */

import { type QueryOutcome, queryOutcomes } from '../../../model.ts';
import { studentTQuantile } from '../../../stats/distributions.ts';
import {
  type ClusterMember,
  type ClusterVariance,
  chanceClusters,
  clusterVariance,
  effectiveClusters,
} from './cluster-variance.ts';

export interface SampledValue extends ClusterMember {
  readonly value: number;
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
export const MIN_CLUSTERS = 2;

/**
 * Total over the window: sum of value / probability (Horvitz and Thompson 1952). Unbiased whatever the values and the
 * probabilities. Bounds are value -+ t * standard error with the degrees of freedom of `clusterVariance`; for values
 * >= 0 the lower one is at least the sum that was seen. Without any sample the total of a complete window is 0; that of
 * any other window is unknown. A total of which nothing was sampled has the bounds 0 to 0.
 *
 * @throws RangeError for a probability outside (0, 1], a value that is not finite, or an overflow
 */
export function horvitzThompsonTotal(samples: readonly SampledValue[], window: SampledWindow): EstimateOutcome {
  checkMembers(samples, window);
  const chance = chanceClusters(samples);
  if (!window.isComplete && chance < MIN_CLUSTERS) return insufficient(chance, MIN_CLUSTERS);
  const values = samples.map((sample) => sample.value);
  const total = samples.reduce((sum, { value, probability }) => sum + value / probability, 0);
  const outcome = estimate(total, clusterVariance(samples, values), samples);
  if (values.some((value) => value < 0)) return outcome;
  const seen = values.reduce((sum, value) => sum + value, 0);
  // What was seen is no more than its weighted sum, but for rounding.
  return { ...outcome, low: Math.min(total, Math.max(outcome.low, seen)) };
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

/** Live queries of one outcome that were received in a window. */
export interface Arrivals {
  /** All of them: each was counted when it was received, sampled or not. */
  readonly counted: number;
  /** Their number as the samples have it: the sum of 1 / probability. */
  readonly estimated: number;
}

/** What a weight 1 / probability is multiplied by. */
export type Calibration = Readonly<Record<QueryOutcome, number>>;

/**
 * Calibration of weights by post-stratification on the outcome, the generalised regression estimator with one indicator
 * for each (Deville and Särndal, Calibration estimators in survey sampling, 1992): counted / estimated. Weighted numbers
 * of queries are then those that were counted. The share that failed has no sampling error left, and not the bias that a
 * ratio has in a small window: where failures are always kept and the rest is drawn, it is too large by about the
 * variance of the rest.
 *
 * An outcome that nobody counted, or of which nothing was sampled, keeps its weights.
 */
export function calibrationOf(arrivals: Readonly<Partial<Record<QueryOutcome, Arrivals>>>): Calibration {
  const factorOf = (outcome: QueryOutcome): number => {
    const { counted, estimated } = arrivals[outcome] ?? { counted: 0, estimated: 0 };
    return counted > 0 && estimated > 0 ? counted / estimated : 1;
  };
  return Object.fromEntries(queryOutcomes.map((outcome) => [outcome, factorOf(outcome)])) as Record<
    QueryOutcome,
    number
  >;
}
