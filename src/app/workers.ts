/** The role `worker`: takes jobs from the queue, with all that their handlers work with. */

import { evaluateChecks } from '../checks/evaluate-checks.ts';
import { createDensityDeps } from '../density/dependencies.ts';
import { followWithShadows } from '../experiments/ask-golden.ts';
import { recoverGoldenRunsJob, runGoldenSetJob } from '../golden/golden-jobs.ts';
import type { GoldenRun } from '../golden/rules/run.ts';
import { newRunId } from '../golden/runs/run-golden-set.ts';
import { diagnoseAlarmsJob } from '../incidents/diagnosis/diagnose-job.ts';
import { sendNotificationsJob } from '../incidents/notifications/notification-jobs.ts';
import { createLivePlans, MAX_SAMPLES } from '../live/live-jobs.ts';
import { MEASURE_CHANGED } from '../measures/rules/measure-change.ts';
import { durationMs } from '../platform/config/times.ts';
import { labelValues } from '../platform/metrics/catalogue.ts';
import type { Meter } from '../platform/metrics/meter.ts';
import { createJobRunner } from '../platform/queue/job-queue.ts';
import type { ClockWatch } from './clock-watch.ts';
import { periodBudget } from './config/alerts.ts';
import type { Config } from './config/schema.ts';
import { replica } from './database.ts';
import { type Dependencies, retentionDaysOf } from './dependencies.ts';
import { type JobDeps, jobCatalogue, startTicks, ticksOfJob } from './jobs.ts';

/** Incidents and deployments of two weeks that are read, at most. */
const MAX_INCIDENTS = 500;

export interface Workers {
  /** Work in hand is put down, not finished: it is stored as far as it went and goes on elsewhere. */
  releaseJobs(): Promise<void>;
}

export async function startWorkers(dependencies: Dependencies, clockWatch: ClockWatch): Promise<Workers> {
  const { config, queue, clock, logger, exporter } = dependencies;
  const { meter } = exporter;
  const jobDeps = createJobDeps(dependencies);
  const shutdown = new AbortController();
  showJobCounters(config, meter);
  await queue.work(createJobRunner({ jobs: jobCatalogue, jobDeps, clock, logger, meter, shutdown: shutdown.signal }));
  // Not by the schedulers: they may all be gone, one of them right after it had made a run.
  const ticks = startTicks({ ...dependencies, meter, clockWatch }, ticksOfJob(queue, recoverGoldenRunsJob));
  return {
    async releaseJobs() {
      shutdown.abort(new Error('the daemon stops'));
      await Promise.all([ticks.stop(), queue.drain()]);
    },
  };
}

