/** Uncovered topics: groups of badly covered queries that the window has more of than the baseline. */

import { median } from '../../math/stats/descriptive.ts';
import { hypergeometricUpperTail } from '../../math/stats/distributions.ts';
import { benjaminiHochberg, holm } from '../../math/stats/paired-tests.ts';
import { drawn } from '../../math/stats/random.ts';
import { dotProduct, inverseLengths, lengthOf, type Matrix, rowOf, selectRows } from '../../math/vector/matrix.ts';
import { type Clustering, seededSphericalKMeans } from '../../math/vector/spherical-k-means.ts';
import { densityOf } from './query-density.ts';

/** A query at or under the 10 % percentile. */
export interface TailQuery {
  readonly id: string;
  /** In the vectors of its side. */
  readonly row: number;
  /** Names its session. */
  readonly session: string;
  readonly surprise: number;
  /** Region of the baseline that it lies in. */
  readonly region: number;
}

export interface TailSide<Query> {
  readonly vectors: Matrix;
  readonly tail: readonly Query[];
  /** Sessions of all queries of the side, not of its tail alone. */
  readonly sessions: number;
}

export type BaselineTail = Omit<TailQuery, 'region'>;

export interface UncoveredCluster {
  /** Row-major sum of directions, scaled to length 1. */
  readonly centroid: Float64Array;
  /** Median cosine of its queries, of either side, to the centroid. */
  readonly cohesion: number;
  /** Ids of its queries in the window, the most typical first. */
  readonly members: readonly string[];
  /** The most typical query, the four next to it, and two drawn from the rest. */
  readonly examples: readonly string[];
  /** Density of its queries. */
  readonly density: number;
  readonly dominantRegion: number;
  /** Members from either side, shares of the sessions, and their difference in percentage points. */
  readonly current: number;
  readonly baseline: number;
  readonly trafficShare: number;
  readonly baselineShare: number;
  readonly excessPoints: number;
  /** p of the merged cluster, as if it had been one cluster from the start. */
  readonly p: number;
  /** Least Holm-adjusted p of the clusters that it was merged from. */
  readonly adjustedP: number;
}

export type TailClusters =
  | {
      readonly kind: 'clusters';
      /** With the largest excess first. */
      readonly uncovered: readonly UncoveredCluster[];
      /** How many clusters were tested. */
      readonly tested: number;
    }
  | {
      readonly kind: 'insufficient_data';
      readonly of: 'window_tail' | 'baseline_tail';
      readonly have: number;
      readonly need: number;
    };

export interface TailClusterSettings {
  /** How many; null: by `clusterCount`. */
  readonly clusters?: number | null;
  /** Holm-adjusted p below which an excess is no chance. */
  readonly significance?: number;
}

const FEWEST = 30;
const MOST = 2_000;
const MEMBERS_PER_CLUSTER = 25;
const MIN_CLUSTERS = 4;
const MAX_CLUSTERS = 16;
const STARTS = 2;
const ITERATIONS = 20;
const SIGNIFICANCE = 0.01;
const MIN_EXCESS_POINTS = 1;
const NEAREST_EXAMPLES = 4;
const RANDOM_EXAMPLES = 2;

/**
 * Clusters the tails of window and baseline together, without looking at which side a query is on, and keeps the
 * clusters whose excess in the window is significant (Holm over all clusters, below 0.01) and at least one percentage
 * point of the traffic. Kept clusters whose centroids are as like each other as their members are merged, because a
 * large topic falls into several clusters.
 *
 * Each session has one vote, its worst covered query; of more than 2,000 votes a side, 2,000 drawn with the seed count
 * and its sessions with them. The result does not depend on the order of the queries.
 */
