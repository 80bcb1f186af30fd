/** Variance of estimates over live queries that were drawn by session. */

export interface ClusterVariance {
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
  let variance = 0;
  let squares = 0;
  for (const cluster of groupByCluster(members, values).values()) {
    const contribution = clusterContribution(cluster);
    variance += contribution;
    squares += contribution * contribution;
  }
  if (variance === 0) return { variance, degreesOfFreedom: 0 };
  // Where the squares of tiny numbers vanish, the least that it can be.
  const degreesOfFreedom = squares === 0 ? 1 : Math.max(1, (variance * variance) / squares);
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
 * Kish's effective sample size of clusters, (sum W)^2 / sum W^2 with W the summed weights 1 / probability of a
 * cluster's members (Kish, Survey Sampling, 1965): the number of equally weighted clusters that tell as much. 0 for
 * no members.
 */
export function effectiveClusters(members: readonly ClusterMember[]): number {
  const weights = new Map<string | number, number>();
  for (const { cluster, probability } of members) {
    weights.set(cluster, (weights.get(cluster) ?? 0) + 1 / probability);
  }
  let sum = 0;
  let squares = 0;
  for (const weight of weights.values()) {
    sum += weight;
    squares += weight * weight;
  }
  return squares === 0 ? 0 : (sum * sum) / squares;
}
