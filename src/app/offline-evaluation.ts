import { readQrels, readRun } from '../adapters/files/trec-files.ts';
import type { RunDocuments } from '../adapters/files/trec-results.ts';
import { createEvaluator, type GradeByDocument } from '../core/ir/evaluate.ts';
import type { MetricKey } from '../core/ir/metric-key.ts';
import {
  applyDuplicatePolicy,
  compareCodePoints,
  countScoreTies,
  type DuplicatePolicy,
  orderLikeTrecEval,
  type ScoredDocuments,
} from '../core/ir/ranking.ts';
import { type MetricSummary, summarize } from '../core/stats/summary.ts';

export interface OfflineEvaluationRequest {
  readonly qrelsPath: string;
  readonly runPath: string;
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

export interface MetricScores {
  readonly key: MetricKey;
  readonly summary: MetricSummary;
  /** One value per query of `queryIds`. */
  readonly values: Float64Array;
}

export interface OfflineEvaluation {
  readonly counts: EvaluationCounts;
  /** Every judged query, in code-point order of the ids whatever the order of the files. */
  readonly queryIds: readonly string[];
  /** Aligned with the requested keys. */
  readonly metrics: readonly MetricScores[];
}

/**
 * Scores a TREC run against judgments as `trec_eval -c` does: documents are ordered by score and id, the means are
 * over all judged queries, and a judged query without results scores 0.
 *
 * @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and the line
 */
export async function evaluateTrecFiles(request: OfflineEvaluationRequest): Promise<OfflineEvaluation> {
  const qrels = await readQrels(request.qrelsPath);
  const run = await readRun(request.runPath);
  return evaluateRun(qrels, run, request);
}

function evaluateRun(
  qrels: ReadonlyMap<string, GradeByDocument>,
  run: RunDocuments,
  { runPath, keys, relevanceLevel, duplicates }: OfflineEvaluationRequest,
): OfflineEvaluation {
  const evaluate = createEvaluator(keys, relevanceLevel);
  const queries = [...qrels].toSorted(([a], [b]) => compareCodePoints(a, b));
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
    queryIds: queries.map(([queryId]) => queryId),
    metrics: keys.map((key, i) => {
      const values = columns[i] ?? new Float64Array(queries.length);
      return { key, summary: summarize(values, key.measure), values };
    }),
  };
}

const NO_DOCUMENTS: ScoredDocuments = { ids: [], scores: [] };
