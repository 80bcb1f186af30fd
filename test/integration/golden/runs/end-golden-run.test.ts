import { describe, expect, it } from 'vitest';
import type { NewRun } from '../../../../src/golden/rules/run.ts';
import { cancelGoldenRun, recoverGoldenRuns } from '../../../../src/golden/runs/end-golden-run.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { anAnswer, aWatchedPipeline, NOON } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { anEnd, putRun } from '../../../support/golden-runs.ts';
import { MemoryLogger } from '../../../support/memory-telemetry.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

const database = useDatabase();
const aStore = () => ({ runs: createGoldenRuns(database.pool), sets: createGoldenSets(database.pool) });
const inAnHour = new Date(NOON.getTime() + 3_600_000);

/** Starts a run at noon with a deadline one hour later, and recovers it `afterSeconds` after its start. */
async function recover(
  parts: Partial<NewRun>,
  afterSeconds: number,
  { holder = null, hasEnded = false }: { readonly holder?: string | null; readonly hasEnded?: boolean } = {},
) {
  const stores = aStore();
  const { runs } = stores;
  const end = hasEnded ? anEnd() : null;
  const { id } = await putRun(
    stores,
    { startedAt: NOON, deadlineAt: inAnHour, ...parts },
    { answers: [anAnswer()], end },
  );
  if (holder !== null) await runs.hold(id, holder, 15);
  const clock = new SteerableClock(NOON);
  await clock.advance(afterSeconds * 1000);
  const resumed: string[] = [];
  const logger = new MemoryLogger();
  await recoverGoldenRuns(
    contextOf({
      db: { golden: { runs } },
      clock,
      logger,
      pipelines: [aWatchedPipeline({ name: 'docs' })],
      hooks: {
        resume: async (run) => {
          resumed.push(run.id);
        },
      },
    }),
  );
  const run = await runs.find(id);
  // Ends the run, so that no other test finds it running.
  await runs.finish(id, anEnd());
  return { isResumed: resumed.includes(id), logger, run, scores: await runs.scores(id), checks: await runs.checks(id) };
}

describe('a golden run without a worker', () => {
  it('is resumed', async () => {
    const { isResumed, run } = await recover({}, 60);
    expect(isResumed).toBe(true);
    expect(run?.status).toBe('running');
  });

  it('is unchanged while its job may still be in the queue', async () => {
    expect((await recover({}, 4)).isResumed).toBe(false);
    expect((await recover({}, 5)).isResumed).toBe(true);
  });

  it('fails when its deadline has passed, with the deadline as the reason', async () => {
    const { isResumed, run, scores, checks, logger } = await recover(
      { deadlineAt: new Date(NOON.getTime() + 600_000) },
      601,
    );
    expect(isResumed).toBe(false);
    expect(run).toMatchObject({
      status: 'failed',
      reason: 'The run did not end by its deadline, 2026-11-20T12:10:00.000Z.',
      finishedAt: new Date(NOON.getTime() + 601_000),
    });
    expect([scores, checks]).toEqual([[], []]);
    expect(logger.lines.map(({ level }) => level)).toEqual(['warn']);
  });

  it('fails when the config no longer contains its pipeline', async () => {
    const { isResumed, run } = await recover({ pipeline: 'gone' }, 60);
    expect(isResumed).toBe(false);
    expect(run).toMatchObject({
      status: 'failed',
      reason: 'The worker of the run died, and the pipeline "gone" is no longer in the config.',
    });
  });
});

describe('a golden run with a worker', () => {
  it('is unchanged, even past its deadline', async () => {
    const { isResumed, run } = await recover({ deadlineAt: NOON }, 60, { holder: 'worker' });
    expect(isResumed).toBe(false);
    expect(run?.status).toBe('running');
  });
});

describe('a golden run that has ended', () => {
  it('is unchanged', async () => {
    const { isResumed, run } = await recover({}, 60, { hasEnded: true });
    expect(isResumed).toBe(false);
    expect(run?.status).toBe('completed');
  });
});

it('a cancellation ends a run in progress, with the reason', async () => {
  const stores = aStore();
  const { id } = await putRun(stores);
  expect(await cancelGoldenRun(contextOf({ db: { golden: stores }, clock: new SteerableClock() }), id)).toMatchObject({
    status: 'cancelled',
    reason: 'The run was cancelled manually.',
  });
});

it('a cancellation is refused for a run that has ended and for an unknown run', async () => {
  const stores = aStore();
  const deps = contextOf({ db: { golden: stores }, clock: new SteerableClock() });
  const { id } = await putRun(stores, {}, { end: anEnd() });
  await expect(cancelGoldenRun(deps, id)).rejects.toMatchObject({ code: 'run_not_running' });
  expect(await stores.runs.find(id)).toMatchObject({ status: 'completed' });
  await expect(cancelGoldenRun(deps, 'no-such-run')).rejects.toMatchObject({ code: 'run_unknown' });
});
