/** A stored run -> its summary. */

import { worstVerdict } from '../../checks/rules/check-result.ts';
import type { ComparisonKind } from '../../golden/rules/compare-golden-runs.ts';
import type { GoldenRun, SegmentScore } from '../../golden/rules/run.ts';
import { queriesOfRun } from '../../golden/runs/queries-of-run.ts';
import { baselineJson, metricsJson, type RunSummaryJson } from '../../golden/schema/run-summary-document.ts';
import type { GoldenRuns } from '../../golden/sql/golden-runs.ts';
import { ALL_SEGMENT, type Verdict } from '../../model.ts';
import type { CommandStore } from './command-store.ts';

export async function summarizeRun(runs: GoldenRuns, run: GoldenRun): Promise<RunSummaryJson> {
  const [scores, checks, outcomes, comparisons] = await Promise.all([
    runs.scores(run.id),
    runs.checks(run.id),
    runs.outcomes(run.id),
    runs.comparisons(run.id),
  ]);
  const against = (kind: ComparisonKind) => {
    const found = comparisons.find((comparison) => comparison.kind === kind);
    return found === undefined ? null : baselineJson(found.against, found.differences);
  };
  return {
    run_id: run.id,
    pipeline: run.pipeline,
    golden_set: run.goldenSet,
    golden_set_version: run.goldenSetVersion,
    purpose: run.purpose,
    status: run.status,
    reason: run.reason,
    cause: run.cause,
    provisional: run.status === 'running',
    started_at: run.startedAt.toISOString(),
    finished_at: run.finishedAt?.toISOString() ?? null,
    queries: { total: run.queriesTotal, ...outcomes, stale: run.labels.deadQueries },
    metrics: metricsJson(scores),
    segments: segmentsJson(scores),
    labels: { probed: run.labels.probed, stale: run.labels.stale, reason: run.labels.gap },
    baseline: against('baseline'),
    deployment: against('deployment'),
    checks,
    verdict: verdictOf(
      run,
      checks.map((check) => check.verdict),
    ),
  };
}

/** As `summarizeRun`; a running run has the scores of the queries that are answered so far, and no verdict. */
export async function summarizeRunSoFar(
  { sets, runs, statistics }: Pick<CommandStore, 'sets' | 'runs' | 'statistics'>,
  run: GoldenRun,
  signal: AbortSignal,
): Promise<RunSummaryJson> {
  const summary = await summarizeRun(runs, run);
  if (run.status !== 'running') return summary;
  const [queries, answers] = await Promise.all([queriesOfRun(sets, run), runs.answers(run.id)]);
  const answered = new Set(answers.map(({ queryId }) => queryId));
  const known = queries.filter(({ id }) => answered.has(id));
  if (known.length === 0) return summary;
  const { scores } = await statistics.scoreRun(known, answers, run.settings, new Set(), signal);
  return { ...summary, metrics: metricsJson(scores), segments: segmentsJson(scores) };
}

function segmentsJson(scores: readonly SegmentScore[]): RunSummaryJson['segments'] {
  const segments = [...new Set(scores.map(({ segment }) => segment))].filter((name) => name !== ALL_SEGMENT);
  return Object.fromEntries(segments.map((segment) => [segment, metricsJson(scores, segment)]));
}

/** A run without trusted scores has no verdict to give, whatever its checks. */
function verdictOf(run: GoldenRun, verdicts: readonly Verdict[]): Verdict {
  return run.status === 'completed' ? worstVerdict(verdicts) : 'no_data';
}
