/**
 * Jobs, the interface of the job queue, and the job runner. The runner limits, times, counts and logs all jobs, and
 * decides whether a retry may help.
 */
import { z } from 'zod';
import { messageOf, RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Clock } from '../../core/time.ts';
import type { Meter } from '../metrics/meter.ts';
import { PipelinesFailedError } from './for-each-pipeline.ts';

/** @typeParam Deps the context passed to the handler */
export interface JobDefinition<Deps> extends JobSpec {
  /** One-sentence description. */
  readonly does: string;
  readonly payload: z.ZodType;
  readonly timeoutMs: number;
  /** UTC cron expression of a scheduled job. */
  readonly cron: string | null;
  /** @param payload as parsed by the schema */
  handle(deps: Deps, payload: unknown, signal: AbortSignal): Promise<void>;
}

/** Defines a job whose handler receives a payload of the type that the job's schema defines. */
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
 * Defines a scheduled job without a payload. A process runs at most one instance of the job at a time. A failed job is
 * not retried, because the next tick does the same work.
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
 * A durable job queue for any number of processes. Delivery is at least once: a job whose worker dies is assigned to
 * another worker, so handlers must be idempotent. An id that is still in the queue (waiting, running, or retained after
 * its end) is not enqueued again. Payloads contain ids, never query text.
 */
export interface JobQueue {
  /**
   * Resolves when the job is durable. Rejects with RecalldError queue_unreachable, within seconds, if the store does
   * not respond.
   */
  enqueue(job: string, payload: Readonly<Record<string, unknown>>, id: string): Promise<void>;
  /** Starts running queued jobs in this process. */
  work(run: RunJob): Promise<void>;
  /** Returns the number of jobs per queue and state. Rejects with RecalldError queue_unreachable, as `failures` does. */
  counts(): Promise<readonly QueueCount[]>;
  /** Returns the latest retained jobs that failed permanently, up to `limit` per queue. */
  failures(limit: number): Promise<readonly FailedJob[]>;
  /**
   * Returns the problems that make the store unsafe for jobs, as sentences, for example, that the store may evict jobs
   * or is full. Logs each new problem, and logs once when no problem remains. Rejects with RecalldError
   * queue_unreachable.
   */
  problems(): Promise<readonly string[]>;
  /** Names of the jobs that are currently running in this process. */
  running(): readonly string[];
  /** Accepts no new jobs. Resolves when the running jobs have ended. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

export type RunJob = (job: string, payload: unknown, id: string) => Promise<JobOutcome>;

/** `deferred`: this process is stopping, so another process runs the job immediately, and no attempt is counted. */
type JobOutcome = 'done' | 'deferred' | FailedAttempt;

interface FailedAttempt {
  /** `dead`: a retry would not help. */
  readonly kind: 'retry' | 'dead';
  /** Reason for the failure; never quotes queries, because it is stored with the job. */
  readonly reason: string;
}

/** A job that failed and will not be retried. */
export interface FailedJob {
  readonly queue: string;
  readonly id: string;
  readonly reason: string;
}

export interface JobSpec {
  readonly name: string;
  /** Maximum number of jobs of this name that one process runs concurrently. */
  readonly concurrency: number;
  /** Maximum number of attempts, including the first. The wait before the next attempt doubles after each attempt. */
  readonly attempts: number;
  readonly backoffMs: number;
  /** How long the id of an ended job blocks a new job with the same id. */
  readonly retainSeconds: number;
}

export interface QueueCount {
  readonly queue: string;
  readonly state: 'waiting' | 'active' | 'delayed' | 'failed';
  readonly count: number;
}

interface JobRunner<Deps> {
  readonly jobs: readonly JobDefinition<Deps>[];
  readonly jobDeps: Deps;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly meter: Meter;
  /** Aborts when the process stops. */
  readonly shutdown: AbortSignal;
}

/** Returns the function that finds a job by its name and runs it. */
export function createJobRunner<Deps>({ jobs, jobDeps, clock, logger, meter, shutdown }: JobRunner<Deps>): RunJob {
  const definitions = new Map(jobs.map((job) => [job.name, job]));

  const outcomeOfFailure = (task: string, id: string, error: unknown): JobOutcome => {
    // Stopping the process is not a job failure: the job continues in another process, or after the next start.
    if (shutdown.aborted) return 'deferred';
    const reason = messageOf(error);
    const outcome = error instanceof RecalldError && !error.retryable ? 'dead' : 'failed';
    meter.increment('recalld_jobs_total', { task, outcome });
    const pipelines = error instanceof PipelinesFailedError ? { pipelines: error.pipelines } : {};
    logger.error('a job failed', { job: task, id, reason, ...pipelines, final: outcome === 'dead' });
    return { kind: outcome === 'dead' ? 'dead' : 'retry', reason };
  };

  return async (task, payload, id) => {
    const job = definitions.get(task);
    if (job === undefined) throw new Error(`there is no job ${task}`);
    const parsed = job.payload.safeParse(payload);
    if (!parsed.success) {
      // The reason names the field and describes its problem; the value is not logged.
      const reason = parsed.error.issues
        .map(({ path, message }) => `${path.join('.') || 'payload'}: ${message}`)
        .join('; ');
      logger.error('a job has an invalid payload', { job: task, id, reason });
      meter.increment('recalld_jobs_total', { task, outcome: 'dead' });
      return { kind: 'dead', reason };
    }
    const startedAt = clock.monotonicMs();
    const signal = AbortSignal.any([shutdown, AbortSignal.timeout(job.timeoutMs)]);
    try {
      await job.handle(jobDeps, parsed.data, signal);
      meter.increment('recalld_jobs_total', { task, outcome: 'completed' });
      return 'done';
    } catch (error) {
      return outcomeOfFailure(task, id, error);
    } finally {
      meter.observe('recalld_job_duration_seconds', { task }, (clock.monotonicMs() - startedAt) / 1000);
    }
  };
}
