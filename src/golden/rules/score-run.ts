import { ALL_SEGMENT, type GoldenQuery, type RetrievedDocument } from '../../core/model.ts';
import { isUnionMeasure, type Measure, type MetricKey } from '../../math/ir/metric-key.ts';
import type { Ranking } from '../../math/ir/ranking.ts';
import { createUnionEvaluator } from '../../math/ir/union.ts';
import { summarize } from '../../math/stats/descriptive.ts';
import { groupBySegment, type Segment } from './golden-set.ts';
import type { QueryAnswer, RunSettings, SegmentScore } from './run.ts';
import { hasSteps, rankingsOf } from './steps.ts';

/**
 * Segment without the queries whose relevant documents are all superseded or deleted; scored only if it contains some,
 * but not all, queries.
 */
export const ALIVE_SEGMENT = 'alive';

/**
 * Returns the settings for scoring a run: the measures for its queries, plus the gains that are listed in its settings.
 */
export function scoringOf(
  queries: readonly GoldenQuery[],
  { cutoffs, relevanceLevel, gains = [] }: RunSettings,
): ScoringSettings {
  return { cutoffs, relevanceLevel, measures: [...measuresOf(queries), ...gains] };
}

/**
 * Returns the segment `all`, then the segment `alive` (only if some, but not all, queries are in `dead`), and then the
 * segments from the settings.
 */
export function segmentsToScore(
  queries: readonly GoldenQuery[],
  { segmentKeys, maxSegments }: RunSettings,
  dead: ReadonlySet<string>,
): { readonly segments: readonly Segment[]; readonly overflow: number } {
  const { segments, overflow } = groupBySegment(queries, segmentKeys, maxSegments);
  const everything = { name: ALL_SEGMENT, members: queries.map((_, index) => index) };
  const alive = {
    name: ALIVE_SEGMENT,
    members: everything.members.filter((row) => !dead.has(queries[row]?.id ?? '')),
  };
  const hasDead = dead.size > 0 && alive.members.length > 0;
  // If all queries of a set have only forbidden documents, there is nothing to score.
  if (queries.length === 0) return { segments: [], overflow: 0 };
  return { segments: [everything, ...(hasDead ? [alive] : []), ...segments], overflow };
}

/** Returns the mean and interval of every measure by segment. With many small segments, bootstrapping takes seconds. */
export function summarizeSegments({ keys, columns }: QueryScores, segments: readonly Segment[]): SegmentScore[] {
  return segments.flatMap(({ name, members }) =>
    keys.map(({ measure, k }, column) => {
      const values = Float64Array.from(members, (row) => columns[column]?.[row] ?? 0);
      return { segment: name, measure, k, ...summarize(values, measure) };
    }),
  );
}

/** Measures of a golden run for which a higher value is better. */
export const goldenMeasures = [
  'hit_rate',
  'mrr',
  'ndcg',
  'ndcg_exp',
  'recall',
  'precision',
  'map',
  'f1',
  'union_recall',
  'all_found',
] as const satisfies readonly Measure[];

export type GoldenMeasure = (typeof goldenMeasures)[number];

export const runMeasures: readonly Measure[] = [...goldenMeasures, 'unjudged'];

/**
 * Returns the measures of a run with these queries. Includes the union measures only if a query has steps, because
 * without steps they add no information to recall. In union measures, a query without steps counts as a query with one
 * step.
 */
export function measuresOf(queries: readonly GoldenQuery[]): readonly Measure[] {
  return queries.some(hasSteps) ? runMeasures : runMeasures.filter((measure) => !isUnionMeasure(measure));
}

export type RunMetricKey = MetricKey & { readonly k: number };

export interface QueryScores {
  readonly keys: readonly RunMetricKey[];
  /** Score columns in key order; each contains one score per query, in query order. */
  readonly columns: readonly Float64Array[];
}