export function tailClusters(
  current: TailSide<TailQuery>,
  baseline: TailSide<BaselineTail>,
  seed: number,
  { clusters = null, significance = SIGNIFICANCE }: TailClusterSettings = {},
): TailClusters {
  const now = votesOf(current, seed);
  const before = votesOf(baseline, seed);
  if (now.votes.length < FEWEST) return insufficient('window_tail', now.votes.length);
  if (before.votes.length < FEWEST) return insufficient('baseline_tail', before.votes.length);
  const union = stacked(
    selectRows(
      current.vectors,
      now.votes.map(({ row }) => row),
    ),
    selectRows(
      baseline.vectors,
      before.votes.map(({ row }) => row),
    ),
  );
  const k = clusters ?? clusterCount(union.rows);
  const clustering = seededSphericalKMeans(union, { k, starts: STARTS, iterations: ITERATIONS, seed });
  const counts = Array.from({ length: k }, () => ({ current: 0, baseline: 0 }));
  for (const [row, label] of clustering.labels.entries()) {
    const count = counts[label];
    if (count !== undefined) count[row < now.votes.length ? 'current' : 'baseline']++;
  }
  const sessions = { current: now.sessions, baseline: before.sessions };
  const tests = clusterExcess(counts, sessions);
  const flagged = tests.flatMap((test, label) =>
    test.holm < significance && test.excessPoints >= MIN_EXCESS_POINTS ? [label] : [],
  );
  const urn = { size: union.rows, draws: now.votes.length };
  const uncovered = mergeLike(union, clustering, flagged).map(({ labels, centroid, rows, cosines }) => {
    const parts = labels.flatMap((label) => tests[label] ?? []);
    const typical = rows
      .map((row, i) => ({ vote: now.votes[row], cosine: cosines[i] ?? 0 }))
      .flatMap(({ vote, cosine }) => (vote === undefined ? [] : [{ vote, cosine }]))
      .toSorted((a, b) => b.cosine - a.cosine || (a.vote.id < b.vote.id ? -1 : 1))
      .map(({ vote }) => vote);
    return {
      centroid,
      cohesion: median(cosines),
      ...membersOf(typical, seed),
      ...merged(parts, sessions, urn),
    };
  });
  return {
    kind: 'clusters',
    tested: k,
    uncovered: uncovered.toSorted((a, b) => b.excessPoints - a.excessPoints || a.p - b.p),
  };
}

/** K = clamp(round(tail / 25), 4, 16), of the union of both tails. */
export function clusterCount(tail: number): number {
  return Math.max(MIN_CLUSTERS, Math.min(MAX_CLUSTERS, Math.round(tail / MEMBERS_PER_CLUSTER)));
}

function insufficient(of: 'window_tail' | 'baseline_tail', have: number): TailClusters {
  return { kind: 'insufficient_data', of, have, need: FEWEST };
}

