/**
 * Estimates totals over a window of live queries from its samples, with a variance that reflects sampling by session.
 *
 * The population is finite: the live queries that arrived in the window (or a segment of it), sampled or not. The
 * bounds are for the total of this population, not for hypothetical other queries. If every query was sampled, both
 * bounds equal the value.
 */

import { groupBy } from '../../../core/group-by.ts';
import { type QueryOutcome, queryOutcomes } from '../../../core/model.ts';
import { studentTQuantile } from '../../../math/stats/distributions.ts';
import { effectiveNumber } from '../../../math/stats/effective-number.ts';

/**
 * Estimates the variance of the total of value / probability under Poisson sampling of clusters.
 *
 * Clusters are sampled independently. The members of a cluster share one random number. A member is sampled if and only
 * if this number is below the member's probability, so the probability that two members are both sampled is the smaller
 * of their probabilities. The variance estimator of Horvitz and Thompson (1952; section 2.8 of Särndal, Swensson and
 * Wretman, Model Assisted Survey Sampling, 1992) is then, for one cluster,
 *
 *     sum over k, l of  y_k y_l (1 - max(p_k, p_l)) / (p_k p_l)
 *
 * For equal probabilities, this is the classical (1 - p) / p^2 (sum of y)^2. The estimate of the variance is unbiased
 * and never negative. The bounds are conservative if the service also sampled the members by independent draws and if
 * values within a session are similar, because the true variance is then smaller.
 *
 * The degrees of freedom are (sum v)^2 / sum v^2 over the contributions v of the clusters (Satterthwaite 1946). The
 * degrees of freedom are low if a few heavy clusters dominate the variance.
 *
 * @param samples sampled queries in any order
 */
export function clusterVariance(samples: readonly SampledValue[]) {
  const contributions = [...groupBy(samples, ({ cluster }) => cluster).values()].map(clusterContribution);
  const variance = contributions.reduce((sum, contribution) => sum + contribution, 0);
  if (variance === 0) return { variance, degreesOfFreedom: 0 };
  // At least 1, because squares of tiny numbers may underflow.
  const degreesOfFreedom = Math.max(1, effectiveNumber(contributions));
  // Satterthwaite's degrees of freedom of the variance, >= 1; 0 if the variance is 0.
  return { variance, degreesOfFreedom };
}

/** Returns the contribution of one cluster to the variance: a sum over all pairs of its members. */
function clusterContribution(cluster: readonly SampledValue[]): number {
  // The members are sorted, so the later member of each pair has the larger probability, and one pass suffices.
  const ascending = cluster.length === 1 ? cluster : cluster.toSorted((a, b) => a.probability - b.probability);
  let sum = 0;
  let before = 0;
  for (const { probability, value } of ascending) {
    const weighted = value / probability;
    sum += (1 - probability) * weighted * (weighted + 2 * before);
    before += weighted;
  }
  // Rounding can make a sum of cancelling terms negative.
  return Math.max(0, sum);
}

/** A sampled query: its session and its inclusion probability. */
export interface ClusterMember {
  /** Identifier shared by queries that were sampled together, for example their sampling hash. */
  readonly cluster: string | number;
  /** Inclusion probability, in (0, 1]. */
  readonly probability: number;
}

/** @throws RangeError for a probability outside (0, 1] */
export function checkProbability<Member extends ClusterMember>(member: Member): Member {
  if (member.probability > 0 && member.probability <= 1) return member;
  throw new RangeError(`An inclusion probability must be in (0, 1], not ${member.probability}.`);
}

/** Returns the number of clusters that contribute to the variance: those with a member whose probability is below 1. */
export function chanceClusters(members: readonly ClusterMember[]): number {
  return new Set(members.filter(({ probability }) => probability < 1).map(({ cluster }) => cluster)).size;
}

