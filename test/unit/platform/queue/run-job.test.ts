import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { RecalldError } from '../../../../src/core/errors.ts';
import { createJobRunner, defineJob } from '../../../../src/platform/queue/job-queue.ts';
import { MemoryLogger, MemoryMeter } from '../../../support/memory-telemetry.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

type Work = (runId: string, signal: AbortSignal) => Promise<void>;

const job = defineJob({
  name: 'work-on-run',
  does: 'Works on a run.',
  payload: z.strictObject({ run_id: z.string().min(1) }),
  concurrency: 1,
  attempts: 3,
  backoffMs: 1000,
  timeoutMs: 60_000,
  retainSeconds: 60,
  cron: null,
  handle: (work: Work, { run_id: runId }, signal) => work(runId, signal),
});

/** A runner of one job, whose handler calls `work`; `worked` lists the run ids that the handler received. */
function aRunner(work: Work = async () => undefined) {
  const clock = new SteerableClock();
  const logger = new MemoryLogger();
  const meter = new MemoryMeter();
  const stop = new AbortController();
  const worked: string[] = [];
  const jobDeps: Work = (runId, signal) => {
    worked.push(runId);
    return work(runId, signal);
  };
  const run = createJobRunner({ jobs: [job], jobDeps, clock, logger, meter, shutdown: stop.signal });
  return { clock, logger, meter, stop, worked, run };
}

describe('a job', () => {
  it('is counted and timed when its work ends', async () => {
    const { clock, meter, logger, worked, run } = aRunner((_, signal) => clock.sleep(102, signal));
    expect(await clock.until(run(job.name, { run_id: 'run-1' }, 'id'))).toBe('done');
    expect(worked).toEqual(['run-1']);
    expect(meter.increments).toEqual([
      { name: 'recalld_jobs_total', labels: { task: job.name, outcome: 'completed' }, value: 1 },
    ]);
    expect(meter.observations).toEqual([
      { name: 'recalld_job_duration_seconds', labels: { task: job.name }, value: 0.102 },
    ]);
    expect(logger.lines).toEqual([]);
  });

  it.each([
    ['no payload', undefined, 'payload'],
    ['a payload without its id', {}, 'run_id'],
    ['an empty id', { run_id: '' }, 'run_id'],
    ['a key that the job does not know', { run_id: 'run-1', text: 'What is my PIN?' }, 'payload'],
    ['another type', 'run-1', 'payload'],
  ])('with %s fails without a retry, and the log names the field but not its value', async (_, payload, field) => {
    const { meter, logger, worked, run } = aRunner();
    expect(await run(job.name, payload, 'id')).toEqual({
      kind: 'dead',
      reason: expect.stringMatching(new RegExp(`^${field}: `)),
    });
    expect(meter.increments).toEqual([
      { name: 'recalld_jobs_total', labels: { task: job.name, outcome: 'dead' }, value: 1 },
    ]);
    expect(worked).toEqual([]);
    expect(logger.lines).toEqual([
      {
        level: 'error',
        message: 'a job has an invalid payload',
        fields: { job: job.name, id: 'id', reason: expect.stringMatching(new RegExp(`^${field}: `)) },
      },
    ]);
    expect(JSON.stringify(logger.lines)).not.toMatch(/PIN|run-1/);
  });

  it.each([
    [
      'a service does not respond',
      new RecalldError('database_unreachable', 'PostgreSQL does not respond.'),
      'retry',
      'failed',
    ],
    ['an unexpected error occurs', new TypeError('x is undefined'), 'retry', 'failed'],
    ['a value that is not an error is thrown', 'a string', 'retry', 'failed'],
    [
      'a retry would fail in the same way',
      new RecalldError('golden_set_unknown', 'There is no golden set.'),
      'dead',
      'dead',
    ],
  ])('is classified when %s', async (_, error, verdict, outcome) => {
    const { meter, logger, run } = aRunner(async () => {
      throw error;
    });
    const reason = error instanceof Error ? error.message : error;
    expect(await run(job.name, { run_id: 'run-1' }, 'id')).toEqual({ kind: verdict, reason });
    expect(meter.increments).toEqual([{ name: 'recalld_jobs_total', labels: { task: job.name, outcome }, value: 1 }]);
    expect(meter.observations).toHaveLength(1);
    expect(logger.lines).toEqual([
      {
        level: 'error',
        message: 'a job failed',
        fields: { job: job.name, id: 'id', reason, final: outcome === 'dead' },
      },
    ]);
  });

  it('is returned to the queue when the program stops, and does not count as a failure', async () => {
    const { clock, meter, logger, stop, run } = aRunner((_, signal) => clock.sleep(1000, signal));
    const outcome = run(job.name, { run_id: 'run-1' }, 'id');
    await clock.advance(50);
    stop.abort(new Error('the daemon stops'));
    expect(await outcome).toBe('deferred');
    expect(meter.increments).toEqual([]);
    expect(logger.lines).toEqual([]);
  });

  it('with a name that is not in the catalogue is reported as a bug', async () => {
    const { run } = aRunner();
    await expect(run('no-such-job', {}, 'id')).rejects.toThrow('there is no job no-such-job');
  });
});