export function createJobDeps(dependencies: Dependencies): JobDeps {
  const { baselines, deployments, rotations, ticks, batches, limits } = dependencies;
  const { config, sets, runs, traffic, measurements, queue, clock, logger, pipelines } = dependencies;
  const askedPipelines = pipelines.flatMap((one) => [one, ...one.shadows.map(({ asked }) => asked)]);
  const isWatched = (name: string): boolean => askedPipelines.some((pipeline) => pipeline.name === name);
  const resume = (run: GoldenRun): Promise<void> => {
    // A run that waits in a long queue is enqueued again once a minute at most.
    const minute = Math.floor(clock.now().getTime() / 60_000);
    const payload = { run_id: run.id, round: `resumed-${minute}` };
    return queue.enqueue(runGoldenSetJob.name, payload, `${run.id}-resumed-${minute}`);
  };
  const checks = dependencies;
  const probes = dependencies;
  const density = createDensityDeps({
    ...dependencies,
    tables: dependencies.density,
    compute: dependencies.compute,
    plans: dependencies.densityPlans,
    probes,
  });
  const isEvaluationSent = config.metrics.otlp?.send.includes('evaluations') === true;
  const judging = {
    ...dependencies,
    otlp: isEvaluationSent ? dependencies.otlp : null,
  };
  const measurementRetentionDays = config.storage.measurement_retention_days;
  const { statistics } = dependencies;
  const experiments = {
    ...judging,
    measurementRetentionDays,
    newRunId,
    resume,
  };
  const notifications = {
    ...dependencies,
    consoleUrl: config.alerts.console_base_url,
  };
  const retentionDays = retentionDaysOf(config);
  return {
    sets,
    runs,
    baselines,
    statistics,
    deployments,
    rotations,
    documents: dependencies.documents,
    batches,
    limits,
    queue,
    escalate: { runs, ticks, clock, logger, newRunId, resume },
    rotate: { sets, runs, rotations, deployments, clock, logger },
    traffic,
    clock,
    logger,
    holder: replica,
    retentionDays: async () => new Map([...retentionDays, ...(await dependencies.parts.retentionDays())]),
    forgetEndedParts: (now) => dependencies.parts.forget(now),
    recover: { runs, clock, logger, isWatched, resume },
    measurements,
    measurementRetentionDays,
    consoleSessions: dependencies.sessions,
    auditLog: dependencies.auditLog,
    auditRetentionDays: config.storage.audit_retention_days,
    measureLive: {
      windows: dependencies.windows,
      measurements,
      clock,
      logger,
      plans: createLivePlans(config),
      mostSamples: MAX_SAMPLES,
    },
    measureFeedback: {
      traffic,
      measurements,
      clock,
      plans: createLivePlans(config),
      falseAlarms: periodBudget(config.alerts.false_pages.per_pipeline),
    },
    watchChanges: {
      measurements,
      clock,
      plans: config.pipelines.map(({ name, live, checks: configured }) => ({
        pipeline: name,
        windowMs: durationMs(live.window),
        checked: configured.flatMap((check) => ('measure' in check ? [check.measure] : [])),
      })),
      incidentsOf: async (pipeline, during) => {
        const found = await dependencies.incidents.list({ pipeline, during, limit: MAX_INCIDENTS });
        // A measure that changed for good becomes normal in time.
        const ofMore = found.filter(({ course }) => course.some(({ alert }) => alert !== MEASURE_CHANGED));
        return ofMore.map(({ openedAt, closedAt }) => ({ from: openedAt, until: closedAt ?? during.until }));
      },
      deploymentsOf: async (pipeline, since) =>
        (await deployments.list({ pipeline, since, limit: MAX_INCIDENTS })).map(({ occurredAt }) => occurredAt),
      falseAlarms: periodBudget(config.alerts.false_pages.per_pipeline),
    },
    checkStore: dependencies.checkStore,
    evaluateChecks: (only?: readonly string[]) => evaluateChecks(checks, only),
    pipelines,
    density,
    diagnose: dependencies,
    indexTruth: dependencies,
    indexPlans: dependencies.indexPlans,
    notifications,
    requestNotifications: () =>
      queue.enqueue(sendNotificationsJob.name, {}, `${sendNotificationsJob.name}-after-${clock.now().getTime()}`),
    probes,
    experiments,
    judging,
    judgingPlans: dependencies.judgingPlans,
    followWithShadows: (run, pipeline, signal) => followWithShadows(experiments, run, pipeline, signal),
    snapshots: {
      ...probes,
      compute: density.compute,
    },
    goldenUpkeep: {
      sets,
      runs,
      measurements,
      clock,
      logger,
      samples: probes.samples,
      documents: dependencies.documents,
    },
    lookAt: (pipeline, runId) => queue.enqueue(diagnoseAlarmsJob.name, { pipeline }, `diagnose-${runId}`),
    findPipeline: (name) => askedPipelines.find((pipeline) => pipeline.name === name) ?? null,
  };
}

/**
 * What a worker counts, as 0 from the start: the increase of a counter that appears with its first event is 0, and an
 * alert would miss it.
 */
export function showJobCounters(
  { notify, metrics, pipelines }: Pick<Config, 'notify' | 'metrics' | 'pipelines'>,
  meter: Pick<Meter, 'increment'>,
): void {
  for (const { kind } of notify) {
    for (const outcome of labelValues.recalld_notifications_total.outcome)
      meter.increment('recalld_notifications_total', { kind, outcome }, 0);
  }
  for (const { name: pipeline, judged, shadow } of pipelines) {
    for (const { name } of shadow) {
      for (const outcome of labelValues.recalld_shadow_live_questions_total.outcome)
        meter.increment('recalld_shadow_live_questions_total', { pipeline, shadow: name, outcome }, 0);
    }
    if (judged === undefined) continue;
    for (const reason of labelValues.recalld_judge_failures_total.reason)
      meter.increment('recalld_judge_failures_total', { pipeline, reason }, 0);
    meter.increment('recalld_judge_cost_dollars_total', { pipeline }, 0);
    meter.increment('recalld_judge_flagged_total', { pipeline }, 0);
    meter.increment('recalld_judge_unaffordable_queries_total', { pipeline }, 0);
    if (metrics.otlp?.send.includes('evaluations') !== true) continue;
    for (const outcome of labelValues.recalld_evaluation_requests_total.outcome)
      meter.increment('recalld_evaluation_requests_total', { pipeline, outcome }, 0);
  }
  for (const { name: task } of jobCatalogue) {
    for (const outcome of labelValues.recalld_jobs_total.outcome)
      meter.increment('recalld_jobs_total', { task, outcome }, 0);
  }
}
