/** Which clusters of badly covered queries have more of the window than the baseline explains. */
import { hypergeometricUpperTail } from '../../stats/hypergeometric.ts';
import { benjaminiHochberg, holm } from '../../stats/multiple-testing.ts';

export interface ClusterCounts {
  /** Members from the window. */
  readonly current: number;
  /** Members from the baseline. */
  readonly baseline: number;
}

export interface ClusterExcess extends ClusterCounts {
  /** P(at least as many window members), were the sides mixed at random. */
  readonly p: number;
  readonly holm: number;
  readonly benjaminiHochberg: number;
  /** Members over all sessions, also those that are covered; 0..1. */
  readonly trafficShare: number;
  readonly baselineShare: number;
  /** Difference of the shares, in percentage points. */
  readonly excessPoints: number;
}

/**
 * Tests each cluster of the union of both tails: with A and B members in all, p = P(H >= a) for H ~ Hypergeometric(
 * A + B, a + b, A), adjusted over the clusters. Exact given the clusters, as long as the clustering did not see which
 * side a member is on.
 *
 * @param sessions that the members are a part of, on either side; > 0
 */
export function clusterExcess(
  clusters: readonly ClusterCounts[],
  sessions: ClusterCounts,
): readonly ClusterExcess[] {
  const draws = clusters.reduce((sum, { current }) => sum + current, 0);
  const size = draws + clusters.reduce((sum, { baseline }) => sum + baseline, 0);
  const p = clusters.map(({ current, baseline }) =>
    hypergeometricUpperTail(current, { size, marked: current + baseline, draws }),
  );
  const stepDown = holm(p);
  const stepUp = benjaminiHochberg(p);
  return clusters.map(({ current, baseline }, i) => {
    const trafficShare = current / sessions.current;
    const baselineShare = baseline / sessions.baseline;
    return {
      current,
      baseline,
      p: p[i] ?? 1,
      holm: stepDown[i] ?? 1,
      benjaminiHochberg: stepUp[i] ?? 1,
      trafficShare,
      baselineShare,
      excessPoints: 100 * (trafficShare - baselineShare),
    };
  });
}
