import { compareRuns, type RunComparison } from '../../golden/rules/compare-runs.ts';
import type { ComparisonSettings } from '../../golden/rules/verdict.ts';
import { readJudgedQueries, type ScoringSettings, scoreTrecRun, type TrecScores } from './trec-scoring.ts';

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
