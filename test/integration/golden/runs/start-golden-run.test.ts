import { describe, expect, it } from 'vitest';
import type { Context } from '../../../../src/core/context.ts';
import { newRunId, startGoldenRun } from '../../../../src/golden/runs/run-golden-set.ts';
import { createGoldenRotations } from '../../../../src/golden/sql/golden-rotations.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import {
  aNewGoldenSet,
  aRunSettings,
  aSchedule,
  aWatchedPipeline,
  goldenQueries,
  NOON,
} from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

const database = useDatabase();
let ids = 0;

/** A separate set of three queries, and the context in which it runs. */
async function aStart() {
  const set = `set ${(ids += 1)}`;
  const deps: Context = contextOf({
    clock: new SteerableClock(),
    db: {
      golden: {
        sets: createGoldenSets(database.pool),
        runs: createGoldenRuns(database.pool),
        rotations: createGoldenRotations(database.pool),
      },
    },
    newRunId: () => `run-${(ids += 1)}`,
  });
  const add = (hash: string, queries: number) =>
    deps.db.golden.sets.add(aNewGoldenSet({ name: set, contentHash: hash, queries: goldenQueries(queries) }), NOON);
  await add('first', 3);
  return { deps, set, add };
}

describe('a new golden run', () => {
  it('is stored as running, with the latest version and its settings', async () => {
    const { deps, set, add } = await aStart();
    await add('second', 5);
    const schedule = aSchedule({ set, settings: aRunSettings({ cutoffs: [7] }) });
    const { id } = await startGoldenRun(deps, aWatchedPipeline({ golden: [schedule] }), set);
    expect(await deps.db.golden.runs.find(id)).toMatchObject({
      id,
      status: 'running',
      pipeline: 'docs',
      goldenSet: set,
      goldenSetVersion: 2,
      purpose: 'full',
      trigger: 'manual',
      scheduledFor: null,
      queryIds: null,
      cause: null,
      settings: { cutoffs: [7] },
      startedAt: NOON,
      deadlineAt: new Date(NOON.getTime() + 600_000),
    });
  });

  it('has a deadline computed from the size of the set, the rate limit and the timeout of the retriever', async () => {
    const { deps, set, add } = await aStart();
    await add('big', 1000);
    const schedule = aSchedule({ set, settings: aRunSettings({ maxPerSecond: 1, concurrency: 1 }) });
    const { id } = await startGoldenRun(deps, aWatchedPipeline({ timeoutMs: 5000, golden: [schedule] }), set);
    expect((await deps.db.golden.runs.find(id))?.deadlineAt).toEqual(new Date(NOON.getTime() + 3_000_000 + 5_000_000));
  });

  it('may be started manually any number of times', async () => {
    const { deps, set } = await aStart();
    const first = await startGoldenRun(deps, aWatchedPipeline(), set);
    const second = await startGoldenRun(deps, aWatchedPipeline(), set);
    expect(second.id).not.toBe(first.id);
    expect(await deps.db.golden.runs.find(second.id)).toMatchObject({ trigger: 'manual', scheduledFor: null });
  });

  it('is refused for a set that was not imported, with the command that imports it', async () => {
    const { deps } = await aStart();
    await expect(startGoldenRun(deps, aWatchedPipeline(), 'nope')).rejects.toMatchObject({
      code: 'golden_set_unknown',
      message: 'There is no golden set "nope"; import one with `recalld golden import PATH --set nope`.',
    });
    expect(await deps.db.golden.runs.list({ goldenSet: 'nope', limit: 10 })).toEqual([]);
  });
});

describe('the id of a run', () => {
  it('contains its time, and is short enough to type', () => {
    expect(newRunId(new Date('2026-11-20T15:45:00.123Z'))).toMatch(/^20261120T154500Z-[0-9a-f]{8}$/);
  });

  it('sorts by time', () => {
    const ids = [9, 10, 11].map((hour) => newRunId(new Date(Date.UTC(2026, 0, 1, hour))));
    expect(ids.toSorted()).toEqual(ids);
  });

  it('differs for two runs of the same second', () => {
    const now = new Date('2026-11-20T15:45:00Z');
    expect(new Set(Array.from({ length: 100 }, () => newRunId(now))).size).toBe(100);
  });
});
