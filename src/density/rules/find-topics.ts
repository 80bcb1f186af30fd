/**
 * Finds uncovered topics. Tests whether the queries of a cluster share one subject, because a cluster may also collect
 * unrelated queries.
 */
import { distinctRows, dotProduct, type Matrix, selectRows } from '../../math/vector/matrix.ts';
import { seededSphericalKMeans } from '../../math/vector/spherical-k-means.ts';
import { isInTail } from './baseline.ts';
import { assignRegions, type Regions } from './baseline-spread.ts';
import { familiarity, MIN_SAMPLED, novelBelow, topicCause } from './cause.ts';
import { type RankedQuery, rankQueries } from './measure-window.ts';
import type { BaselineScores, ScoredQuery } from './query-score.ts';
import {
  type BaselineTail,
  directionSum,
  linkedGroups,
  type TailQuery,
  type TailSide,
  tailClusters,
} from './tail-clusters.ts';

/** Number of parts into which a cluster is split: enough to separate a mix of subjects. */
const PARTS = 4;
/**
 * Two parts share a subject if the similarity between them is at least this fraction of the similarity within them.
 * Before the comparison, the mean similarity of all pairs of queries is subtracted from both values.
 */
const MIN_SIMILARITY = 0.5;
/**
 * Minimum tightness of the parts: the position of their mean cosine on a scale from 0 (random pairs) to 1 (identical
 * queries).
 */
const MIN_TIGHT = 0.05;
/** A cluster is a topic only if at least this fraction of its queries share one subject. */
const MIN_SHARE = 2 / 3;
/**
 * Minimum mean silhouette at which the parts are separate subjects. A lower silhouette means that all queries are far
 * apart, as with sparse vectors.
 */
const APART = 0.25;

/** `unclear`: the vectors are inconclusive; the words may decide. */
export type Subjects = 'one' | 'several' | 'unclear';

/**
 * Tests whether the queries share one subject, for vectors of any model. Splits the queries into four parts by
 * spherical k-means. Two parts share a subject if the mean cosine between their queries is at least half of the mean
 * cosine within the parts; before the comparison, the mean cosine of all pairs of queries is subtracted from both
 * values. Parts that are linked through other parts also share a subject. If the largest group of linked parts contains
 * two thirds of the queries, the queries share one subject. Otherwise, the queries have several subjects if the mean
 * silhouette of the parts is at least 0.25 (Rousseeuw 1987). The distance is 1 - mean cosine, and a part that consists
 * of one vector has silhouette 0.
 *
 * @param members queries of one cluster
 * @param sample vectors drawn from all queries, used to estimate the mean similarity of two queries
 */
export function subjectsOf(members: Matrix, sample: Matrix, seed: number): Subjects {
  const parts = partsOf(members, seed);
  const usual = meanCosine(sample.rows, directionSum(sample));
  const pairs = parts.map(({ rows }) => rows * (rows - 1));
  const all = pairs.reduce((sum, count) => sum + count, 0);
  const within =
    all === 0 ? 1 : parts.reduce((sum, part, i) => sum + (pairs[i] ?? 0) * meanCosine(part.rows, part.sum), 0) / all;
  if (within - usual < MIN_TIGHT * (1 - usual)) return 'unclear';
  const least = usual + MIN_SIMILARITY * (within - usual);
  if (largestLinked(parts, least) >= MIN_SHARE) return 'one';
  return silhouette(parts) >= APART ? 'several' : 'unclear';
}

type Part = ReturnType<typeof partsOf>[number];

function partsOf(members: Matrix, seed: number) {
  const { labels, k } = seededSphericalKMeans(members, { k: PARTS, seed });
  return Array.from({ length: k }, (_, part) => [...labels.keys()].filter((row) => labels[row] === part))
    .filter((rows) => rows.length > 0)
    .map((rows) => {
      const own = selectRows(members, rows);
      const distinct = selectRows(own, distinctRows(own));
      return {
        share: rows.length / members.rows,
        /** Number of distinct vectors: repeated queries do not make a part tighter. */
        rows: distinct.rows,
        /** Sum of the directions of the part's queries. */
        sum: directionSum(distinct),
      };
    });
}

