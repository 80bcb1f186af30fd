import { effectiveClusters } from '../../live/rules/sampling/estimate.ts';
import { median } from '../../math/stats/descriptive.ts';
import { studentTQuantile } from '../../math/stats/distributions.ts';
import { effectiveNumber } from '../../math/stats/effective-number.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';
import { createRandom } from '../../math/stats/random.ts';
import { cosineSimilarity, type Matrix, rowOf } from '../../math/vector/matrix.ts';
import { seededSphericalKMeans } from '../../math/vector/spherical-k-means.ts';

const STARTS = 3;
const ITERATIONS = 20;
const SEED = 20_251;
const QUERIES_PER_TOPIC = 25;
const MAX_TOPICS = 64;
/** Number of random pairs per cluster; their cosines determine how similar the queries of the cluster are. */
const PAIRS = 200;
const TYPICAL = 5;

/**
 * Clusters the live queries with spherical k-means, into one cluster per 25 queries, but at most 64 clusters. A golden
 * query belongs to the cluster of the most similar live query. A live query is covered if its cosine with a golden
 * query is at least the median cosine of its cluster. The threshold thus adapts to the cosines of the embedding model.
 * The median is taken over at most 200 random pairs per cluster. Clusters with a single query use the median over all
 * clusters.
 *
 * The same input yields the same result.
 *
 * @throws RangeError if the numbers of live queries and vectors, or the dimensions, differ
 */
export function measureRepresentativeness(input: {
  /** The sampled live queries; the vector of each query is the row with the same index. */
  readonly live: readonly {
    /** Sampling probability in (0, 1]; the query represents 1 / probability live queries. */
    readonly probability: number;
    /** Identifier of the query's session. Sampling selects whole sessions, not single queries. */
    readonly cluster: string;
  }[];
  readonly liveVectors: Matrix;
  readonly goldenVectors: Matrix;
}) {
  const { live, liveVectors, goldenVectors } = input;
  if (live.length !== liveVectors.rows) throw new RangeError('Each live query needs one vector.');
  if (live.length === 0) {
    return { covered: null, topics: [], represented: 0, goldenWeights: new Float64Array(goldenVectors.rows) };
  }
  const k = Math.max(1, Math.min(MAX_TOPICS, Math.ceil(live.length / QUERIES_PER_TOPIC)));
  const clustering = seededSphericalKMeans(liveVectors, {
    k,
    starts: STARTS,
    iterations: ITERATIONS,
    seed: SEED,
  });
  const members = Array.from({ length: k }, (): number[] => []);
  for (const [row, label] of clustering.labels.entries()) members[label]?.push(row);
  const bounds = similarityBounds(liveVectors, members);
  const nearest = nearestGolden(liveVectors, goldenVectors);
  const isCovered = (row: number): boolean => (nearest.toLive[row] ?? -2) >= (bounds[clustering.labels[row] ?? 0] ?? 1);
  const weight = (row: number): number => 1 / (live[row]?.probability ?? 1);
  const total = live.reduce((sum, _, row) => sum + weight(row), 0);
  const goldenLabels = nearest.ofGolden.map((row) => clustering.labels[row] ?? 0);
  const topics = members.map((rows, label) => {
    const size = rows.reduce((sum, row) => sum + weight(row), 0);
    const covered = rows.reduce((sum, row) => sum + (isCovered(row) ? weight(row) : 0), 0);
    return {
      /** The topic's weighted share of the live queries, 0..1. */
      share: size / total,
      /** Weighted share of the topic's live queries that have a similar golden query, 0..1. */
      covered: size === 0 ? 0 : covered / size,
      /** Number of golden queries in the cluster. */
      golden: goldenLabels.filter((own) => own === label).length,
      /** Indexes of the topic's most typical live queries, at most 5. */
      typical: rows
        .toSorted((a, b) => (clustering.closeness[b] ?? 0) - (clustering.closeness[a] ?? 0) || a - b)
        .slice(0, TYPICAL),
    };
  });
  const represented = topics.reduce((sum, { share, golden }) => sum + (golden > 0 ? share : 0), 0);
  const share = live.reduce((sum, _, row) => sum + (isCovered(row) ? weight(row) : 0), 0) / total;
  const sessions = effectiveClusters(live);
  const { low: ciLow, high: ciHigh } = wilsonInterval(share, sessions, 0.95);
  return {
    /**
     * Weighted share of live queries that have a similar golden query, and its 95 % Wilson interval, computed with the
     * effective number of sessions; null if there are no live queries.
     */
    covered: {
      value: share,
      ciLow,
      ciHigh,
      n: live.length,
      /** Kish's effective number of sampled sessions. */
      effectiveSessions: sessions,
    },
    /** Topics with live queries, largest share first. */
    topics: topics.filter((_, label) => (members[label]?.length ?? 0) > 0).toSorted((a, b) => b.share - a.share),
    /**
     * Weighted share of live queries whose cluster has a golden query. Reweighted scores are valid only for this share
     * of traffic.
     */
    represented,
    /**
     * Weight of each golden query. The weights of a cluster's golden queries add up to the cluster's share of the
     * represented live traffic. All weights sum to 1, or are all 0 if no golden query is in a cluster.
     */
    goldenWeights: Float64Array.from(goldenLabels, (label) => {
      const topic = topics[label];
      return topic === undefined || represented === 0 ? 0 : topic.share / topic.golden / represented;
    }),
  };
}

