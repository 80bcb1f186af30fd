/** From answers and judgments to scores with bounds, per segment. */
import { createEvaluator } from '../ir/evaluate.ts';
import type { Measure, MetricKey } from '../ir/metric-key.ts';
import { applyDuplicatePolicy } from '../ir/ranking.ts';
import { ALL_SEGMENT, type GoldenQuery } from '../model.ts';
import { summarize } from '../stats/summary.ts';
import type { QueryAnswer, RunSettings, SegmentScore } from './run.ts';
import { groupBySegment } from './segments.ts';

/** Measures of a golden run; each is taken at every cut-off of the settings. */
export const runMeasures: readonly Measure[] = [
  'hit_rate',
  'mrr',
  'ndcg',
  'ndcg_exp',
  'recall',
  'precision',
  'map',
  'f1',
  'unjudged',
];

export interface RunScores {
  readonly scores: readonly SegmentScore[];
  /** Segments that were folded into `other`. */
  readonly segmentsOverflow: number;
}

/**
 * Scores every judged query of the set: a query without an answer, with an empty one or with a failure scores 0 in
 * every measure and stays in the denominator. The order is the one that the retriever returned; a document that is
 * returned twice counts once, at its first rank.
 *
 * @param answers in any order; those of queries outside the set are ignored
 */
export function scoreRun(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  settings: RunSettings,
): RunScores {
  const keys = metricKeys(settings);
  const evaluate = createEvaluator(keys, settings.relevanceLevel);
  const answerOf = new Map(answers.map((answer) => [answer.queryId, answer]));
  const perQuery = queries.map((query) => {
    const retrieved = answerOf.get(query.id)?.documents ?? [];
    const { ranking } = applyDuplicatePolicy(
      retrieved.map((document) => document.id),
      'collapse',
    );
    return evaluate(
      ranking,
      new Map(query.judgments.map((judgment) => [judgment.documentId, judgment.grade])),
    );
  });
  const { segments, overflow } = groupBySegment(queries, settings.segmentKeys, settings.maxSegments);
  const everything = { name: ALL_SEGMENT, members: queries.map((_, index) => index) };
  const scores = [everything, ...segments].flatMap(({ name, members }) =>
    keys.map(({ measure, k }, column) => {
      const values = Float64Array.from(members, (row) => perQuery[row]?.[column] ?? 0);
      return { segment: name, measure, k, ...summarize(values, measure) };
    }),
  );
  return { scores, segmentsOverflow: overflow };
}

function metricKeys(settings: RunSettings): (MetricKey & { readonly k: number })[] {
  return runMeasures.flatMap((measure) => settings.cutoffs.map((k) => ({ measure, k })));
}
