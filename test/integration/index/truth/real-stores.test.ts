/** Each of the five kinds of findings, on real stores. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Retriever } from '../../../../src/connectors/retrievers/retriever.ts';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { useDatabase } from '../../../support/database.ts';
import { IndexWorld, vectorOf } from '../../../support/index-world.ts';
import {
  type FillableStore,
  fillableChroma,
  fillablePgvector,
  fillableRedisIndex,
  fillableVectorSet,
  manifestOf,
  rowOf,
  type WrongWay,
  wrongRows,
  wrongWays,
} from '../../../support/wrong-stores.ts';

const DOCUMENTS = 1000;

/** Creates a retriever that returns the documents in the store that are nearest to the query vector. */
function searching(store: VectorStore): Pick<Retriever, 'retrieve'> {
  return {
    async retrieve({ text, k }, signal) {
      const found = await store.nearest(
        { vector: vectorOf(text), k, filter: {}, exact: false, withContent: false },
        signal,
      );
      if (found.kind !== 'ok') throw new Error(JSON.stringify(found));
      const documents = found.value.neighbours.map(({ id, score }) => ({ id, score }));
      return { kind: 'documents', documents, latencyMs: 1, attempts: 1 };
    },
  };
}

const redisUrl = process.env['RECALLD_TEST_REDIS_URL'];

const database = useDatabase();
beforeEach(async () => {
  await database.pool.query(
    'truncate index_documents, index_arrivals, index_rounds, index_tallies, index_findings, index_orphan_suspects, latest_measurements, measurement_gaps, measurements',
  );
});

describe.each([
  ['pgvector', fillablePgvector, [200, 50, 10]],
  ['Chroma', fillableChroma, [200, 50, 10]],
  // A stand-in for Redis with RediSearch, which is unavailable here; one share of affected documents is enough to test
  // the adapter's requests.
  ['a stand-in for an index of Redis', fillableRedisIndex, [50]],
  ...(redisUrl === undefined
    ? []
    : [['a vector set of Redis', () => fillableVectorSet(redisUrl), [200, 50, 10]] as const]),
] as const)('%s', (_, open, periods) => {
  let opened: FillableStore;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  it.each(periods)(
    'reports every kind of finding at once when one document in %i is affected',
    { timeout: 300_000 },
    async (period) => {
      const ways = Array.from({ length: DOCUMENTS }, (__, id): WrongWay | null => wrongWays[id % period] ?? null);
      const isOf = (way: WrongWay) => (id: string) => ways[Number(id.slice(4))] === way;
      const wrong = DOCUMENTS / period;
      const rows = wrongRows(ways);
      const { store, hasChunks } = opened;
      await opened.empty();
      await opened.add(rows);
      // The probability that a sample of 300 of the 1,000 documents misses all 20 affected documents is 0.1 %.
      const world = new IndexWorld(database.pool, { store, retriever: searching(store), probe: 300, embed: 300 });
      world.lines = manifestOf(ways);
      const named = DOCUMENTS - wrong;
      expect(await world.round()).toBe('done');
      expect(await world.value('index_missing_ratio')).toMatchObject({ value: wrong / named, n: named });
      expect((await world.found('missing')).every(isOf('missing'))).toBe(true);
      expect(await world.value('index_orphaned_ratio')).toMatchObject({ value: wrong / named, n: named });
      const orphaned = await world.found('orphaned');
      expect(orphaned).toHaveLength(wrong);
      expect(orphaned.every(isOf('orphaned'))).toBe(true);
      const superseded = await world.value('index_superseded_ratio');
      const oldShare = hasChunks ? wrong / (named - wrong) : 0;
      expect(superseded?.ciLow).toBeLessThanOrEqual(oldShare);
      expect(superseded?.ciHigh).toBeGreaterThanOrEqual(oldShare);
      expect((await world.found('superseded')).every(isOf('superseded'))).toBe(true);
      const otherModel = await world.value('index_other_model_ratio');
      const chunks = hasChunks ? rows.length : rows.length - wrong;
      expect(otherModel?.n).toBeGreaterThanOrEqual(300);
      expect(otherModel?.ciLow).toBeLessThanOrEqual(wrong / chunks);
      expect(otherModel?.ciHigh).toBeGreaterThanOrEqual(wrong / chunks);
      expect((await world.found('other_model')).every(isOf('other_model'))).toBe(true);
      expect((await world.value('index_not_retrievable_ratio'))?.n).toBe(20);
      // A document with another model's vector is also unretrievable: a search for its own text does not find it.
      expect((await world.found('unretrievable')).every(isOf('other_model'))).toBe(true);
      if (period !== 50) return;
      const updated = world.clock.now().toISOString();
      const late = Array.from({ length: 40 }, (__, place) => `late-${place}`);
      world.lines.push(...late.map((id) => ({ id, hash: 'v1', updated_at: updated })));
      await world.round();
      await opened.add(late.slice(0, 30).map(rowOf));
      await world.round();
      // Thirty of the forty late documents arrived between the two checks.
      const bounds = { value: 1800, ciLow: 900, ciHigh: 1800 };
      expect(await world.value('index_lag_median_seconds')).toMatchObject({ ...bounds, n: 40 });
      expect(await world.value('index_lag_seconds')).toMatchObject({ details: { is_at_least: true, waiting: 10 } });
    },
  );
});