function votesOf<Query extends BaselineTail>(
  { tail, sessions }: TailSide<Query>,
  seed: number,
): { readonly votes: readonly Query[]; readonly sessions: number } {
  const worst = new Map<string, Query>();
  for (const query of tail) {
    const other = worst.get(query.session);
    const isWorse =
      other === undefined ||
      query.surprise > other.surprise ||
      (query.surprise === other.surprise && query.id < other.id);
    if (isWorse) worst.set(query.session, query);
  }
  const ordered = [...worst.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  if (ordered.length <= MOST) return { votes: ordered, sessions };
  return { votes: drawn(ordered, MOST, seed), sessions: (sessions * MOST) / ordered.length };
}

function stacked(first: Matrix, second: Matrix): Matrix {
  const data = new Float32Array(first.data.length + second.data.length);
  data.set(first.data);
  data.set(second.data, first.data.length);
  return { rows: first.rows + second.rows, columns: first.columns, data };
}

function membersOf(
  typical: readonly TailQuery[],
  seed: number,
): Pick<UncoveredCluster, 'members' | 'examples' | 'density' | 'dominantRegion'> {
  const members = typical.map(({ id }) => id);
  const nearest = members.slice(0, 1 + NEAREST_EXAMPLES);
  const rest = members.slice(1 + NEAREST_EXAMPLES);
  const meanX = typical.reduce((sum, { surprise }) => sum + surprise, 0) / typical.length;
  const regions = new Map<number, number>();
  for (const { region } of typical) regions.set(region, (regions.get(region) ?? 0) + 1);
  const [dominant] = [...regions].toSorted(([a, countA], [b, countB]) => countB - countA || a - b);
  return {
    members,
    examples: [...nearest, ...drawn(rest, RANDOM_EXAMPLES, seed)],
    density: densityOf(meanX),
    dominantRegion: dominant?.[0] ?? 0,
  };
}

function merged(
  parts: readonly ClusterExcess[],
  sessions: { readonly current: number; readonly baseline: number },
  urn: { readonly size: number; readonly draws: number },
): Omit<UncoveredCluster, 'centroid' | 'cohesion' | 'members' | 'examples' | 'density' | 'dominantRegion'> {
  const current = parts.reduce((sum, part) => sum + part.current, 0);
  const baseline = parts.reduce((sum, part) => sum + part.baseline, 0);
  const trafficShare = current / sessions.current;
  const baselineShare = baseline / sessions.baseline;
  return {
    current,
    baseline,
    trafficShare,
    baselineShare,
    excessPoints: 100 * (trafficShare - baselineShare),
    p: hypergeometricUpperTail(current, { ...urn, marked: current + baseline }),
    adjustedP: Math.min(...parts.map((part) => part.holm)),
  };
}

// Which clusters of badly covered queries have more of the window than the baseline explains.

interface ClusterCounts {
  /** Members from the window. */
  readonly current: number;
  /** Members from the baseline. */
  readonly baseline: number;
}

interface ClusterExcess extends ClusterCounts {
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
export function clusterExcess(clusters: readonly ClusterCounts[], sessions: ClusterCounts): readonly ClusterExcess[] {
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

interface MergedCluster {
  /** Labels of the clusters that it was merged of. */
  readonly labels: readonly number[];
  /** Direction of the sum of its rows' directions. */
  readonly centroid: Float64Array;
  readonly rows: readonly number[];
  /** Of each row to the centroid. */
  readonly cosines: readonly number[];
}

/**
 * Merges the given clusters whose centroids have a cosine above the median cosine of their rows to their own
 * centroids; clusters that are linked through others are one as well.
 *
 * @param rows what was clustered
 * @param chosen labels of the clusters that take part
 */
export function mergeLike(rows: Matrix, clustering: Clustering, chosen: readonly number[]): MergedCluster[] {
  const own = [...clustering.labels.entries()].filter(([, label]) => chosen.includes(label));
  if (own.length === 0) return [];
  const usual = median(own.map(([row]) => clustering.closeness[row] ?? 0));
  const groups = new Map(chosen.map((label) => [label, label]));
  for (const a of chosen) {
    for (const b of chosen) {
      if (a >= b || centroidCosine(clustering, rows.columns, a, b) <= usual) continue;
      const [kept, lost] = [groups.get(a) ?? a, groups.get(b) ?? b];
      for (const [label, group] of groups) if (group === lost) groups.set(label, kept);
    }
  }
  const scales = inverseLengths(rows);
  return [...new Set(groups.values())].map((group) => {
    const labels = chosen.filter((label) => groups.get(label) === group);
    const members = own.filter(([, label]) => labels.includes(label)).map(([row]) => row);
    const centroid = new Float64Array(rows.columns);
    for (const row of members) {
      for (const [c, value] of rowOf(rows, row).entries()) {
        centroid[c] = (centroid[c] ?? 0) + value * (scales[row] ?? 0);
      }
    }
    const length = lengthOf(centroid);
    const unit = length > 0 ? centroid.map((value) => value / length) : centroid;
    return {
      labels,
      centroid: unit,
      rows: members,
      cosines: members.map((row) => dotProduct(rowOf(rows, row), unit) * (scales[row] ?? 0)),
    };
  });
}

function centroidCosine({ centroids }: Clustering, columns: number, a: number, b: number): number {
  return dotProduct(
    centroids.subarray(a * columns, (a + 1) * columns),
    centroids.subarray(b * columns, (b + 1) * columns),
  );
}
