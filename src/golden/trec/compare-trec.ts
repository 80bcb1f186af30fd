/** Compares TREC runs by the judgments of the same queries, without a database. */
import { compareMany, compareRuns, type ManyComparison, type RunComparison } from '../rules/compare-runs.ts';
import type { ComparisonSettings } from '../rules/verdict.ts';
import { type ScoringSettings, scoreTrecRuns, type TrecScores } from './score-runs.ts';

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
  const paths = [request.baselinePath, request.candidatePath];
  const { queryIds, scores } = await scoreTrecRuns(request.qrelsPath, paths, request);
  const [baseline, candidate] = scores as [TrecScores, TrecScores];
  const runs = { keys: request.keys, baseline: baseline.columns, candidate: candidate.columns };
  return {
    comparison: compareRuns(runs, request),
    queryIds,
    baseline,
    candidate,
  };
}

export interface ManyComparisonRequest extends ScoringSettings, ComparisonSettings {
  readonly qrelsPath: string;
  readonly runPaths: readonly string[];
}

/**
 * As `compareTrecFiles`, of more than two runs.
 *
 * @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and the line
 */
export async function compareManyTrecFiles(
  request: ManyComparisonRequest,
): Promise<{ readonly comparison: ManyComparison; readonly scores: readonly TrecScores[] }> {
  const { scores } = await scoreTrecRuns(request.qrelsPath, request.runPaths, request);
  const columns = scores.map((one) => one.columns);
  return { comparison: compareMany(request.keys, columns, request), scores };
}
