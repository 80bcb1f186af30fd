/** The jobs of golden runs on PostgreSQL, for a worker that watches the pipeline `docs`. */

import { beforeEach, describe, expect, it } from 'vitest';
import { createDb } from '../../../src/app/database.ts';
import type { Hooks } from '../../../src/core/context.ts';
import { systemClock as clock } from '../../../src/core/system-clock.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/core/time.ts';
import { goldenJobs } from '../../../src/golden/golden-jobs.ts';
import { statisticsOfCommands as statistics } from '../../../src/golden/golden-statistics.ts';
import type { NewRun } from '../../../src/golden/rules/run.ts';
import { newRunId } from '../../../src/golden/runs/run-golden-set.ts';
import { createGoldenRuns } from '../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../src/golden/sql/golden-sets.ts';
import { createJobRunner } from '../../../src/platform/queue/job-queue.ts';
import { aWatchedPipeline } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { putRun } from '../../support/golden-runs.ts';
import { silentLogger as logger } from '../../support/log.ts';
import { MemoryJobQueue } from '../../support/memory-job-queue.ts';
import { MemoryRetriever } from '../../support/memory-retriever.ts';
import { MemoryMeter } from '../../support/memory-telemetry.ts';
import { limitsOfOne } from '../../support/throttle.ts';

const database = useDatabase();
const GOLDEN = 'run-golden-set';
const RECOVER = 'recover-golden-runs';

// Deletes the runs of earlier tests, because the job would also recover them.
beforeEach(async () => {
  await database.pool.query('truncate golden_runs cascade');
});

/** A worker, and a run of one query that must end within a minute unless `parts` sets another deadline. */
async function aWorker(parts: Partial<NewRun> = {}) {
  const sets = createGoldenSets(database.pool);
  const runs = createGoldenRuns(database.pool);
  const startedAt = new Date();
  const deadlineAt = new Date(startedAt.getTime() + MINUTE_MS);
  const { id } = await putRun({ runs, sets }, { startedAt, deadlineAt, ...parts });
  const retriever = new MemoryRetriever(clock, () => ['doc-1']);
  const pipeline = aWatchedPipeline({ retriever });
  const resumed: string[] = [];
  const resume: Hooks['resume'] = async (run) => void resumed.push(run.id);
  /** The pipelines whose checks were evaluated, and the run's status at that time. */
  const evaluated: unknown[] = [];
  const jobDeps = contextOf({
    db: { ...createDb(database.pool), limits: limitsOfOne(clock) },
    statistics,
    queue: new MemoryJobQueue(),
    clock,
    logger,
    newRunId,
    holder: 'me',
    pipelines: [pipeline],
    hooks: {
      resume,
      evaluateChecks: async (names) => void evaluated.push([names, (await runs.find(id))?.status]),
      followWithShadows: async () => undefined,
      diagnose: async () => undefined,
    },
  });
  const shutdown = new AbortController();
  const run = createJobRunner({
    jobs: goldenJobs,
    jobDeps,
    clock,
    logger,
    meter: new MemoryMeter(),
    shutdown: shutdown.signal,
  });
  return { id, runs, retriever, resumed, evaluated, run };
}

describe('the job of a golden run', () => {
  it('evaluates the checks of its pipeline when the run ends, and does nothing when it is repeated', async () => {
    const { id, runs, retriever, evaluated, run } = await aWorker();
    expect(await run(GOLDEN, { run_id: id }, 'first')).toBe('done');
    expect((await runs.find(id))?.status).toBe('completed');
    const asked = retriever.asked.length;
    expect(await run(GOLDEN, { run_id: id }, 'second')).toBe('done');
    expect(retriever.asked).toHaveLength(asked);
    expect(evaluated).toEqual([[['docs'], 'completed']]);
  });

  it('does nothing when the run does not exist, or belongs to the pipeline of another deployment', async () => {
    const { id, runs, retriever, run } = await aWorker({ pipeline: 'theirs' });
    expect(await run(GOLDEN, { run_id: 'nope' }, 'a')).toBe('done');
    expect(await run(GOLDEN, { run_id: id }, 'b')).toBe('done');
    expect(retriever.asked).toEqual([]);
    expect((await runs.find(id))?.status).toBe('running');
  });

  it('is retried when the deadline of the run has passed, and releases the run', async () => {
    const { id, runs, run } = await aWorker({ deadlineAt: new Date(Date.now() - 1000) });
    expect(await run(GOLDEN, { run_id: id }, 'id')).toMatchObject({ kind: 'retry' });
    expect((await runs.find(id))?.status).toBe('running');
    expect(await runs.hold(id, 'another', 1)).toBe(true);
  });
});

describe('the job that recovers golden runs', () => {
  it('resumes runs without a worker, and does not evaluate their checks', async () => {
    const { id, resumed, evaluated, run } = await aWorker({ startedAt: new Date(Date.now() - MINUTE_MS) });
    expect(await run(RECOVER, {}, 'id')).toBe('done');
    expect(resumed).toEqual([id]);
    expect(evaluated).toEqual([]);
  });

  it('evaluates the checks of a pipeline when a run failed because no worker continued it', async () => {
    const startedAt = new Date(Date.now() - 7 * DAY_MS);
    const { evaluated, run } = await aWorker({ startedAt, deadlineAt: new Date(startedAt.getTime() + MINUTE_MS) });
    await run(RECOVER, {}, 'id');
    expect(evaluated).toEqual([[['docs'], 'failed']]);
  });
});
