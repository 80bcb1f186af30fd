import { describe, expect, it } from 'vitest';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { readScoreTrends } from '../../../../src/golden/sql/score-trends.ts';
import { aScore } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import { anEnd, importSet, minutes, putRun } from '../../../support/golden-runs.ts';

const database = useDatabase();
let pipelines = 0;

/** Stores runs that start one hour apart, with these scores for k = 10 and a better score for k = 5. */
async function runsOf(means: readonly number[]) {
  const stores = { runs: createGoldenRuns(database.pool), sets: createGoldenSets(database.pool) };
  await importSet(stores, 'faq');
  const pipeline = `docs ${(pipelines += 1)}`;
  for (const [hour, mean] of means.entries()) {
    const scores = [aScore({ mean }), aScore({ mean: 0.99, k: 5 })];
    const end = anEnd({ finishedAt: minutes(hour * 60 + 1), scores });
    await putRun(stores, { pipeline, startedAt: minutes(hour * 60) }, { end });
  }
  return { pipeline, goldenSet: 'faq' };
}

describe('the scores of a golden set over time', () => {
  it('are those at the largest cutoff, oldest first', async () => {
    const set = await runsOf([0.8, 0.7, 0.9]);
    const asked = { ...set, from: minutes(0), until: minutes(180), measures: ['ndcg', 'mrr'] as const };
    const trends = await readScoreTrends(database.pool, asked);
    expect(trends.get('ndcg')?.map(({ at, value }) => [at, value])).toEqual([
      [minutes(0), 0.8],
      [minutes(60), 0.7],
      [minutes(120), 0.9],
    ]);
    expect(trends.get('mrr')).toEqual([]);
  });

  it('keep the lowest and the highest score of each interval of a long period', async () => {
    const set = await runsOf([0.8, 0.1, 0.85, 0.9]);
    const asked = { ...set, from: minutes(0), until: minutes(60 * 24 * 90), measures: ['ndcg'] as const };
    const trends = await readScoreTrends(database.pool, asked);
    expect(trends.get('ndcg')?.map(({ value }) => value)).toEqual([0.1, 0.9]);
  });
});
