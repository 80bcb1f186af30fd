/** Scores a TREC run against judgments, without a database. */
import type { MetricKey } from '../../ir/metric-key.ts';
import { type MetricSummary, summarize } from '../../stats/descriptive.ts';
import { type EvaluationCounts, type ScoringSettings, scoreTrecRuns, type TrecScores } from './score-runs.ts';

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
  const { queryIds, scores } = await scoreTrecRuns(request.qrelsPath, [request.runPath], request);
  const [{ counts, columns }] = scores as [TrecScores];
  return {
    counts,
    queryIds,
    metrics: request.keys.map((key, i) => {
      const values = columns[i] ?? new Float64Array(queryIds.length);
      return { key, summary: summarize(values, key.measure), values };
    }),
  };
}
