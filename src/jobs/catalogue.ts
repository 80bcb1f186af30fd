/** Every job that recalld knows: the only place that says how often it is tried, how long it may take, what it does. */
import { z } from 'zod';
import { type RecoverGoldenRunsDeps, recoverGoldenRuns } from '../pipeline/recover-golden-runs.ts';
import { type RunGoldenSetDeps, runGoldenSet } from '../pipeline/run-golden-set.ts';
import type { WatchedPipeline } from '../pipeline/watched-pipeline.ts';
import type { JobSpec } from '../ports/job-queue.ts';
import type { LiveTraffic } from '../ports/live-traffic.ts';

/** What the handlers need of the program; the composition root provides it. */
export interface JobDeps extends RunGoldenSetDeps {
  readonly recover: RecoverGoldenRunsDeps;
  readonly traffic: LiveTraffic;
  /** Days that the live queries of each pipeline are kept. */
  readonly retentionDays: ReadonlyMap<string, number>;
  findPipeline(name: string): WatchedPipeline | null;
}

export interface JobDefinition extends JobSpec {
  /** One sentence for people. */
  readonly does: string;
  readonly payload: z.ZodType;
  readonly timeoutMs: number;
  /** Cron expression, in UTC, of jobs that start by themselves. */
  readonly cron: string | null;
  handle(deps: JobDeps, payload: unknown, signal: AbortSignal): Promise<void>;
}

/** Ties the type of the payload to its schema. */
function defineJob<Schema extends z.ZodType>(
  job: Omit<JobDefinition, 'payload' | 'handle'> & {
    readonly payload: Schema;
    handle(deps: JobDeps, payload: z.infer<Schema>, signal: AbortSignal): Promise<void>;
  },
): JobDefinition {
  return { ...job, handle: (deps, payload, signal) => job.handle(deps, job.payload.parse(payload), signal) };
}

const DAY_SECONDS = 86_400;

export const runGoldenSetJob = defineJob({
  name: 'run-golden-set',
  does: 'Asks the retriever every query of a golden run that has no answer yet, scores the run and ends it.',
  payload: z.strictObject({ run_id: z.string().min(1) }),
  concurrency: 2,
  attempts: 3,
  backoffMs: 1000,
  timeoutMs: DAY_SECONDS * 1000,
  retainSeconds: DAY_SECONDS,
  cron: null,
  async handle(deps, { run_id: runId }, signal) {
    const run = await deps.runs.find(runId);
    const pipeline = run === null ? null : deps.findPipeline(run.pipeline);
    // A run of a pipeline that another deployment watches is that deployment's to end.
    if (run === null || pipeline === null || run.status !== 'running') return;
    const untilDeadline = AbortSignal.timeout(
      Math.max(0, run.deadlineAt.getTime() - deps.clock.now().getTime()),
    );
    await runGoldenSet(deps, run, pipeline, AbortSignal.any([signal, untilDeadline]));
  },
});

export const recoverGoldenRunsJob = defineJob({
  name: 'recover-golden-runs',
  does: 'Resumes golden runs whose worker died and fails those past their deadline.',
  payload: z.strictObject({}),
  concurrency: 1,
  attempts: 1,
  backoffMs: 1000,
  timeoutMs: 60_000,
  retainSeconds: 600,
  cron: '*/10 * * * * *',
  handle: (deps) => recoverGoldenRuns(deps.recover),
});

const closeSamplingMinutesJob = defineJob({
  name: 'close-sampling-minutes',
  does: 'Gives the live queries of past minutes one sampling rate for the whole minute.',
  payload: z.strictObject({}),
  concurrency: 1,
  attempts: 1,
  backoffMs: 1000,
  timeoutMs: 60_000,
  retainSeconds: 600,
  cron: '20 * * * * *',
  async handle(deps) {
    // A minute is left alone for another one, in which requests that were under way come to their end.
    await deps.traffic.closeMinutes(new Date(deps.clock.now().getTime() - 120_000));
  },
});

const keepPartitionsJob = defineJob({
  name: 'keep-partitions',
  does: 'Makes the daily partitions of live queries and feedback ahead of time and drops those past their retention.',
  payload: z.strictObject({}),
  concurrency: 1,
  attempts: 5,
  backoffMs: 5000,
  timeoutMs: 600_000,
  retainSeconds: DAY_SECONDS,
  cron: '17 * * * *',
  async handle(deps) {
    const now = deps.clock.now();
    await deps.traffic.createPartitions(now);
    await deps.traffic.prune(deps.retentionDays, now);
  },
});

export const jobCatalogue: readonly JobDefinition[] = [
  runGoldenSetJob,
  recoverGoldenRunsJob,
  closeSamplingMinutesJob,
  keepPartitionsJob,
];
