/** From answers and judgments to scores with bounds, per segment. */
import { ALL_SEGMENT, type GoldenQuery } from '../../model.ts';
import { summarize } from '../../stats/summary.ts';
import { type QueryScores, scoreQueries } from './query-scores.ts';
import type { QueryAnswer, RunSettings, SegmentScore } from './run.ts';
import { groupBySegment, type Segment } from './segments.ts';

/** Segment of the queries that have a relevant document left in the store; scored only when there are others. */
export const ALIVE_SEGMENT = 'alive';

export interface RunScores {
  readonly scores: readonly SegmentScore[];
  /** Segments that were folded into `other`. */
  readonly segmentsOverflow: number;
}

/**
 * Means over all judged queries and over each segment, failed and empty queries counting 0.
 *
 * @param answers in any order; those of queries outside the set are ignored
 * @param dead ids of queries whose every relevant document is gone: `alive` holds the others, so that one sees what
 * the scores would be without dead labels
 */
export function scoreRun(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  settings: RunSettings,
  dead: ReadonlySet<string> = new Set(),
): RunScores {
  const { segments, overflow } = segmentsToScore(queries, settings, dead);
  return {
    scores: summarizeSegments(scoreQueries(queries, answers, settings), segments),
    segmentsOverflow: overflow,
  };
}

/** `all`, `alive` when there are dead labels to leave out, and the segments of the settings. */
export function segmentsToScore(
  queries: readonly GoldenQuery[],
  { segmentKeys, maxSegments }: Pick<RunSettings, 'segmentKeys' | 'maxSegments'>,
  dead: ReadonlySet<string>,
): { readonly segments: readonly Segment[]; readonly overflow: number } {
  const { segments, overflow } = groupBySegment(queries, segmentKeys, maxSegments);
  const everything = { name: ALL_SEGMENT, members: queries.map((_, index) => index) };
  const alive = {
    name: ALIVE_SEGMENT,
    members: everything.members.filter((row) => !dead.has(queries[row]?.id ?? '')),
  };
  const isTold = dead.size > 0 && alive.members.length > 0;
  return { segments: [everything, ...(isTold ? [alive] : []), ...segments], overflow };
}

/** Mean and bounds of every measure over every segment: bootstraps, which take seconds for many small segments. */
export function summarizeSegments(
  { keys, columns }: QueryScores,
  segments: readonly Segment[],
): SegmentScore[] {
  return segments.flatMap(({ name, members }) =>
    keys.map(({ measure, k }, column) => {
      const values = Float64Array.from(members, (row) => columns[column]?.[row] ?? 0);
      return { segment: name, measure, k, ...summarize(values, measure) };
    }),
  );
}
