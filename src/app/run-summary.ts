/** A stored run -> its summary. */
import { metricsJson, type RunSummaryJson } from '../contracts/run-summary.ts';
import { worstVerdict } from '../core/checks/floor.ts';
import { ALL_SEGMENT, type Verdict } from '../core/model.ts';
import type { GoldenRun, GoldenRuns } from '../ports/golden-runs.ts';

export async function summarizeRun(runs: GoldenRuns, run: GoldenRun): Promise<RunSummaryJson> {
  const [scores, checks, outcomes] = await Promise.all([
    runs.scores(run.id),
    runs.checks(run.id),
    runs.outcomes(run.id),
  ]);
  const segments = [...new Set(scores.map((score) => score.segment))].filter(
    (segment) => segment !== ALL_SEGMENT,
  );
  return {
    run_id: run.id,
    pipeline: run.pipeline,
    golden_set: run.goldenSet,
    golden_set_version: run.goldenSetVersion,
    status: run.status,
    reason: run.reason,
    started_at: run.startedAt.toISOString(),
    finished_at: run.finishedAt?.toISOString() ?? null,
    queries: { total: run.queriesTotal, ...outcomes, stale: null },
    metrics: metricsJson(scores),
    segments: Object.fromEntries(segments.map((segment) => [segment, metricsJson(scores, segment)])),
    baseline: null,
    checks,
    verdict: verdictOf(
      run,
      checks.map((check) => check.verdict),
    ),
  };
}

/** A run without trusted scores has no verdict to give, whatever its checks. */
function verdictOf(run: GoldenRun, verdicts: readonly Verdict[]): Verdict {
  return run.status === 'completed' ? worstVerdict(verdicts) : 'no_data';
}
