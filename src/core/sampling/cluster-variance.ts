/** Variance of estimates over live queries that were drawn by session. */

import type { ClusterMember } from './clusters.ts';

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
 * @param members sampled queries in any order
 * @param values one per member
 */
export function clusterVariance(members: readonly ClusterMember[], values: readonly number[]): number {
  const clusters = new Map<string | number, { probability: number; value: number }[]>();
  for (const [index, { cluster, probability }] of members.entries()) {
    const entry = { probability, value: values[index] ?? 0 };
    const others = clusters.get(cluster);
    if (others === undefined) clusters.set(cluster, [entry]);
    else others.push(entry);
  }
  let variance = 0;
  for (const cluster of clusters.values()) {
    // In ascending order the larger probability of each pair is the later one: one pass instead of all pairs.
    cluster.sort((a, b) => a.probability - b.probability);
    let before = 0;
    for (const { probability, value } of cluster) {
      const weighted = value / probability;
      variance += (1 - probability) * weighted * (weighted + 2 * before);
      before += weighted;
    }
  }
  // Rounding alone can bring a sum of cancelling squares below zero.
  return Math.max(0, variance);
}
