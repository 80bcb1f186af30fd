/**
 * Finds uncovered topics: groups of poorly covered queries that are more frequent in the window than in the baseline.
 */

import { median } from '../../math/stats/descriptive.ts';
import { hypergeometricUpperTail } from '../../math/stats/distributions.ts';
import { benjaminiHochberg, holm } from '../../math/stats/paired-tests.ts';
import { drawn } from '../../math/stats/random.ts';
import { dotProduct, inverseLengths, lengthOf, type Matrix, rowOf, selectRows } from '../../math/vector/matrix.ts';
import { type Clustering, seededSphericalKMeans } from '../../math/vector/spherical-k-means.ts';
import { densityOf } from './query-density.ts';

/** A query whose coverage is at or below the 10th percentile of the baseline. */
export interface TailQuery {
  readonly id: string;
  /** Index of the query's row in the vectors of its side. */
  readonly row: number;
  readonly session: string;
  readonly surprise: number;
  readonly region: number;
}

export interface TailSide<Query> {
  readonly vectors: Matrix;
  readonly tail: readonly Query[];
  /** Number of sessions on this side, including those without a query in the tail. */
  readonly sessions: number;
}

export type BaselineTail = Omit<TailQuery, 'region'>;

export type TailClusters = ReturnType<typeof tailClusters>;

const MIN_VOTES = 30;
const MAX_VOTES = 2_000;
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
 * Clusters the tails of the window and the baseline together, ignoring which side a query comes from. Returns the
 * clusters whose excess in the window is significant (p-value below 0.01, Holm-adjusted over all clusters) and at least
 * one percentage point of the traffic. A large topic splits into several clusters, so similar clusters are merged (see
 * `mergeSimilar`).
 *
 * Each session has one vote: its worst-covered query. If a side has more than 2,000 votes, 2,000 of them are selected
 * at random, and the number of sessions is reduced in proportion. The result does not depend on the order of the
 * queries.
 *
 * @param clusters number of clusters; null to use `clusterCount`
 * @param significance Holm-adjusted p-value below which an excess is significant
 */
export function tailClusters(
  current: TailSide<TailQuery>,
  baseline: TailSide<BaselineTail>,
  seed: number,
  clusters: number | null = null,
  significance = SIGNIFICANCE,
) {
  const now = votesOf(current, seed);
  const before = votesOf(baseline, seed);
  if (now.votes.length < MIN_VOTES) return insufficient('window_tail', now.votes.length);
  if (before.votes.length < MIN_VOTES) return insufficient('baseline_tail', before.votes.length);
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
  const uncovered = mergeSimilar(union, clustering, flagged).map(({ labels, centroid, rows, cosines }) => {
    const parts = labels.flatMap((label) => tests[label] ?? []);
    const typical = rows
      .map((row, i) => ({ vote: now.votes[row], cosine: cosines[i] ?? 0 }))
      .flatMap(({ vote, cosine }) => (vote === undefined ? [] : [{ vote, cosine }]))
      .toSorted((a, b) => b.cosine - a.cosine || (a.vote.id < b.vote.id ? -1 : 1))
      .map(({ vote }) => vote);
    return {
      /** Sum of the unit vectors of the topic's queries, scaled to length 1. */
      centroid,
      /** Median cosine between the topic's queries on both sides and the centroid. */
      cohesion: median(cosines),
      ...membersOf(typical, seed),
      ...merged(parts, sessions, urn),
    };
  });
  return {
    kind: 'clusters' as const,
    /** Uncovered topics, largest excess first. */
    uncovered: uncovered.toSorted((a, b) => b.excessPoints - a.excessPoints || a.p - b.p),
  };
}

/** Number of clusters for the union of both tails: clamp(round(tail / 25), 4, 16). */
export function clusterCount(tail: number): number {
  return Math.max(MIN_CLUSTERS, Math.min(MAX_CLUSTERS, Math.round(tail / MEMBERS_PER_CLUSTER)));
}

function insufficient(of: 'window_tail' | 'baseline_tail', have: number) {
  return { kind: 'insufficient_data' as const, of, have, need: MIN_VOTES };
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
  if (ordered.length <= MAX_VOTES) return { votes: ordered, sessions };
  return { votes: drawn(ordered, MAX_VOTES, seed), sessions: (sessions * MAX_VOTES) / ordered.length };
}

