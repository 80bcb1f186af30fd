import { expect, it } from 'vitest';
import { createReturnedReads } from '../../../../src/index/truth/index-reads.ts';
import { createLiveTraffic } from '../../../../src/live/sql/live-traffic.ts';
import { documents, goldenQueries, NOON } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import { aGoldenWorld } from '../../../support/golden-world.ts';
import { aLiveSample } from '../../../support/live-rows.ts';
import { hours } from '../../../support/measurements.ts';

const database = useDatabase();

it('each distinct query counts once, by text or hash, within the window and the top k, and golden queries are included', async () => {
  const world = aGoldenWorld(database.pool, NOON);
  const pipeline = world.pipeline.name;
  const traffic = createLiveTraffic(database.pool, 'me');
  for (const day of [-240, 0]) await traffic.createPartitions(hours(day));
  const samples = [
    { id: 'q1', text: 'leave?', results: documents('hub', 'a', 'beyond') },
    { id: 'q2', text: 'leave?', results: documents('hub', 'b') },
    { id: 'q3', text: null, textHash: 'h', results: documents('hub', 'hub', 'c') },
    { id: 'q4', text: null, textHash: null, results: documents('c') },
    { id: 'q5', text: 'fails', outcome: 'error' as const, results: [] },
    { id: 'old', text: 'old', receivedAt: hours(-240), occurredAt: hours(-240), results: documents('old') },
  ];
  await traffic.record({
    samples: samples.map((one) => aLiveSample({ pipeline, sessionHash: one.id, ...one })),
    counts: [],
    levels: [],
  });
  const read = () =>
    createReturnedReads(database.pool).documents({ pipeline, since: hours(-24), k: 2, limit: 100 }, [
      'hub',
      'never',
      'beyond',
    ]);
  const live = await read();
  expect(live).toMatchObject({ queries: 3, documents: 3, results: 4, retrieved: new Set(['hub']) });
  expect(live.top).toEqual([
    { id: 'hub', queries: 2, examples: ['leave?', 'q3'] },
    { id: 'a', queries: 1, examples: ['leave?'] },
    { id: 'c', queries: 1, examples: ['q4'] },
  ]);

  await world.importSet({ queries: goldenQueries(2) });
  world.answerWith(() => ['hub']);
  await world.full(NOON);
  await world.full(hours(1));
  const both = await read();
  expect(both.queries).toBe(5);
  expect(both.top[0]).toMatchObject({ id: 'hub', queries: 4 });
});
