import { expect, it } from 'vitest';
import { RecalldError } from '../../../src/errors.ts';
import { runGoldenSetJob } from '../../../src/golden/golden-jobs.ts';
import { startRun } from '../../../src/golden/golden-routes.ts';
import { aNewGoldenSet, aWatchedPipeline, NOON } from '../../support/builders.ts';
import { silentLogger } from '../../support/log.ts';
import { MemoryGoldenRotations } from '../../support/memory-golden-rotations.ts';
import { MemoryGoldenRuns } from '../../support/memory-golden-runs.ts';
import { MemoryGoldenSets } from '../../support/memory-golden-sets.ts';
import { MemoryJobQueue } from '../../support/memory-job-queue.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

async function parts() {
  const clock = new SteerableClock();
  const sets = new MemoryGoldenSets();
  await sets.add(aNewGoldenSet(), NOON);
  const runs = new MemoryGoldenRuns(clock, sets);
  return {
    sets,
    runs,
    rotations: new MemoryGoldenRotations(),
    clock,
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
  expect(await deps.runs.abandoned()).toMatchObject([{ id: run.id }]);
});
