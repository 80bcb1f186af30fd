import { describe, expect, it } from 'vitest';
import { createGoldenBaselines } from '../../../../src/golden/sql/golden-baselines.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { aRerunNoise } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import { createRun, minutes } from '../../../support/golden-runs.ts';

const database = useDatabase();
const open = () => ({
  runs: createGoldenRuns(database.pool),
  sets: createGoldenSets(database.pool),
  baselines: createGoldenBaselines(database.pool),
});
const noise = { all: { 'ndcg@10': aRerunNoise({ sharedVariance: 0.0001 }) } };
const aPin = async (pipeline: string, at = minutes(0)) => {
  const { id: runId, goldenSet } = await createRun(open(), { pipeline });
  return { pipeline, goldenSet, runId, note: null, noise, pinnedAt: at };
};

describe('a pinned baseline', () => {
  it('is null until a user pins a run', async () => {
    expect(await open().baselines.pinned('never-pinned', 'faq')).toBeNull();
    expect(await open().baselines.unpin('never-pinned', 'faq', 'ada', minutes(1))).toBe(false);
  });

  it('is stored with its noise, only for its pipeline and set', async () => {
    const pin = await aPin('pinned');
    await open().baselines.pin(pin, 'ada');
    expect(await open().baselines.pinned('pinned', 'faq')).toEqual({ ...pin, excludedRuns: [], unpinnedAt: null });
    expect(await open().baselines.pinned('pinned', 'other')).toBeNull();
    expect(await open().baselines.pinned('other', 'faq')).toBeNull();
  });

  it('replaces the previous one, which stays in the history', async () => {
    const first = await aPin('replaced', minutes(0));
    const second = { ...(await aPin('replaced', minutes(1))), note: 'after the reindex' };
    await open().baselines.pin(first, 'ada');
    await open().baselines.pin(second, 'ada');
    expect((await open().baselines.pinned('replaced', 'faq'))?.runId).toBe(second.runId);
    expect(await open().baselines.list({ pipeline: 'replaced', limit: 10 })).toEqual([
      { ...second, excludedRuns: [], unpinnedAt: null },
      { ...first, excludedRuns: [], unpinnedAt: minutes(1) },
    ]);
    expect(await open().baselines.list({ pipeline: 'replaced', limit: 1 })).toHaveLength(1);
  });

  it('has the mean scores of its reruns while it is pinned', async () => {
    const first = await aPin('measured', minutes(0));
    const means = { 'ndcg@10': [0.1, 1 / 3, 1], 'hit_rate@10': [0, 0.7, 1] };
    await open().baselines.pin(first, 'ada', means);
    expect(await open().baselines.means(first.runId)).toEqual(means);
    const second = await aPin('measured', minutes(1));
    await open().baselines.pin(second, 'ada');
    expect(await open().baselines.means(first.runId)).toBeNull();
    expect(await open().baselines.means(second.runId)).toBeNull();
  });

  it('is the only one, even when several users pin runs at once', async () => {
    const pins = await Promise.all(Array.from({ length: 5 }, () => aPin('raced')));
    await Promise.all(pins.map((pin) => open().baselines.pin(pin, 'ada')));
    const all = await open().baselines.list({ pipeline: 'raced', limit: 10 });
    expect(all.filter(({ unpinnedAt }) => unpinnedAt === null)).toHaveLength(1);
  });

  it('is null again after it is unpinned', async () => {
    await open().baselines.pin(await aPin('unpinned'), 'ada');
    expect(await open().baselines.unpin('unpinned', 'faq', 'ada', minutes(3))).toBe(true);
    expect(await open().baselines.pinned('unpinned', 'faq')).toBeNull();
  });
});
