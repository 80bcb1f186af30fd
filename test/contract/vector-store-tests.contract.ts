/** The tests that `recalld store-test` runs on a user's store, here on indexes whose documents are all known. */
import { beforeAll, describe, expect, it } from 'vitest';
import { runStoreTest, storeTests } from '../../src/connectors/stores/store-tests/run.ts';
import { chunksById, type StoreSubject } from '../../src/connectors/stores/store-tests/subject.ts';
import { queriesLike, topicByTopic, type VectorDocument } from '../support/vector-documents.ts';
import { type Bench, never, type TestIndex, valueOf } from './vector-store-bench.ts';

/** The store has more documents than one page of ids can list. */
const shape = { count: 1100, dimensions: 16, topics: 10 };

/** A document whose id, text and fields contain special characters, which the store must not interpret. */
export const strange: VectorDocument = {
  id: `it's "a" \\ b, {c} %d/e?f&g`,
  vector: Float32Array.from({ length: shape.dimensions }, (_, place) => (place === 0 ? 1 : 0)),
  content: 'Straße \u{1f600}\n"two" lines',
  fields: { topic: `it's "50 % off" \\ {new}, [ü] | * @x`, language: 'en' },
};

const documents = [...topicByTopic(shape), strange];
const byId = chunksById(documents);
const queries = [...queriesLike(shape, 12), strange.vector];
const inTopic = new Set(documents.filter(({ fields }) => fields.topic === 'topic-7').map(({ id }) => id));

export function describeStoreTests(bench: Bench): void {
  const { abilities } = bench;
  const mayLack = new Set([
    ...(abilities.exactSearch ? [] : ['search.exact']),
    ...(abilities.lists === false ? ['ids.list'] : []),
  ]);

  describe.each(abilities.metrics)('on %s, the tests of store-test:', (metric) => {
    let index: TestIndex;
    beforeAll(async () => {
      index = await bench.makeIndex(documents, shape.dimensions, metric);
    });

    it.each(storeTests)('$name $does', async (test) => {
      const store = bench.open(index);
      const description = valueOf(await store.describe(never));
      expect(description).toMatchObject({ metric, dimensions: shape.dimensions });
      const subject: StoreSubject = {
        store,
        description,
        known: documents,
        byId,
        isWhole: true,
        queries,
        filter: { name: 'topic', value: 'topic-7', ids: inTopic },
        tolerance: 1e-4,
        minRecall: abilities.minRecall ?? 0.95,
        signal: never,
      };
      const { verdict, message } = await runStoreTest(test, subject);
      expect({ verdict, message }).toEqual({
        verdict: mayLack.has(test.name) ? 'unsupported' : 'passed',
        message: expect.stringMatching(/^\S.*\.$/s) as unknown,
      });
    });
  });
}
