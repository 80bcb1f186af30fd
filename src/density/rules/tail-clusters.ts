/**
 * Finds uncovered topics: groups of poorly covered queries that are more frequent in the window than in the baseline.
 */

import { median } from '../../math/stats/descriptive.ts';
import { hypergeometricUpperTail } from '../../math/stats/distributions.ts';
import { holm } from '../../math/stats/paired-tests.ts';
import { drawn } from '../../math/stats/random.ts';
import {
  dotProduct,
  inverseLengths,
  lengthOf,
  type Matrix,
  rowOf,
  selectRows,
  selectRowsOf,
} from '../../math/vector/matrix.ts';
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
const SIGNIFICANCE = 0.01;
const MIN_EXCESS_POINTS = 1;
const NEAREST_EXAMPLES = 4;
const RANDOM_EXAMPLES = 2;

/**
 * Clusters the tails of the window and the baseline together, ignoring which side a query comes from. Returns the
 * clusters whose excess in the window is at least one percentage point of the traffic and is significant (p-value below
 * 0.01, Holm-adjusted over all clusters). A large topic splits into several clusters, so similar clusters are merged
 * (see `mergeSimilar`).
 *
 * Each session has one vote: its worst-covered query. If a side has more than 2,000 votes, uses a random sample of
 * 2,000 votes, and reduces the number of sessions in proportion. The result does not depend on the order of the
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
  const union = stacked(selectRowsOf(current.vectors, now.votes), selectRowsOf(baseline.vectors, before.votes));
  const k = clusters ?? clusterCount(union.rows);
  const clustering = seededSphericalKMeans(union, { k, seed });
  const counts = Array.from({ length: k }, () => ({ current: 0, baseline: 0 }));
  for (const [row, label] of clustering.labels.entries()) {
    const count = counts[label];
    if (count !== undefined) count[row < now.votes.length ? 'current' : 'baseline']++;
  }
  const sessions = { current: now.sessions, baseline: before.sessions };
  const urn = { size: union.rows, draws: now.votes.length };
  const tests = clusterExcess(counts, sessions, urn);
  const flagged = tests.flatMap((test, label) =>
    test.holm < significance && test.excessPoints >= MIN_EXCESS_POINTS ? [label] : [],
  );
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
      ...excessOf(
        {
          current: parts.reduce((sum, part) => sum + part.current, 0),
          baseline: parts.reduce((sum, part) => sum + part.baseline, 0),
        },
        sessions,
        urn,
      ),
      /** Smallest Holm-adjusted p-value of the clusters that were merged. */
      adjustedP: Math.min(...parts.map((part) => part.holm)),
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

/**
 * Returns the worst-covered query of each session. If there are more than 2,000 sessions, returns a random sample of
 * 2,000 of these queries, and reduces the number of sessions in proportion.
 */
export function votesOf<Query extends Omit<BaselineTail, 'row'>>(
  { tail, sessions }: Pick<TailSide<Query>, 'tail' | 'sessions'>,
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

/** Number of members from the window and from the baseline. */
interface ClusterCounts {
  readonly current: number;
  readonly baseline: number;
}

/** Models the window's members as draws from the members of all clusters. */
interface TailUrn {
  readonly size: number;
  readonly draws: number;
}

/** Compares the number of members from the window with that from the baseline. */
function excessOf({ current, baseline }: ClusterCounts, sessions: ClusterCounts, urn: TailUrn) {
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
    /**
     * Probability of at least this many members from the window if the members of all clusters were assigned to the
     * sides at random.
     */
    p: hypergeometricUpperTail(current, { ...urn, marked: current + baseline }),
  };
}

/**
 * Tests each cluster in the union of both tails. The cluster has a members from the window and b members from the
 * baseline; all clusters together have A members from the window and B members from the baseline. Then p = P(H >= a)
 * for H ~ Hypergeometric(A + B, a + b, A). The p-values are adjusted for the number of clusters, and are exact for the
 * given clusters, provided that the clustering did not depend on which side a query comes from.
 *
 * @param sessions number of all sessions on each side; > 0
 */
export function clusterExcess(clusters: readonly ClusterCounts[], sessions: ClusterCounts, urn: TailUrn) {
  const tests = clusters.map((counts) => excessOf(counts, sessions, urn));
  const adjusted = holm(tests.map(({ p }) => p));
  return tests.map((test, i) => ({ ...test, holm: adjusted[i] ?? 1 }));
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
  const groups = linkedGroups(chosen, (a, b) => centroidCosine(clustering, rows.columns, a, b) > usual);
  const scales = inverseLengths(rows);
  return [...new Set(groups)].map((group) => {
    const labels = chosen.filter((_, i) => groups[i] === group);
    const members = own.filter(([, label]) => labels.includes(label)).map(([row]) => row);
    const centroid = directionSum(selectRows(rows, members));
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

/** Numbers the groups of items that are linked, directly or through other items. */
export function linkedGroups<Item>(items: readonly Item[], areLinked: (a: Item, b: Item) => boolean): number[] {
  const groups = [...items.keys()];
  for (const [a, one] of items.entries()) {
    for (const [b, other] of items.entries()) {
      if (b <= a || !areLinked(one, other)) continue;
      const [kept = a, lost] = [groups[a], groups[b]];
      for (const [item, group] of groups.entries()) if (group === lost) groups[item] = kept;
    }
  }
  return groups;
}

/** Sum of the rows, each scaled to length 1. */
export function directionSum(rows: Matrix): Float64Array {
  const scales = inverseLengths(rows);
  const sum = new Float64Array(rows.columns);
  for (let row = 0; row < rows.rows; row++) {
    for (const [column, value] of rowOf(rows, row).entries()) {
      sum[column] = (sum[column] ?? 0) + value * (scales[row] ?? 0);
    }
  }
  return sum;
}
