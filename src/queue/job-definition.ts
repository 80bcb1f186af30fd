/** What a job is. */
import { z } from 'zod';
import type { JobSpec } from './job-queue.ts';

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