function stacked(first: Matrix, second: Matrix): Matrix {
  const data = new Float32Array(first.data.length + second.data.length);
  data.set(first.data);
  data.set(second.data, first.data.length);
  return { rows: first.rows + second.rows, columns: first.columns, data };
}

function membersOf(typical: readonly TailQuery[], seed: number) {
  const members = typical.map(({ id }) => id);
  const nearest = members.slice(0, 1 + NEAREST_EXAMPLES);
  const rest = members.slice(1 + NEAREST_EXAMPLES);
  const meanX = typical.reduce((sum, { surprise }) => sum + surprise, 0) / typical.length;
  const regions = new Map<number, number>();
  for (const { region } of typical) regions.set(region, (regions.get(region) ?? 0) + 1);
  const [dominant] = [...regions].toSorted(([a, countA], [b, countB]) => countB - countA || a - b);
  return {
    /** Ids of the topic's queries in the window, most typical first. */
    members,
    /** The most typical query, its four nearest queries, and two random queries of the topic. */
    examples: [...nearest, ...drawn(rest, RANDOM_EXAMPLES, seed)],
    density: densityOf(meanX),
    dominantRegion: dominant?.[0] ?? 0,
  };
}

function merged(
  parts: ReturnType<typeof clusterExcess>,
  sessions: ClusterCounts,
  urn: { readonly size: number; readonly draws: number },
) {
  const current = parts.reduce((sum, part) => sum + part.current, 0);
  const baseline = parts.reduce((sum, part) => sum + part.baseline, 0);
  const trafficShare = current / sessions.current;
  const baselineShare = baseline / sessions.baseline;
  return {
    /** Number of members from the window. */
    current,
    /** Number of members from the baseline. */
    baseline,
    /** Share of the window's sessions that the members represent, 0 to 1. */
    trafficShare,
    /** Share of the baseline's sessions that the members represent, 0 to 1. */
    baselineShare,
    /** Traffic share minus baseline share, in percentage points. */
    excessPoints: 100 * (trafficShare - baselineShare),
    /** p-value of the merged cluster, tested like a single cluster. */
    p: hypergeometricUpperTail(current, { ...urn, marked: current + baseline }),
    /** Smallest Holm-adjusted p-value of the clusters that were merged. */
    adjustedP: Math.min(...parts.map((part) => part.holm)),
  };
}

/** Number of members from the window and from the baseline. */
interface ClusterCounts {
  readonly current: number;
  readonly baseline: number;
}

/**
 * Tests each cluster in the union of both tails. Of the members of the cluster, a come from the window and b from the
 * baseline; of the members of all clusters, A come from the window and B from the baseline. Then p = P(H >= a) for
 * H ~ Hypergeometric(A + B, a + b, A). The p-values are adjusted for the number of clusters, and are exact for the
 * given clusters, provided that the clustering did not depend on which side a query comes from.
 *
 * @param sessions number of all sessions on each side; > 0
 */
export function clusterExcess(clusters: readonly ClusterCounts[], sessions: ClusterCounts) {
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
      /**
       * Probability that the cluster would have at least this many members from the window if members were assigned to
       * the sides at random.
       */
      p: p[i] ?? 1,
      holm: stepDown[i] ?? 1,
      benjaminiHochberg: stepUp[i] ?? 1,
      /** Number of members from the window divided by the number of all sessions in the window, 0 to 1. */
      trafficShare,
      baselineShare,
      /** Traffic share minus baseline share, in percentage points. */
      excessPoints: 100 * (trafficShare - baselineShare),
    };
  });
}

/**
 * Merges two of the chosen clusters if the cosine between their centroids exceeds the median cosine between the rows
 * and the centroids of their own clusters. Merging is transitive.
 *
 * @param rows the clustered rows
 * @param chosen labels of the clusters to merge
 */
export function mergeSimilar(rows: Matrix, clustering: Clustering, chosen: readonly number[]) {
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
      /** Labels of the clusters that were merged. */
      labels,
      /** Direction of the sum of the rows after each row has been scaled to length 1. */
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