export interface ScoringSettings {
  readonly cutoffs: readonly number[];
  readonly relevanceLevel: number;
  /** Measures to compute; by default, those that `measuresOf` returns for the queries. */
  readonly measures?: readonly Measure[];
}

export function runMetricKeys(cutoffs: readonly number[], measures: readonly Measure[]): RunMetricKey[] {
  return measures.flatMap((measure) => cutoffs.map((k) => ({ measure, k })));
}

/**
 * Scores every judged query; a query scores 0 in every measure if it failed, has no results or has not been run. Uses
 * the order of the retriever; a repeated document counts once (`rankingOf`). The steps of a query are scored as
 * `math/ir/union.ts` defines.
 *
 * @param answers results of the queries, in any order; results of queries outside the list are ignored
 */
export function scoreQueries(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  { cutoffs, relevanceLevel, measures = measuresOf(queries) }: ScoringSettings,
): QueryScores {
  const keys = runMetricKeys(cutoffs, measures);
  const evaluate = createUnionEvaluator(keys, relevanceLevel);
  const answerOf = new Map(answers.map((answer) => [answer.queryId, answer]));
  const columns = keys.map(() => new Float64Array(queries.length));
  for (const [row, query] of queries.entries()) {
    const retrieved = answerOf.get(query.id)?.documents ?? [];
    const rankings = rankingsOf(retrieved).map(rankingOf);
    const grades = new Map(query.judgments.map((judgment) => [judgment.documentId, judgment.grade]));
    for (const [column, score] of evaluate(rankings, grades).entries()) {
      const values = columns[column];
      if (values !== undefined) values[row] = score;
    }
  }
  return { keys, columns };
}

/**
 * Makes each document of a ranking count once, at its first rank. A result with the same id and the same score as an
 * earlier result is a copy of it. The rank of the copy stays empty, because users see the copy in place of another
 * result. Any other repeated result of a document is a different chunk of that document: it is removed, and the results
 * after it move up.
 */
export function rankingOf(documents: readonly RetrievedDocument[]): Ranking {
  const ids = documents.map(({ id }) => id);
  if (new Set(ids).size === ids.length) return ids;
  const seen = new Set<string>();
  const copies = new Set<string>();
  return documents.flatMap(({ id, score, chunk = id }) => {
    const result = score === null ? null : JSON.stringify([chunk, score]);
    const isCopy = result !== null && copies.has(result);
    if (result !== null) copies.add(result);
    if (isCopy) return [null];
    if (seen.has(id)) return [];
    seen.add(id);
    return [id];
  });
}

export function scoresBy(
  key: RunMetricKey,
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  relevanceLevel: number,
): Float64Array {
  const only = { cutoffs: [key.k], relevanceLevel, measures: [key.measure] };
  return scoreQueries(queries, answers, only).columns[0] ?? new Float64Array(queries.length);
}

/**
 * Returns the document id: the part of a chunk id before the separator, or the whole id if the separator is missing or
 * comes first.
 */
export function documentOf(id: string, separator: string): string {
  const end = id.indexOf(separator);
  return end > 0 ? id.slice(0, end) : id;
}

/** Maps judgments to documents, each with the best grade of its chunks. */
export function queriesByDocument(queries: readonly GoldenQuery[], separator: string): GoldenQuery[] {
  return queries.map((query) => {
    const grades = new Map<string, number>();
    for (const { documentId, grade } of query.judgments) {
      const document = documentOf(documentId, separator);
      grades.set(document, Math.max(grade, grades.get(document) ?? grade));
    }
    return { ...query, judgments: [...grades].map(([documentId, grade]) => ({ documentId, grade })) };
  });
}

/**
 * Replaces the chunk ids in results with document ids. A document may then occur several times; scoring uses its first
 * rank.
 */
export function answersByDocument(answers: readonly QueryAnswer[], separator: string): QueryAnswer[] {
  return answers.map((answer) => ({
    ...answer,
    documents: answer.documents.map((found) => ({ ...found, id: documentOf(found.id, separator), chunk: found.id })),
  }));
}
