/** Every job that recalld knows: the only place that says how often it is tried, how long it may take, what it does. */
import { z } from 'zod';
import { type RecoverGoldenRunsDeps, recoverGoldenRuns } from '../pipeline/recover-golden-runs.ts';
import { type RunGoldenSetDeps, runGoldenSet } from '../pipeline/run-golden-set.ts';
import type { WatchedPipeline } from '../pipeline/watched-pipeline.ts';
import type { JobSpec } from '../ports/job-queue.ts';

/** What the handlers need of the program; the composition root provides it. */
export interface JobDeps extends RunGoldenSetDeps {
  readonly recover: RecoverGoldenRunsDeps;
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

export const jobCatalogue: readonly JobDefinition[] = [runGoldenSetJob, recoverGoldenRunsJob];
