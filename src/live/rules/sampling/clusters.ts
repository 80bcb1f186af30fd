/** Sampled queries with their sessions and probabilities, as estimates weigh them. */

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

/** Sum of the weights 1 / probability: the estimated number of queries that the members stand for. */
export function totalWeight(members: readonly ClusterMember[]): number {
  return members.reduce((sum, { probability }) => sum + 1 / probability, 0);
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
