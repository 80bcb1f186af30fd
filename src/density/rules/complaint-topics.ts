import { wilsonInterval } from '../../math/stats/intervals.ts';
import { dotProduct, inverseLengths, type Matrix, rowOf, selectRowsOf } from '../../math/vector/matrix.ts';
import { subjectsOf } from './find-topics.ts';
import { type TailClusters, type TailQuery, type TailSide, tailClusters } from './tail-clusters.ts';

export interface RatedQuery {
  readonly id: string;
  readonly session: string;
  /** Day of the query: YYYY-MM-DD, UTC. */
  readonly day: string;
  readonly isNegative: boolean;
}

const CONFIDENCE = 0.95;
const SIGNIFICANCE = 0.01;
/** Numbers of clusters to test. Too many clusters split frequent topics, and too few hide rare topics. */
const granularities = [16, 8, 4] as const;

/**
 * Clusters queries with and without negative feedback together, ignoring the feedback. Returns the single-subject
 * clusters whose share of the sessions with negative feedback is larger than their share of the other sessions (see
 * `tailClusters`). Tests with 16, 8 and 4 clusters, each at a third of the significance level, and returns the result
 * with the smallest p-value. The result does not depend on the order of the queries.
 *
 * @param queries one per row of `vectors`
 */
export function complaintTopics(queries: readonly RatedQuery[], vectors: Matrix, seed: number) {
  const rated = queries.map((query, row): RatedQuery & TailQuery => ({ ...query, row, surprise: 0, region: 0 }));
  const [negative, others] = [rated.filter(({ isNegative }) => isNegative), rated.filter((one) => !one.isNegative)];
  const sideOf = (tail: readonly TailQuery[]) => ({
    vectors,
    tail,
    sessions: new Set(tail.map(({ session }) => session)).size,
  });
  const [now, before] = [sideOf(negative), sideOf(others)];
  const found = clearest(now, before, seed);
  if (found.kind === 'insufficient_data') {
    return { ...found, of: found.of === 'window_tail' ? ('negative' as const) : ('others' as const) };
  }
  const byId = new Map(rated.map((query) => [query.id, query]));
  const sample = selectRowsOf(vectors, others);
  const scales = inverseLengths(sample);
  const topics = found.uncovered.flatMap((cluster) => {
    const members = cluster.members.flatMap((id) => byId.get(id) ?? []);
    const subjects = subjectsOf(selectRowsOf(vectors, members), sample, seed);
    if (subjects === 'several') return [];
    const alike = others.filter(
      (_, row) => dotProduct(rowOf(sample, row), cluster.centroid) * (scales[row] ?? 0) >= cluster.cohesion,
    );
    const { low, high } = wilsonInterval(cluster.trafficShare, now.sessions, CONFIDENCE);
    return [
      {
        /** Ids of queries with negative feedback in the topic, one per session, most typical first. */
        members: cluster.members,
        examples: cluster.examples,
        /** Ids of queries without negative feedback that are as close to the topic as its members. */
        alike: alike.map(({ id }) => id),
        subjects,
        sessions: cluster.current,
        /** The topic's share of the sessions with negative feedback, with a 95 % CI. */
        share: { value: cluster.trafficShare, low, high },
        /** The topic's share of all other sessions. */
        othersShare: cluster.baselineShare,
        /** p-value, adjusted for all tested clusters. */
        adjustedP: Math.min(1, granularities.length * cluster.adjustedP),
        /** For each day, the number of sessions with negative feedback, in total and in the topic. */
        days: daysOf(negative, members),
      },
    ];
  });
  return { kind: 'topics' as const, negative: now.sessions, others: before.sessions, topics };
}

const minP = (found: TailClusters): number =>
  found.kind === 'clusters' ? Math.min(1, ...found.uncovered.map(({ adjustedP }) => adjustedP)) : 1;

function clearest(now: TailSide<TailQuery>, before: TailSide<TailQuery>, seed: number): TailClusters {
  const significance = SIGNIFICANCE / granularities.length;
  const [finest, ...coarser] = granularities.map((clusters) => tailClusters(now, before, seed, clusters, significance));
  return coarser.reduce((best, next) => (minP(next) < minP(best) ? next : best), finest as TailClusters);
}

function daysOf(negative: readonly RatedQuery[], members: readonly RatedQuery[]) {
  const sessionsOn = (queries: readonly RatedQuery[], day: string): number =>
    new Set(queries.filter((query) => query.day === day).map(({ session }) => session)).size;
  const days = [...new Set(negative.map(({ day }) => day))].toSorted();
  return days.map((day) => ({ day, negative: sessionsOn(negative, day), sessions: sessionsOn(members, day) }));
}
