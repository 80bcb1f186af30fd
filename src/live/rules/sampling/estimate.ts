/**
 * Estimates of a window of live queries from the samples that were kept of it, with their variance, since queries were
 * drawn by session.
 *
 * The population is finite: the live queries that arrived in the window (of the segment in question), sampled or not.
 * Bounds are for its total or mean, not for what users might have asked; if every query was kept they are a point.
 */

import { type QueryOutcome, queryOutcomes } from '../../../core/model.ts';
import { studentTQuantile } from '../../../math/stats/distributions.ts';
import { effectiveNumber } from '../../../math/stats/effective-number.ts';

interface ClusterVariance {
  /** >= 0. */
  readonly variance: number;
  /** Satterthwaite's degrees of freedom of the variance, >= 1; 0 when the variance is 0. */
  readonly degreesOfFreedom: number;
}

/**
 * Estimated variance of the total of value / probability under Poisson sampling of clusters.
 *
 * Clusters are drawn independently. The members of one cluster share the draw and are kept iff it is below their own
 * probability, so that two of them are both kept with the smaller of their two probabilities. With it, the variance
 * estimator of Horvitz and Thompson (1952; section 2.8 of Särndal, Swensson and Wretman, Model Assisted Survey
 * Sampling, 1992) becomes for one cluster
 *
 *     sum over k, l of  y_k y_l (1 - max(p_k, p_l)) / (p_k p_l)
 *
 * and for equal probabilities the classical (1 - p) / p^2 (sum of y)^2. It is unbiased and never negative. A cluster
 * whose members were also sampled upstream, each with a draw of its own, varies less than this says as long as values
 * within a session are alike, so that bounds are then rather too wide than too narrow.
 *
 * Degrees of freedom: each cluster contributes one (Satterthwaite 1946), (sum v)^2 / sum v^2 in all, which is few when
 * few heavy clusters make up the variance, however many light ones there are.
 *
 * @param members sampled queries in any order
 * @param values one per member
 */
export function clusterVariance(members: readonly ClusterMember[], values: readonly number[]): ClusterVariance {
  const contributions = [...groupByCluster(members, values).values()].map(clusterContribution);
  const variance = contributions.reduce((sum, contribution) => sum + contribution, 0);
  if (variance === 0) return { variance, degreesOfFreedom: 0 };
  // Where the squares of tiny numbers vanish, the least that it can be.
  const degreesOfFreedom = Math.max(1, effectiveNumber(contributions));
  return { variance, degreesOfFreedom };
}

interface Entry {
  readonly probability: number;
  readonly value: number;
}

/** The sum over all pairs of one cluster. */
function clusterContribution(cluster: readonly Entry[]): number {
  // In ascending order the larger probability of each pair is the later one: one pass instead of all pairs.
  const ascending = cluster.length === 1 ? cluster : cluster.toSorted((a, b) => a.probability - b.probability);
  let sum = 0;
  let before = 0;
  for (const { probability, value } of ascending) {
    const weighted = value / probability;
    sum += (1 - probability) * weighted * (weighted + 2 * before);
    before += weighted;
  }
  // Rounding alone can bring a sum of cancelling squares below zero.
  return Math.max(0, sum);
}

function groupByCluster(members: readonly ClusterMember[], values: readonly number[]): Map<string | number, Entry[]> {
  const clusters = new Map<string | number, Entry[]>();
  for (const [index, { cluster, probability }] of members.entries()) {
    const entry = { probability, value: values[index] ?? 0 };
    const others = clusters.get(cluster);
    if (others === undefined) clusters.set(cluster, [entry]);
    else others.push(entry);
  }
  return clusters;
}

/** One sampled query: its session, its inclusion probability, and what it adds to the estimated total. */
export interface ClusterMember {
  /** Names what was drawn together; the sampling hash serves. */
  readonly cluster: string | number;
  /** In (0, 1]. */
  readonly probability: number;
}

/** Number of clusters with a member that might have been left out: those that tell of chance. */
export function chanceClusters(members: readonly ClusterMember[]): number {
  return new Set(members.filter(({ probability }) => probability < 1).map(({ cluster }) => cluster)).size;
}

/**
 * Kish's effective number of clusters, each with the summed weights 1 / probability of its members. 0 for no members.
 */
export function effectiveClusters(members: readonly ClusterMember[]): number {
  const weights = new Map<string | number, number>();
  for (const { cluster, probability } of members) {
    weights.set(cluster, (weights.get(cluster) ?? 0) + 1 / probability);
  }
  return effectiveNumber(weights.values());
}

export interface SampledValue extends ClusterMember {
  readonly value: number;
}

/**
 * Whether every live query of the window had probability 1: rate 1 at level 0 and nothing sampled upstream. Samples
 * cannot tell: if only queries with an always-keep rule happen to be sampled, all their probabilities are 1 as well.
 */
interface SampledWindow {
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
type Calibration = Readonly<Record<QueryOutcome, number>>;

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
