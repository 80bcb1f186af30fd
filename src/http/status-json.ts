/** How a pipeline stands, as it is told over HTTP. Values that are too old to trust are withheld. */
import type { z } from 'zod';
import { deploymentJson } from '../contracts/http/deployment.ts';
import type {
  CheckStateJson,
  pipelineStatusSchema,
  TransitionJson,
} from '../contracts/http/pipeline-status.ts';
import { metricsJson } from '../contracts/run-summary.ts';
import type { CheckState } from '../pipeline/checks/check-states.ts';
import { ageSeconds } from '../pipeline/checks/trust.ts';
import type { GoldenSetStatus, MeasurementStatus } from '../pipeline/publish/pipeline-status.ts';
import type { DetailedStatus, GoldenSetRuns } from '../pipeline/publish/read-status.ts';
import type { CheckTransition } from '../ports/check-history.ts';
import { baselineJson } from './baselines.ts';

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

export function checkStateJson(check: CheckState, now: Date): CheckStateJson {
  const { pipeline, goldenSet, name, severity, threshold, verdict, judged, evaluatedAt, isTooOld, isQuiet } =
    check;
  return {
    pipeline,
    golden_set: goldenSet,
    name,
    severity,
    threshold,
    verdict,
    value: isTooOld ? null : (judged?.value ?? null),
    explanation: judged?.explanation ?? null,
    evaluated_at: evaluatedAt?.toISOString() ?? null,
    age_seconds: evaluatedAt === null ? null : ageSeconds(evaluatedAt, now),
    too_old: isTooOld,
    quiet: isQuiet,
  };
}

export function transitionJson(transition: CheckTransition): TransitionJson {
  const { occurredAt, endedAt, ...rest } = transition;
  return { ...rest, occurred_at: occurredAt.toISOString(), ended_at: endedAt?.toISOString() ?? null };
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
