import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { messageOf, RecalldError } from '../../../../src/core/errors.ts';
import {
  attemptEach,
  forEachPipeline,
  PipelinesFailedError,
} from '../../../../src/platform/queue/for-each-pipeline.ts';
import { createJobRunner, defineCronJob } from '../../../../src/platform/queue/job-queue.ts';
import { MemoryLogger, MemoryMeter } from '../../../support/memory-telemetry.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

const never = new AbortController().signal;
const named = (...names: readonly string[]) => names.map((name) => ({ name }));
const failing =
  (...names: readonly string[]) =>
  async ({ name }: { readonly name: string }): Promise<void> => {
    if (names.includes(name)) throw new Error(`the store of ${name} is down`);
  };

async function failureOf(work: Promise<unknown>): Promise<PipelinesFailedError> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof PipelinesFailedError)) throw new Error('it did not fail for pipelines', { cause: error });
  return error;
}

describe('work over many pipelines', () => {
  it('is done once for every pipeline, and its error names exactly the pipelines that failed', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { maxLength: 40 }),
        fc.integer({ min: 1, max: 8 }),
        async (fails, lanes) => {
          const pipelines = fails.map((hasFailed, index) => ({
            name: `p${String(index).padStart(2, '0')}`,
            hasFailed,
          }));
          const done: string[] = [];
          const work = forEachPipeline(
            pipelines,
            never,
            async ({ name, hasFailed }) => {
              done.push(name);
              await Promise.resolve();
              if (hasFailed) throw new Error(name);
            },
            lanes,
          );
          const expected = pipelines.filter(({ hasFailed }) => hasFailed).map(({ name }) => name);
          if (expected.length === 0) await work;
          else {
            const error = await failureOf(work);
            expect(error.pipelines).toEqual(expected);
            expect(error.errors).toHaveLength(expected.length);
          }
          expect(done.toSorted()).toEqual(pipelines.map(({ name }) => name));
        },
      ),
    ));

  it('runs as many pipelines at once as allowed, and no more', async () => {
    let running = 0;
    let most = 0;
    await forEachPipeline(
      named('a', 'b', 'c', 'd', 'e', 'f', 'g'),
      never,
      async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise(setImmediate);
        running -= 1;
      },
      3,
    );
    expect(most).toBe(3);
  });

  it('reports each reason once, with its pipelines', async () => {
    const plans = ['docs', 'faq', 'wiki'].map((pipeline) => ({ pipeline }));
    const error = await failureOf(
      forEachPipeline(plans, never, async ({ pipeline }) => {
        throw new Error(pipeline === 'wiki' ? 'the disk is full' : 'PostgreSQL does not respond');
      }),
    );
    expect(error.message).toBe('docs, faq: PostgreSQL does not respond; wiki: the disk is full');
  });

  it('keeps its message short and its list of pipelines complete if hundreds of pipelines fail', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `pipeline-${index}`);
    const error = await failureOf(
      forEachPipeline(named(...names), never, () => Promise.reject(new Error('no answer'))),
    );
    expect(error.message).toMatch(/^pipeline-0, .* and 180 more: no answer$/);
    expect(error.pipelines).toHaveLength(200);
  });

  it("names the pipelines that were not processed before the job's timeout", async () => {
    const time = new AbortController();
    const error = await failureOf(
      forEachPipeline(
        named('fast', 'slow', 'waiting'),
        time.signal,
        async ({ name }) => {
          if (name === 'fast') return;
          time.abort(new DOMException('the job ran out of time', 'TimeoutError'));
          time.signal.throwIfAborted();
        },
        1,
      ),
    );
    expect(error.pipelines).toEqual(['slow', 'waiting']);
    expect(error.message).toContain('the job ran out of time');
  });

  it('ends with the reason of its signal when the program stops, and starts no more work', async () => {
    const stop = new AbortController();
    const reason = new Error('the daemon stops');
    const begun: string[] = [];
    const work = forEachPipeline(
      named('a', 'b', 'c'),
      stop.signal,
      async ({ name }) => {
        begun.push(name);
        stop.abort(reason);
      },
      1,
    );
    await expect(work).rejects.toBe(reason);
    expect(begun).toEqual(['a']);
  });
});

describe('steps of a job', () => {
  it('all run, and all failures are reported', async () => {
    const taken: string[] = [];
    const step = (name: string, problem?: string) => async () => {
      taken.push(name);
      if (problem !== undefined) throw new Error(problem);
    };
    const work = attemptEach([step('first', 'one'), step('second'), step('third', 'three')], never);
    const error: unknown = await work.catch((thrown: unknown) => thrown);
    expect(taken).toEqual(['first', 'second', 'third']);
    expect(messageOf(error)).toBe('one; three');
  });

  it('that failed for some pipelines are reported as one error with the pipelines of all steps', async () => {
    const step =
      (...names: readonly string[]) =>
      () =>
        forEachPipeline(named('docs', 'faq', 'wiki'), never, failing(...names));
    const error = await failureOf(attemptEach([step('wiki'), step('docs', 'wiki'), step()], never));
    expect(error.pipelines).toEqual(['docs', 'wiki']);
    expect(error.errors).toHaveLength(3);
  });

  it('rethrow the error of a single failed step, so that its kind decides whether the job is retried', async () => {
    const problem = new RecalldError('golden_set_unknown', 'There is no golden set.');
    await expect(attemptEach([() => Promise.reject(problem), async () => undefined], never)).rejects.toBe(problem);
  });
});

it('a job that failed for one of three pipelines counts as failed, and its log line names the pipeline', async () => {
  const logger = new MemoryLogger();
  const meter = new MemoryMeter();
  const job = defineCronJob({
    name: 'probe-stores',
    does: 'Probes.',
    cron: '* * * * *',
    timeoutMs: 1000,
    handle: (_: null, signal) => forEachPipeline(named('docs', 'faq', 'wiki'), signal, failing('faq')),
  });
  const run = createJobRunner({
    jobs: [job],
    jobDeps: null,
    clock: new SteerableClock(),
    logger,
    meter,
    shutdown: never,
  });
  const reason = 'faq: the store of faq is down';
  expect(await run(job.name, {}, 'id')).toEqual({ kind: 'retry', reason });
  expect(meter.increments).toEqual([
    { name: 'recalld_jobs_total', labels: { task: job.name, outcome: 'failed' }, value: 1 },
  ]);
  expect(logger.lines).toMatchObject([{ level: 'error', fields: { job: job.name, reason, pipelines: ['faq'] } }]);
});
