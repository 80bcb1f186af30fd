/** How a pipeline stands, as it is told over HTTP. Values that are too old to trust are withheld. */
import type { z } from 'zod';
import { checkStateJson } from '../checks/wire.ts';
import { deploymentJson } from '../deployments/schema.ts';
import { baselineJson } from '../golden/golden-routes.ts';
import { metricsJson } from '../golden/runs/run-summary.ts';
import type { GoldenSetStatus, MeasurementStatus } from './pipeline-status.ts';
import type { pipelineStatusSchema } from './pipeline-status-schema.ts';
import type { DetailedStatus, GoldenSetRuns } from './read-status.ts';

type StatusJson = z.infer<typeof pipelineStatusSchema>;

export function statusJson(status: DetailedStatus): StatusJson {
  const { at, pipeline, state, reasons } = status;
  return {
    pipeline,
    at: at.toISOString(),
    state,
    reasons: [...reasons],
    checks: status.checks.map((check) => checkStateJson(check, at)),
    golden_sets: status.golden.map((set) =>
      goldenSetJson(set, status.runs.find(({ goldenSet }) => goldenSet === set.goldenSet) ?? null),
    ),
    measurements: status.measurements.map(measurementJson),
    deployments: status.deployments.map(deploymentJson),
  };
}

function goldenSetJson(
  { goldenSet, cron, completed }: GoldenSetStatus,
  runs: GoldenSetRuns | null,
): StatusJson['golden_sets'][number] {
  const latest = runs?.latest ?? null;
  const baseline = runs?.baseline ?? null;
  return {
    golden_set: goldenSet,
    cron,
    latest_run:
      latest === null
        ? null
        : {
            run_id: latest.id,
            status: latest.status,
            reason: latest.reason,
            started_at: latest.startedAt.toISOString(),
          },
    latest_completed:
      completed === null
        ? null
        : {
            run_id: runs?.latestCompleted?.id ?? null,
            finished_at: completed.finishedAt.toISOString(),
            age_seconds: completed.ageSeconds,
            too_old: completed.isTooOld,
            metrics: completed.isTooOld ? null : metricsJson(completed.scores),
          },
    baseline: baseline === null ? null : baselineJson(baseline),
  };
}

function measurementJson(status: MeasurementStatus): StatusJson['measurements'][number] {
  const { measure, segment, newest, gap, isTooOld } = status;
  const last = gap ?? newest;
  const shown = gap === null && !isTooOld ? newest : null;
  return {
    measure,
    segment,
    value: shown?.value ?? null,
    ci_low: shown?.ciLow ?? null,
    ci_high: shown?.ciHigh ?? null,
    ci_method: shown?.ciMethod ?? null,
    n: shown?.n ?? null,
    measured_at: last?.measuredAt.toISOString() ?? null,
    age_seconds: last?.ageSeconds ?? 0,
    too_old: isTooOld,
    gap: gap?.reason ?? null,
  };
}