/**
 * Returns the share of queries that belong to the largest group of linked parts. Two parts are linked if their mean
 * cosine is at least `least`.
 */
function largestLinked(parts: readonly Part[], least: number): number {
  const groups = linkedGroups(parts, (one, other) => cosineBetween(one, other) >= least);
  const shares = groups.map((group) =>
    parts.reduce((sum, { share }, part) => sum + (groups[part] === group ? share : 0), 0),
  );
  return Math.max(...shares);
}

function silhouette(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => {
    if (part.rows < 2) return sum;
    const others = parts.filter((one) => one !== part).map((other) => 1 - cosineBetween(part, other));
    if (others.length === 0) return sum;
    const [own, next] = [1 - meanCosine(part.rows, part.sum), Math.min(...others)];
    return sum + (part.share * (next - own)) / Math.max(next, own, Number.EPSILON);
  }, 0);
}

function cosineBetween(one: Part, other: Part): number {
  return dotProduct(one.sum, other.sum) / (one.rows * other.rows);
}

/** Mean cosine over all pairs of `rows` directions, computed from their sum; 1 if there are fewer than two. */
function meanCosine(rows: number, sum: Float64Array): number {
  return rows < 2 ? 1 : (dotProduct(sum, sum) - rows) / (rows * (rows - 1));
}

export interface TopicBaseline {
  readonly regions: Regions;
  readonly scores: BaselineScores;
  /** The worst-covered 10 % of the baseline queries, and the number of sessions that they represent. */
  readonly tail: TailSide<BaselineTail>;
  /** Vectors of a random sample of the baseline queries. */
  readonly sample: Matrix;
}

export type LocatedTopic = Extract<ReturnType<typeof findTopics>, { kind: 'topics' }>['topics'][number];

/**
 * Clusters the queries whose coverage is at or below the 10th percentile of the baseline, together with the baseline
 * tail. Infers the cause of each cluster that has one subject and is significantly more frequent than in the baseline.
 * Ignores queries without a vector. The result does not depend on the order of the queries.
 *
 * @throws RangeError if the vectors and the baseline have different numbers of dimensions
 */
export function findTopics(queries: readonly ScoredQuery[], vectors: Matrix, baseline: TopicBaseline, seed: number) {
  const { queries: placed } = rankQueries(queries, vectors, baseline);
  const sessions = new Set(placed.map(({ sessionNumber }) => sessionNumber)).size;
  const tail = placed.flatMap(tailQuery);
  const clusters = tailClusters({ vectors, tail, sessions }, baseline.tail, seed);
  if (clusters.kind === 'insufficient_data') return clusters;
  const { uncovered } = clusters;
  if (uncovered.length === 0) return { kind: 'topics' as const, sessions, topics: [] };
  const threshold = novelBelow(baseline.sample);
  if (threshold === null) {
    return {
      kind: 'insufficient_data' as const,
      of: 'baseline_sample' as const,
      have: baseline.sample.rows,
      need: MIN_SAMPLED,
    };
  }
  const rowOfId = new Map(tail.map(({ id, row }) => [id, row]));
  const regionOfRow = baseline.regions.count === 0 ? null : assignRegions(baseline.sample, baseline.regions);
  const topics = uncovered.flatMap((cluster) => {
    const rows = cluster.members.flatMap((id) => rowOfId.get(id) ?? []);
    const members = selectRows(vectors, rows);
    // Clusters with several subjects are not topics.
    const subjects = subjectsOf(members, baseline.sample, seed);
    if (subjects === 'several') return [];
    /** Rows of the baseline sample in the region of the topic. */
    const baselineRows = Array.from({ length: baseline.sample.rows }, (_, row) => row).filter(
      (row) => regionOfRow === null || regionOfRow[row] === cluster.dominantRegion,
    );
    const cause = topicCause([...familiarity(members, baseline.sample)], threshold);
    return [{ ...cluster, cause, subjects, baselineRows }];
  });
  return { kind: 'topics' as const, sessions, topics };
}

function tailQuery({ id, row, ranks, surprise, region, sessionNumber }: RankedQuery): TailQuery[] {
  if (row === null || !isInTail(ranks)) return [];
  return [{ id, row, surprise, region, session: String(sessionNumber) }];
}
