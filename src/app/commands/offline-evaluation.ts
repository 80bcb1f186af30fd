import type { MetricKey } from '../../ir/metric-key.ts';
import { type MetricSummary, summarize } from '../../stats/summary.ts';
import {
  type EvaluationCounts,
  readJudgedQueries,
  type ScoringSettings,
  scoreTrecRun,
} from './trec-scoring.ts';

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