/**
 * Kish's effective number of clusters, where the weight of a cluster is the sum of 1 / probability over its members; 0
 * if there are no members.
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
 * `isComplete` is true if every live query in the window had probability 1, that is, rate 1 at level 0 without upstream
 * sampling. The samples alone cannot show whether a window is complete, because samples that a rule selected also have
 * probability 1.
 */
interface SampledWindow {
  readonly isComplete: boolean;
}

/** An estimate with a 95 % confidence interval; `low <= value <= high`, all finite. */
export type WeightedEstimate = ReturnType<typeof estimate>;

export type EstimateOutcome =
  | WeightedEstimate
  | { readonly kind: 'insufficient_data'; readonly have: number; readonly need: number };

/** Probability outside the 95 % bounds on each side. */
const TAIL = 0.025;
/** Minimum number of clusters; a single cluster has no variance. */
export const MIN_CLUSTERS = 2;

/**
 * Estimates the total over the window as the sum of value / probability (Horvitz and Thompson 1952), which is unbiased.
 * The bounds are the value plus or minus t standard errors, with the degrees of freedom of `clusterVariance`. For
 * values >= 0 the lower bound is at least the observed sum. Without samples, the total of a complete window is 0, and
 * the total of any other window is unknown.
 *
 * @throws RangeError for a probability outside (0, 1], a value that is not finite, or an overflow
 */
export function horvitzThompsonTotal(samples: readonly SampledValue[], window: SampledWindow): EstimateOutcome {
  checkMembers(samples, window);
  const chance = chanceClusters(samples);
  // With too few randomly sampled clusters, the variance cannot be estimated.
  if (!window.isComplete && chance < MIN_CLUSTERS)
    return { kind: 'insufficient_data', have: chance, need: MIN_CLUSTERS };
  const values = samples.map((sample) => sample.value);
  const total = samples.reduce((sum, { value, probability }) => sum + value / probability, 0);
  const outcome = estimate(total, clusterVariance(samples));
  if (values.some((value) => value < 0)) return outcome;
  const seen = values.reduce((sum, value) => sum + value, 0);
  // The observed sum never exceeds the weighted sum, except by rounding.
  return { ...outcome, low: Math.min(total, Math.max(outcome.low, seen)) };
}

function estimate(value: number, { variance, degreesOfFreedom }: ReturnType<typeof clusterVariance>) {
  const standardError = Math.sqrt(variance);
  if (!Number.isFinite(value) || !Number.isFinite(standardError)) {
    throw new RangeError('An estimate is not finite: a value is NaN or too large, or its probability is too small.');
  }
  const reach = variance === 0 ? 0 : studentTQuantile(1 - TAIL, degreesOfFreedom) * standardError;
  return {
    kind: 'estimate' as const,
    value,
    low: value - reach,
    high: value + reach,
    standardError,
  };
}

function checkMembers(members: readonly ClusterMember[], window: SampledWindow): void {
  for (const member of members) {
    const { probability } = checkProbability(member);
    if (window.isComplete && probability < 1) {
      throw new RangeError(`A complete window cannot contain a sample with probability ${probability}.`);
    }
  }
}

export interface Arrivals {
  /** Exact number of live queries, including queries that were not sampled. */
  readonly counted: number;
  /** Number of live queries estimated from the samples: the sum of 1 / probability. */
  readonly estimated: number;
}

/** Factors by which the weights 1 / probability are multiplied. */
type Calibration = Readonly<Record<QueryOutcome, number>>;

/**
 * Calibrates weights by post-stratification: the factor of an outcome is the counted number of its queries divided by
 * the estimated number. The method is the generalized regression estimator with one indicator per outcome (Deville and
 * Särndal, Calibration estimators in survey sampling, 1992). After calibration, the weighted numbers of queries equal
 * the actual numbers, and the share of failures has no sampling error. Calibration also avoids a bias that an
 * uncalibrated ratio has in small windows. If failures are always sampled and other queries are sampled at random, the
 * ratio is too large by about the relative variance of the estimated number of other queries.
 *
 * An outcome without counts or samples keeps its weights.
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
