/** Scores a TREC run against judgments, and compares two of them, without a database. */

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
import { type MetricSummary, summarize } from '../../stats/summary.ts';
import { compareRuns, type RunComparison } from '../rules/compare-runs.ts';
import type { ComparisonSettings } from '../rules/verdict.ts';
import type { RunDocuments } from './result-table.ts';
import { readQrels, readRun } from './trec-files.ts';

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

export interface OfflineComparisonRequest extends ScoringSettings, ComparisonSettings {
  readonly qrelsPath: string;
  readonly baselinePath: string;
  readonly candidatePath: string;
}

export interface OfflineComparison {
  readonly comparison: RunComparison;
  /** Every judged query, in code-point order of the ids. */
  readonly queryIds: readonly string[];
  readonly baseline: TrecScores;
  readonly candidate: TrecScores;
}

/**
 * Compares two TREC runs query by query over all judged queries: one that a run does not answer scores 0 there.
 *
 * @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and the line
 */
export async function compareTrecFiles(request: OfflineComparisonRequest): Promise<OfflineComparison> {
  const queries = await readJudgedQueries(request.qrelsPath);
  // One after the other: the documents of the first run are let go before the second is read.
  const baseline = await scoreTrecRun(queries, request.baselinePath, request);
  const candidate = await scoreTrecRun(queries, request.candidatePath, request);
  const runs = { keys: request.keys, baseline: baseline.columns, candidate: candidate.columns };
  return {
    comparison: compareRuns(runs, request),
    queryIds: queries.map(([queryId]) => queryId),
    baseline,
    candidate,
  };
}

export interface OfflineEvaluationRequest extends ScoringSettings {
  readonly qrelsPath: string;
  readonly runPath: string;
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
  const queries = await readJudgedQueries(request.qrelsPath);
  const { counts, columns } = await scoreTrecRun(queries, request.runPath, request);
  return {
    counts,
    queryIds: queries.map(([queryId]) => queryId),
    metrics: request.keys.map((key, i) => {
      const values = columns[i] ?? new Float64Array(queries.length);
      return { key, summary: summarize(values, key.measure), values };
    }),
  };
}
