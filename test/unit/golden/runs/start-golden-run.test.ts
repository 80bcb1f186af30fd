import { describe, expect, it } from 'vitest';
import { newRunId, type StartGoldenRunDeps, startGoldenRun } from '../../../../src/golden/runs/run-golden-set.ts';
import {
  aNewGoldenSet,
  aRunSettings,
  aSchedule,
  aWatchedPipeline,
  goldenQueries,
  NOON,
} from '../../../support/builders.ts';
import { MemoryGoldenRotations } from '../../../support/memory-golden-rotations.ts';
import { MemoryGoldenRuns } from '../../../support/memory-golden-runs.ts';
import { MemoryGoldenSets } from '../../../support/memory-golden-sets.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

async function aStart(): Promise<
  StartGoldenRunDeps & { readonly runs: MemoryGoldenRuns; readonly sets: MemoryGoldenSets }
> {
  const clock = new SteerableClock();
  const sets = new MemoryGoldenSets();
  await sets.add(aNewGoldenSet(), NOON);
  let ids = 0;
  return {
    clock,
    sets,
    runs: new MemoryGoldenRuns(clock),
    newRunId: () => `run-${++ids}`,
    rotations: new MemoryGoldenRotations(),
  };
}

describe('a golden run that starts', () => {
  it('is stored running, with the latest version and its settings', async () => {
    const deps = await aStart();
    await deps.sets.add(aNewGoldenSet({ contentHash: 'hash-2', queries: goldenQueries(5) }), NOON);
    const schedule = aSchedule({ settings: aRunSettings({ cutoffs: [7] }) });
    const id = await startGoldenRun(deps, aWatchedPipeline(), schedule);
    expect(await deps.runs.find(id)).toMatchObject({
      id: 'run-1',
      status: 'running',
      pipeline: 'docs',
      goldenSet: 'faq',
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

  it('has a deadline by the size of the set, the pace and the time-out of the retriever', async () => {
    const deps = await aStart();
    await deps.sets.add(aNewGoldenSet({ contentHash: 'big', queries: goldenQueries(1000) }), NOON);
    const schedule = aSchedule({ settings: aRunSettings({ maxPerSecond: 1, concurrency: 1 }) });
    await startGoldenRun(deps, aWatchedPipeline({ timeoutMs: 5000 }), schedule);
    expect((await deps.runs.find('run-1'))?.deadlineAt).toEqual(new Date(NOON.getTime() + 3_000_000 + 5_000_000));
  });

  it('may be started by hand as often as one likes', async () => {
    const deps = await aStart();
    expect(await startGoldenRun(deps, aWatchedPipeline(), aSchedule())).toBe('run-1');
    expect(await startGoldenRun(deps, aWatchedPipeline(), aSchedule())).toBe('run-2');
    expect(await deps.runs.find('run-2')).toMatchObject({ trigger: 'manual', scheduledFor: null });
  });

  it('is refused for a set that nobody imported, with the command that imports it', async () => {
    const deps = await aStart();
    await expect(startGoldenRun(deps, aWatchedPipeline(), aSchedule({ set: 'nope' }))).rejects.toMatchObject({
      code: 'golden_set_unknown',
      message: 'There is no golden set "nope"; import one with `recalld golden import PATH --set nope`.',
    });
    expect(await deps.runs.list({ limit: 10 })).toEqual([]);
  });
});

describe('the id of a run', () => {
  it('tells its time, and is short enough to type', () => {
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
