/** How well a golden set stands for what users ask, and what its scores would be with the mix of live traffic. */
import { effectiveClusters } from '../../live/rules/sampling/estimate.ts';
import { median } from '../../math/stats/descriptive.ts';
import { studentTQuantile } from '../../math/stats/distributions.ts';
import { effectiveNumber } from '../../math/stats/effective-number.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';
import { createRandom } from '../../math/stats/random.ts';
import { cosineSimilarity, type Matrix, rowOf } from '../../math/vector/matrix.ts';
import { seededSphericalKMeans } from '../../math/vector/spherical-k-means.ts';

/** A live query that was sampled; its vector is the row of the same index. */
export interface WeighedQuery {
  /** In (0, 1]: it stands for 1 / probability live queries. */
  readonly probability: number;
  /** Names what was sampled as a whole. */
  readonly cluster: string;
}

/** A cluster of live queries. */
export interface LiveTopic {
  /** Weighted share of the live queries, 0..1. */
  readonly share: number;
  /** Weighted share of its queries with a golden query near by, 0..1. */
  readonly covered: number;
  /** Number of golden queries that lie in it. */
  readonly golden: number;
  /** Cosine from which two queries of it are near. */
  readonly near: number;
  /** Indices of its most typical live queries, at most 5. */
  readonly typical: readonly number[];
}

/** A weighted share, with the 95 % Wilson bounds of as many independent queries as there are effective sessions. */
export interface CoveredShare {
  readonly value: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** Sampled live queries. */
  readonly n: number;
  /** Kish's effective number of sampled sessions. */
  readonly effectiveSessions: number;
}

export interface Representativeness {
  /** Share of live queries with a golden query near by; null without live queries. */
  readonly covered: CoveredShare | null;
  /** Largest share first; only clusters with members. */
  readonly topics: readonly LiveTopic[];
  /** Weighted share of the live queries whose cluster has a golden query: what reweighted scores can speak for. */
  readonly represented: number;
  /**
   * Weight of each golden query, such that the clusters have the shares of live traffic; they sum to 1, or are all 0
   * when no golden query lies in a cluster.
   */
  readonly goldenWeights: Float64Array;
}

const STARTS = 3;
const ITERATIONS = 20;
const SEED = 20_251;
/** About how many live queries a cluster should have. */
const QUERIES_PER_TOPIC = 25;
const MAX_TOPICS = 64;
/** Random pairs of a cluster that are compared to find how near its queries are to each other. */
const PAIRS = 200;
const TYPICAL = 5;

/**
 * Clusters the live queries by spherical k-means (about 25 queries each, at most 64 clusters). A golden query lies in
 * the cluster of the nearest live query. A live query is covered when a golden query is at least as near as half of
 * the pairs of its cluster are to each other (median cosine of at most 200 random pairs, cluster by cluster, so that
 * the bound follows the embedding model); in a cluster of one query the median over all clusters holds.
 *
 * The same input gives the same result.
 *
 * @throws RangeError when the numbers of live queries and vectors, or the dimensions, differ
 */
export function measureRepresentativeness(input: {
  readonly live: readonly WeighedQuery[];
  readonly liveVectors: Matrix;
  readonly goldenVectors: Matrix;
}): Representativeness {
  const { live, liveVectors, goldenVectors } = input;
  if (live.length !== liveVectors.rows) throw new RangeError('Each live query must have one vector.');
  if (live.length === 0) return nothingKnown(goldenVectors.rows);
  const k = Math.max(1, Math.min(MAX_TOPICS, Math.ceil(live.length / QUERIES_PER_TOPIC)));
  const clustering = seededSphericalKMeans(liveVectors, {
    k,
    starts: STARTS,
    iterations: ITERATIONS,
    seed: SEED,
  });
  const members = Array.from({ length: k }, (): number[] => []);
  for (const [row, label] of clustering.labels.entries()) members[label]?.push(row);
  const bounds = nearBounds(liveVectors, members);
  const nearest = nearestGolden(liveVectors, goldenVectors);
  const isCovered = (row: number): boolean => (nearest.toLive[row] ?? -2) >= (bounds[clustering.labels[row] ?? 0] ?? 1);
  const weight = (row: number): number => 1 / (live[row]?.probability ?? 1);
  const total = live.reduce((sum, _, row) => sum + weight(row), 0);
  const goldenLabels = nearest.ofGolden.map((row) => clustering.labels[row] ?? 0);
  const topics = members.map((rows, label) => {
    const size = rows.reduce((sum, row) => sum + weight(row), 0);
    const covered = rows.reduce((sum, row) => sum + (isCovered(row) ? weight(row) : 0), 0);
    return {
      share: size / total,
      covered: size === 0 ? 0 : covered / size,
      golden: goldenLabels.filter((own) => own === label).length,
      near: bounds[label] ?? 1,
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
    covered: {
      value: share,
      ciLow,
      ciHigh,
      n: live.length,
      effectiveSessions: sessions,
    },
    topics: topics.filter((_, label) => (members[label]?.length ?? 0) > 0).toSorted((a, b) => b.share - a.share),
    represented,
    goldenWeights: Float64Array.from(goldenLabels, (label) => {
      const topic = topics[label];
      return topic === undefined || represented === 0 ? 0 : topic.share / topic.golden / represented;
    }),
  };
}

/** Without live queries nothing is covered, and nothing can be said. */
function nothingKnown(golden: number): Representativeness {
  return {
    covered: null,
    topics: [],
    represented: 0,
    goldenWeights: new Float64Array(golden),
  };
}

/** Median cosine of random pairs of each cluster; of one without pairs the median of the others. */
function nearBounds(vectors: Matrix, members: readonly (readonly number[])[]): number[] {
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
  // A single live query has nothing to compare with: then only an equal direction is near.
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
    /** Cosine of each live query to its nearest golden query; -2 without any. */
    toLive,
    /** Of each golden query the live query that is nearest. */
    ofGolden,
  };
}

/** A golden score as it would be with the mix of live traffic. */
interface ReweightedScore {
  readonly mean: number;
  /** 95 %, by the t distribution with the effective sample size less one as degrees of freedom. */
  readonly ciLow: number;
  readonly ciHigh: number;
  /** Queries with a weight above 0. */
  readonly n: number;
  /** Kish's effective sample size, (sum w)^2 / sum w^2: so many equally weighted queries tell as much. */
  readonly effectiveSampleSize: number;
}

/**
 * The weighted mean sum w x / sum w, its standard error sqrt(sum w^2 (x - mean)^2) / sum w times sqrt(m / (m - 1)) for
 * the effective size m (Kish, Survey Sampling, 1965; Cochran 1977). The weights count as known. Null when no query has
 * a weight, and with bounds of the whole range for a single one.
 *
 * @param scores in [0, 1], one for each query
 * @param weights >= 0, one for each query
 */
export function reweightedScore(scores: ArrayLike<number>, weights: ArrayLike<number>): ReweightedScore | null {
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
    n,
    effectiveSampleSize,
  };
}
