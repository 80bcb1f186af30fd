/** The one wrapper around every job: bound, time, count, log, and tell apart what a retry may mend. */
import type { Clock } from '../clock.ts';
import { RecalldError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Meter } from '../metrics/meter.ts';
import { messageOf } from '../text/error-message.ts';
import type { JobDefinition, JobOutcome, RunJob } from './job-queue.ts';

export interface RunJobDeps<Deps> {
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
  deps.logger.error('a job failed', { job: job.name, id, reason, final: outcome === 'dead' });
  return { kind: outcome === 'dead' ? 'dead' : 'retry', reason };
}
