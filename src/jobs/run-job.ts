/** The one wrapper around every job: bound, time, count, log, and tell apart what a retry may mend. */
import { RecalldError } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { RunJob } from '../ports/job-queue.ts';
import type { Meter } from '../ports/metrics.ts';
import type { Logger } from '../ports/telemetry.ts';
import { type JobDefinition, type JobDeps, jobCatalogue } from './catalogue.ts';

export interface RunJobDeps {
  readonly jobDeps: JobDeps;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly meter: Meter;
  /** Aborts when the program stops. */
  readonly shutdown: AbortSignal;
}

/** What a worker does with a job of any name. */
export function createJobRunner(deps: RunJobDeps): RunJob {
  const definitions = new Map(jobCatalogue.map((job) => [job.name, job]));
  return async (name, payload, id) => {
    const job = definitions.get(name);
    if (job === undefined) throw new Error(`there is no job ${name}`);
    return runJob(job, payload, id, deps);
  };
}

async function runJob(
  job: JobDefinition,
  payload: unknown,
  id: string,
  deps: RunJobDeps,
): Promise<'done' | 'retry' | 'dead'> {
  const parsed = job.payload.safeParse(payload);
  if (!parsed.success) {
    deps.logger.error('a job has a payload that its definition refuses', { job: job.name, id });
    deps.meter.increment('recalld_jobs_total', { job: job.name, outcome: 'dead' });
    return 'dead';
  }
  const startedAt = deps.clock.monotonicMs();
  const signal = AbortSignal.any([deps.shutdown, AbortSignal.timeout(job.timeoutMs)]);
  try {
    await job.handle(deps.jobDeps, parsed.data, signal);
    deps.meter.increment('recalld_jobs_total', { job: job.name, outcome: 'completed' });
    return 'done';
  } catch (error) {
    return judgeFailure(job, id, error, deps);
  } finally {
    deps.meter.observe(
      'recalld_job_duration_seconds',
      { job: job.name },
      (deps.clock.monotonicMs() - startedAt) / 1000,
    );
  }
}

function judgeFailure(job: JobDefinition, id: string, error: unknown, deps: RunJobDeps): 'retry' | 'dead' {
  // Stopping the program is no failure of the job: it goes on after the next start.
  if (deps.shutdown.aborted) return 'retry';
  const reason = error instanceof Error ? error.message : String(error);
  const outcome = error instanceof RecalldError && !error.retryable ? 'dead' : 'failed';
  deps.meter.increment('recalld_jobs_total', { job: job.name, outcome });
  deps.logger.error('a job failed', { job: job.name, id, reason, final: outcome === 'dead' });
  return outcome === 'dead' ? 'dead' : 'retry';
}
