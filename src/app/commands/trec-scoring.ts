/** Scores TREC runs against judgments, as offline evaluation and comparison both need it. */

import type { RunDocuments } from '../../golden/trec/result-table.ts';
import { readQrels, readRun } from '../../golden/trec/trec-files.ts';
import { createEvaluator, type GradeByDocument } from '../../ir/evaluate.ts';
import type { MetricKey } from '../../ir/metric-key.ts';
import {
  applyDuplicatePolicy,
  compareCodePoints,
  countScoreTies,
  type DuplicatePolicy,
  orderLikeTrecEval,
  type ScoredDocuments,
} from '../../ir/ranking.ts';

export interface ScoringSettings {
  readonly keys: readonly MetricKey[];
  /** Least grade that means relevant, an integer >= 1. */
  readonly relevanceLevel: number;
  readonly duplicates: DuplicatePolicy;
}

export interface EvaluationCounts {
  readonly judgedQueries: number;
  /** Judged queries with at least one result in the run. */
  readonly answered: number;
  /** Judged queries without any; they score 0. */
  readonly missing: number;
  /** Queries of the run without judgments; they do not count. */
  readonly ignoredUnjudgedQueries: number;
  /** Places that repeat a document of the same ranking, over judged queries. */
  readonly duplicateDocuments: number;
  /**
   * Documents with the same score as the other document ranked right before them, over judged queries: the places
   * that were decided by document id and not by the retriever.
   */
  readonly scoreTies: number;
}

export interface TrecScores {
  readonly counts: EvaluationCounts;
  /** One column per key, one value per judged query. */
  readonly columns: readonly Float64Array[];
}

/** Every judged query with its judgments, in code-point order of the ids whatever the order of the file. */
export type JudgedQueries = readonly (readonly [queryId: string, judgments: GradeByDocument])[];

/** @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and the line */
export async function readJudgedQueries(qrelsPath: string): Promise<JudgedQueries> {
  return [...(await readQrels(qrelsPath))].toSorted(([a], [b]) => compareCodePoints(a, b));
}

/**
 * Scores a TREC run against judgments as `trec_eval -c` does: documents are ordered by score and id, and a judged
 * query without results scores 0.
 *
 * @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and the line
 */
export async function scoreTrecRun(
  queries: JudgedQueries,
  runPath: string,
  settings: ScoringSettings,
): Promise<TrecScores> {
  return scoreDocuments(queries, await readRun(runPath), runPath, settings);
}

function scoreDocuments(
  queries: JudgedQueries,
  run: RunDocuments,
  runPath: string,
  { keys, relevanceLevel, duplicates }: ScoringSettings,
): TrecScores {
  const evaluate = createEvaluator(keys, relevanceLevel);
  const columns = keys.map(() => new Float64Array(queries.length));
  let answered = 0;
  let duplicateDocuments = 0;
  let scoreTies = 0;
  for (const [row, [queryId, judgments]] of queries.entries()) {
    const documents = run.get(queryId);
    if (documents !== undefined) answered++;
    const ranked = orderLikeTrecEval(documents ?? NO_DOCUMENTS);
    scoreTies += countScoreTies(ranked);
    const deduplicated = applyDuplicatePolicy(ranked.ids, duplicates, `${runPath}: The query "${queryId}"`);
    duplicateDocuments += deduplicated.duplicates;
    const values = evaluate(deduplicated.ranking, judgments);
    for (const [i, column] of columns.entries()) column[row] = values[i] ?? 0;
  }
  return {
    counts: {
      judgedQueries: queries.length,
      answered,
      missing: queries.length - answered,
      ignoredUnjudgedQueries: run.size - answered,
      duplicateDocuments,
      scoreTies,
    },
    columns,
  };
}

const NO_DOCUMENTS: ScoredDocuments = { ids: [], scores: [] };
