import { expect, it } from 'vitest';
import { createDb } from '../../../src/app/database.ts';
import { RecalldError } from '../../../src/core/errors.ts';
import { startRun } from '../../../src/golden/edge/golden-routes.ts';
import { runGoldenSetJob } from '../../../src/golden/golden-jobs.ts';
import { newRunId } from '../../../src/golden/runs/run-golden-set.ts';
import { aNewGoldenSet, aWatchedPipeline, NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { silentLogger } from '../../support/log.ts';
import { MemoryJobQueue } from '../../support/memory-job-queue.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const database = useDatabase();

async function parts() {
  const { pool } = database;
  const db = createDb(pool);
  await db.golden.sets.add(aNewGoldenSet(), NOON);
  const queue = new MemoryJobQueue();
  const clock = new SteerableClock();
  const context = contextOf({ db, clock, queue, logger: silentLogger, newRunId, pipelines: [aWatchedPipeline()] });
  return { context, queue, runs: db.golden.runs };
}

it('a manual run is stored and queued for the workers', async () => {
  const { context, queue } = await parts();
  const run = await startRun(context, 'docs', 'faq');
  expect(run).toMatchObject({ pipeline: 'docs', goldenSet: 'faq', trigger: 'manual', status: 'running' });
  expect(queue.jobs).toEqual([{ job: runGoldenSetJob.name, payload: { run_id: run.id }, id: run.id }]);
});

it('a manual run is stored while the queue is down, so that the recovery job can start it', async () => {
  const { context, queue, runs } = await parts();
  queue.failure = new RecalldError('queue_unreachable', 'The job queue does not respond.');
  const run = await startRun(context, 'docs', 'faq');
  expect((await runs.abandoned()).map(({ id }) => id)).toContain(run.id);
});