/**
 * Returns, for each cluster, the median cosine of random pairs of its queries. A cluster without pairs gets the median
 * of the values of the other clusters.
 */
function similarityBounds(vectors: Matrix, members: readonly (readonly number[])[]): number[] {
  const random = createRandom(SEED);
  const draw = new Uint32Array(2);
  const medians = members.map((rows) => {
    if (rows.length < 2) return null;
    const cosines: number[] = [];
    for (let pair = 0; pair < PAIRS; pair++) {
      random(draw);
      const first = (draw[0] ?? 0) % rows.length;
      const second = (first + 1 + ((draw[1] ?? 0) % (rows.length - 1))) % rows.length;
      cosines.push(cosineSimilarity(rowOf(vectors, rows[first] ?? 0), rowOf(vectors, rows[second] ?? 0)));
    }
    return median(cosines);
  });
  const known = medians.flatMap((one) => one ?? []);
  // If no cluster has a pair, as with a single live query, a golden query counts as similar only if its vector and that
  // of the live query have the same direction.
  const fallback = known.length === 0 ? 1 - 1e-6 : median(known);
  return medians.map((one) => one ?? fallback);
}

function nearestGolden(live: Matrix, golden: Matrix) {
  const toLive = new Float64Array(live.rows).fill(-2);
  const ofGolden = Array.from({ length: golden.rows }, (_, index) => {
    const vector = rowOf(golden, index);
    let [best, bestCosine] = [0, -2];
    for (let row = 0; row < live.rows; row++) {
      const cosine = cosineSimilarity(rowOf(live, row), vector);
      if (cosine > (toLive[row] ?? -2)) toLive[row] = cosine;
      if (cosine > bestCosine) [best, bestCosine] = [row, cosine];
    }
    return best;
  });
  return {
    /** Cosine between each live query and its nearest golden query; -2 if there is none. */
    toLive,
    /** For each golden query, the index of the most similar live query. */
    ofGolden,
  };
}

/**
 * Returns the weighted mean (sum w x) / (sum w) and its 95 % confidence interval. The standard error of the mean is
 * sqrt(sum w^2 (x - mean)^2) / (sum w), multiplied by sqrt(m / (m - 1)) for the effective sample size m (Kish, Survey
 * Sampling, 1965; Cochran 1977). The weights are estimates, but the interval does not account for their uncertainty.
 * Returns null if all weights are 0; for a single query, the interval is the whole range.
 *
 * @param scores in [0, 1], one per query
 * @param weights one per query, at least 0
 */
export function reweightedScore(scores: ArrayLike<number>, weights: ArrayLike<number>) {
  let [total, sum, n] = [0, 0, 0];
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i] ?? 0;
    total += weight;
    sum += weight * (scores[i] ?? 0);
    if (weight > 0) n += 1;
  }
  if (total === 0) return null;
  const mean = Math.min(1, Math.max(0, sum / total));
  const effectiveSampleSize = effectiveNumber(Array.from(weights));
  let spread = 0;
  for (let i = 0; i < weights.length; i++) spread += ((weights[i] ?? 0) * ((scores[i] ?? 0) - mean)) ** 2;
  const freedom = effectiveSampleSize - 1;
  if (freedom < 1e-9) return { mean, ciLow: 0, ciHigh: 1, n, effectiveSampleSize };
  const error = (Math.sqrt(spread) / total) * Math.sqrt(effectiveSampleSize / freedom);
  const reach = error === 0 ? 0 : studentTQuantile(0.975, freedom) * error;
  return {
    mean,
    ciLow: Math.max(0, mean - reach),
    ciHigh: Math.min(1, mean + reach),
    /** Number of queries with a weight above 0. */
    n,
    /** Kish's effective sample size, (sum w)^2 / sum w^2. */
    effectiveSampleSize,
  };
}
