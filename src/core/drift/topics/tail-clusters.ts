/** Uncovered topics: groups of badly covered queries that the window has more of than the baseline. */

import { seededSphericalKMeans } from '../../clustering/spherical-k-means.ts';
import { drawn } from '../../stats/draw.ts';
import { hypergeometricUpperTail } from '../../stats/hypergeometric.ts';
import { median } from '../../stats/median.ts';
import { type Matrix, selectRows } from '../../vector/matrix.ts';
import { densityOf } from '../coverage/query-density.ts';
import { mergeLike } from './merge-clusters.ts';
import { type ClusterExcess, clusterExcess } from './tail-significance.ts';

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

const FEWEST = 30;
const MOST = 2_000;
const MEMBERS_PER_CLUSTER = 25;
const FEWEST_CLUSTERS = 4;
const MOST_CLUSTERS = 16;
const STARTS = 2;
const ITERATIONS = 20;
const SIGNIFICANCE = 0.01;
const LEAST_EXCESS_POINTS = 1;
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
  const k = clusterCount(union.rows);
  const clustering = seededSphericalKMeans(union, { k, starts: STARTS, iterations: ITERATIONS, seed });
  const counts = Array.from({ length: k }, () => ({ current: 0, baseline: 0 }));
  for (const [row, label] of clustering.labels.entries()) {
    const count = counts[label];
    if (count !== undefined) count[row < now.votes.length ? 'current' : 'baseline']++;
  }
  const sessions = { current: now.sessions, baseline: before.sessions };
  const tests = clusterExcess(counts, sessions);
  const flagged = tests.flatMap((test, label) =>
    test.holm < SIGNIFICANCE && test.excessPoints >= LEAST_EXCESS_POINTS ? [label] : [],
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
  return Math.max(FEWEST_CLUSTERS, Math.min(MOST_CLUSTERS, Math.round(tail / MEMBERS_PER_CLUSTER)));
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
