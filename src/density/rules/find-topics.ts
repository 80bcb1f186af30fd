/** One search for uncovered topics: live queries held against the tail and a sample of the baseline. */

import { type Matrix, selectRows } from '../../vector/matrix.ts';
import { isInTail } from './baseline.ts';
import { assignRegions, type Regions } from './baseline-spread.ts';
import { familiarity, MIN_SAMPLED, novelBelow, type TopicCause, topicCause } from './cause.ts';
import { measureWindow, type PlacedQuery } from './measure-window.ts';
import type { BaselineScores, ScoredQuery } from './query-score.ts';
import {
  type BaselineTail,
  type TailClusters,
  type TailQuery,
  tailClusters,
  type UncoveredCluster,
} from './tail-clusters.ts';
import { type Subjects, subjectsOf } from './topic-unity.ts';

export interface TopicBaseline {
  readonly regions: Regions;
  readonly scores: BaselineScores;
  /** The badly covered tenth of its queries, and the sessions that it stands for. */
  readonly tail: {
    readonly vectors: Matrix;
    readonly queries: readonly BaselineTail[];
    readonly sessions: number;
  };
  /** Vectors of queries drawn from all of it. */
  readonly sample: Matrix;
}

export interface LocatedTopic extends UncoveredCluster {
  readonly cause: TopicCause;
  /** Clusters of several are no topics. */
  readonly subjects: Exclude<Subjects, 'several'>;
  /** Rows of the sample of the baseline in the region of the topic. */
  readonly baselineRows: readonly number[];
}

type FoundTopics =
  | {
      readonly kind: 'topics';
      /** Of the period, covered or not. */
      readonly sessions: number;
      /** How many clusters were tested. */
      readonly tested: number;
      /** With the largest excess first. */
      readonly topics: readonly LocatedTopic[];
    }
  | {
      readonly kind: 'insufficient_data';
      readonly of: Extract<TailClusters, { kind: 'insufficient_data' }>['of'] | 'baseline_sample';
      readonly have: number;
      readonly need: number;
    };

/**
 * Places the queries in the baseline, clusters those at or under its 10 % percentile together with its own tail, and
 * reads the cause of each cluster that has more of the period than the baseline explains and is not of several subjects.
 * Queries without a vector have no part. The result does not depend on the order of the queries.
 *
 * @throws RangeError when the vectors have another dimension than the baseline
 */
export function findTopics(
  queries: readonly ScoredQuery[],
  vectors: Matrix,
  baseline: TopicBaseline,
  seed: number,
): FoundTopics {
  const { queries: placed, density } = measureWindow(queries, vectors, baseline);
  const sessions = density?.sessions ?? 0;
  const tail = placed.flatMap(tailQuery);
  const before = {
    vectors: baseline.tail.vectors,
    tail: baseline.tail.queries,
    sessions: baseline.tail.sessions,
  };
  const clusters = tailClusters({ vectors, tail, sessions }, before, seed);
  if (clusters.kind === 'insufficient_data') return clusters;
  const { uncovered, tested } = clusters;
  if (uncovered.length === 0) return { kind: 'topics', sessions, tested, topics: [] };
  const threshold = novelBelow(baseline.sample);
  if (threshold === null) {
    return {
      kind: 'insufficient_data',
      of: 'baseline_sample',
      have: baseline.sample.rows,
      need: MIN_SAMPLED,
    };
  }
  const rowOfId = new Map(tail.map(({ id, row }) => [id, row]));
  const regionOfRow = baseline.regions.count === 0 ? null : assignRegions(baseline.sample, baseline.regions);
  const topics = uncovered.flatMap((cluster): LocatedTopic[] => {
    const members = selectRows(
      vectors,
      cluster.members.flatMap((id) => rowOfId.get(id) ?? []),
    );
    const subjects = subjectsOf(members, baseline.sample, seed);
    if (subjects === 'several') return [];
    const baselineRows = Array.from({ length: baseline.sample.rows }, (_, row) => row).filter(
      (row) => regionOfRow === null || regionOfRow[row] === cluster.dominantRegion,
    );
    const cause = topicCause([...familiarity(members, baseline.sample)], threshold);
    return [{ ...cluster, cause, subjects, baselineRows }];
  });
  return { kind: 'topics', sessions, tested, topics };
}

function tailQuery({ id, row, ranks, surprise, region, sessionNumber }: PlacedQuery): TailQuery[] {
  if (row === null || !isInTail(ranks)) return [];
  return [{ id, row, surprise, region, session: String(sessionNumber) }];
}
