import { expect, it } from 'vitest';
import { RecalldError } from '../../../src/core/errors.ts';
import { startRun } from '../../../src/golden/edge/golden-routes.ts';
import { runGoldenSetJob } from '../../../src/golden/golden-jobs.ts';
import { createGoldenRotations } from '../../../src/golden/sql/golden-rotations.ts';
import { createGoldenRuns } from '../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../src/golden/sql/golden-sets.ts';
import { aNewGoldenSet, aWatchedPipeline, NOON } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { silentLogger } from '../../support/log.ts';
import { MemoryJobQueue } from '../../support/memory-job-queue.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const database = useDatabase();

async function parts() {
  const { pool } = database;
  const sets = createGoldenSets(pool);
  await sets.add(aNewGoldenSet(), NOON);
  return {
    sets,
    runs: createGoldenRuns(pool),
    rotations: createGoldenRotations(pool),
    clock: new SteerableClock(),
    queue: new MemoryJobQueue(),
    logger: silentLogger,
    pipelines: [aWatchedPipeline()],
  };
}

it('a run by hand is stored and handed to the workers', async () => {
  const deps = await parts();
  const run = await startRun(deps, 'docs', 'faq');
  expect(run).toMatchObject({ pipeline: 'docs', goldenSet: 'faq', trigger: 'manual', status: 'running' });
  expect(deps.queue.jobs).toEqual([{ job: runGoldenSetJob.name, payload: { run_id: run.id }, id: run.id }]);
});

it('a run by hand is kept when the queue is away, so that it is taken as soon as it is back', async () => {
  const deps = await parts();
  deps.queue.failure = new RecalldError('queue_unreachable', 'The job queue does not answer.');
  const run = await startRun(deps, 'docs', 'faq');
  expect((await deps.runs.abandoned()).map(({ id }) => id)).toContain(run.id);
});
