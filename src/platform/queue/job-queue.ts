/**
 * What a job is, the queue that carries it, whatever it is kept in, and the one wrapper around every job: bound, time,
 * count, log, and tell apart what a retry may mend.
 */
import { z } from 'zod';
import { messageOf, RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Clock } from '../../core/time.ts';
import type { Meter } from '../metrics/meter.ts';
import { PipelinesFailedError } from './for-each-pipeline.ts';

/** @typeParam Deps what its handler works with; the composition root provides it */
export interface JobDefinition<Deps> extends JobSpec {
  /** One sentence for people. */
  readonly does: string;
  readonly payload: z.ZodType;
  readonly timeoutMs: number;
  /** Cron expression, in UTC, of jobs that start by themselves. */
  readonly cron: string | null;
  /** @param payload as the schema has parsed it */
  handle(deps: Deps, payload: unknown, signal: AbortSignal): Promise<void>;
}

/** Gives the handler the type of the payload that its schema parses. */
export function defineJob<Schema extends z.ZodType, Deps>(
  job: Omit<JobDefinition<Deps>, 'payload' | 'handle'> & {
    readonly payload: Schema;
    handle(deps: Deps, payload: z.infer<Schema>, signal: AbortSignal): Promise<void>;
  },
): JobDefinition<Deps> {
  return {
    ...job,
    handle: (deps, payload, signal) => job.handle(deps, payload as z.infer<Schema>, signal),
  };
}

const CRON_JOB_RETAIN_SECONDS = 600;

/**
 * A job that starts by itself and needs no payload. A process runs one at a time, and a failed one is not tried again:
 * the next tick does the same work.
 */
export function defineCronJob<Deps>(
  job: Pick<JobDefinition<Deps>, 'name' | 'does' | 'timeoutMs'> & {
    readonly cron: string;
    readonly retainSeconds?: number;
    handle(deps: Deps, signal: AbortSignal): Promise<void>;
  },
): JobDefinition<Deps> {
  return defineJob({
    ...job,
    payload: z.strictObject({}),
    concurrency: 1,
    attempts: 1,
    backoffMs: 1000,
    retainSeconds: job.retainSeconds ?? CRON_JOB_RETAIN_SECONDS,
    handle: (deps, _payload, signal) => job.handle(deps, signal),
  });
}

/**
 * A durable queue of jobs over any number of processes.
 *
 * Delivery is at least once: a job whose worker dies is given to another, so handlers must be idempotent. An id
 * that the queue still holds (waiting, running or retained after its end) is not enqueued again. Payloads carry ids,
 * never query text.
 */
export interface JobQueue {
  /** Resolves when the job is durable. Rejects with RecalldError queue_unreachable, in seconds at most. */
  enqueue(job: string, payload: Readonly<Record<string, unknown>>, id: string): Promise<void>;
  /** Starts to work on every job of the queue in this process. */
  work(run: RunJob): Promise<void>;
  /** Jobs per queue and state. Rejects with RecalldError queue_unreachable, as `failures` does. */
  counts(): Promise<readonly QueueCount[]>;
  /** The latest of the jobs that failed for good and are still kept, of each queue `most` at most. */
  failures(most: number): Promise<readonly FailedJob[]>;
  /**
   * What keeps the store from being a safe one for jobs, as sentences: it may throw them away, or is full. The log says
   * when that begins and ends. Rejects with RecalldError queue_unreachable.
   */
  doubts(): Promise<readonly string[]>;
  /** Names of the jobs that run in this process. */
  inHand(): readonly string[];
  /** Takes no new jobs and resolves when the running ones have ended. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

export type RunJob = (job: string, payload: unknown, id: string) => Promise<JobOutcome>;

/** `put_down`: this process stops, so another takes the job at once, and no attempt is used up. */
type JobOutcome = 'done' | 'put_down' | FailedAttempt;

interface FailedAttempt {
  /** `dead`: another attempt would be no better. */
  readonly kind: 'retry' | 'dead';
  /** Is kept with the job, so it never quotes what users asked. */
  readonly reason: string;
}

/** A job that is not tried again. */
export interface FailedJob {
  readonly queue: string;
  readonly id: string;
  readonly reason: string;
}

export interface JobSpec {
  readonly name: string;
  /** Most jobs at a time in one process. */
  readonly concurrency: number;
  /** In all, the first one included; each wait is twice the one before. */
  readonly attempts: number;
  readonly backoffMs: number;
  /** The id of an ended job keeps a second one of the same id away for so long. */
  readonly retainSeconds: number;
}

export interface QueueCount {
  readonly queue: string;
  readonly state: 'waiting' | 'active' | 'delayed' | 'failed';
  readonly count: number;
}

interface RunJobDeps<Deps> {
  readonly jobs: readonly JobDefinition<Deps>[];
  readonly jobDeps: Deps;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly meter: Meter;
  /** Aborts when the program stops. */
  readonly shutdown: AbortSignal;
}

/** What a worker does with a job of any name. */
export function createJobRunner<Deps>(deps: RunJobDeps<Deps>): RunJob {
  const definitions = new Map(deps.jobs.map((job) => [job.name, job]));
  return async (name, payload, id) => {
    const job = definitions.get(name);
    if (job === undefined) throw new Error(`there is no job ${name}`);
    return runJob(job, payload, id, deps);
  };
}

async function runJob<Deps>(
  job: JobDefinition<Deps>,
  payload: unknown,
  id: string,
  deps: RunJobDeps<Deps>,
): Promise<JobOutcome> {
  const parsed = job.payload.safeParse(payload);
  if (!parsed.success) {
    // What is wrong with which field; the value itself stays out of the log.
    const reason = parsed.error.issues
      .map(({ path, message }) => `${path.join('.') || 'payload'}: ${message}`)
      .join('; ');
    deps.logger.error('a job has a payload that its definition refuses', { job: job.name, id, reason });
    deps.meter.increment('recalld_jobs_total', { task: job.name, outcome: 'dead' });
    return { kind: 'dead', reason };
  }
  const startedAt = deps.clock.monotonicMs();
  const signal = AbortSignal.any([deps.shutdown, AbortSignal.timeout(job.timeoutMs)]);
  try {
    await job.handle(deps.jobDeps, parsed.data, signal);
    deps.meter.increment('recalld_jobs_total', { task: job.name, outcome: 'completed' });
    return 'done';
  } catch (error) {
    return judgeFailure(job, id, error, deps);
  } finally {
    deps.meter.observe(
      'recalld_job_duration_seconds',
      { task: job.name },
      (deps.clock.monotonicMs() - startedAt) / 1000,
    );
  }
}

function judgeFailure(
  job: Pick<JobDefinition<never>, 'name'>,
  id: string,
  error: unknown,
  deps: Omit<RunJobDeps<never>, 'jobs' | 'jobDeps'>,
): JobOutcome {
  // Stopping the program is no failure of the job: it goes on elsewhere, or after the next start.
  if (deps.shutdown.aborted) return 'put_down';
  const reason = messageOf(error);
  const outcome = error instanceof RecalldError && !error.retryable ? 'dead' : 'failed';
  deps.meter.increment('recalld_jobs_total', { task: job.name, outcome });
  const pipelines = error instanceof PipelinesFailedError ? { pipelines: error.pipelines } : {};
  deps.logger.error('a job failed', { job: job.name, id, reason, ...pipelines, final: outcome === 'dead' });
  return { kind: outcome === 'dead' ? 'dead' : 'retry', reason };
}
