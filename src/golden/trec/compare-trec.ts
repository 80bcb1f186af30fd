import { compareMany, compareRuns, type ManyComparison } from '../rules/compare-runs.ts';
import type { ComparisonSettings } from '../rules/verdict.ts';
import { type ScoringSettings, scoreTrecRuns, type TrecScores } from './score-runs.ts';

export interface OfflineComparisonRequest extends ScoringSettings, ComparisonSettings {
  readonly qrelsPath: string;
  readonly baselinePath: string;
  readonly candidatePath: string;
}

export type OfflineComparison = Awaited<ReturnType<typeof compareTrecFiles>>;

/**
 * Compares two TREC runs over all judged queries. A query without results in a run scores 0.
 *
 * @throws RecalldError `file_unreadable` or `file_malformed`, with the file and the line
 */
export async function compareTrecFiles(request: OfflineComparisonRequest) {
  const paths = [request.baselinePath, request.candidatePath];
  const { queryIds, scores } = await scoreTrecRuns(request.qrelsPath, paths, request);
  const [baseline, candidate] = scores as [TrecScores, TrecScores];
  const runs = { keys: request.keys, baseline: baseline.columns, candidate: candidate.columns };
  return {
    comparison: compareRuns(runs, request),
    /** Ids of all judged queries, in code-point order. */
    queryIds,
    baseline,
    candidate,
  };
}

/** Like `compareTrecFiles`, for more than two runs. */
export async function compareManyTrecFiles(
  request: ScoringSettings & ComparisonSettings & { readonly qrelsPath: string; readonly runPaths: readonly string[] },
): Promise<{ readonly comparison: ManyComparison; readonly scores: readonly TrecScores[] }> {
  const { scores } = await scoreTrecRuns(request.qrelsPath, request.runPaths, request);
  const columns = scores.map((one) => one.columns);
  return { comparison: compareMany(request.keys, columns, request), scores };
}
