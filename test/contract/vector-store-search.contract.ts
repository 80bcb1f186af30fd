/**
 * Searches that need special documents; src/connectors/stores/store-tests contains the requirements for every search.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { bruteForce, recallOf } from '../../src/connectors/stores/store-tests/subject.ts';
import type { NearestRequest } from '../../src/connectors/stores/vector-store.ts';
import { queriesLike, topicByTopic, type VectorDocument } from '../support/vector-documents.ts';
import { type Bench, never, type TestIndex, valueOf } from './vector-store-bench.ts';
import { strange } from './vector-store-tests.contract.ts';

const shape = { count: 300, dimensions: 16, topics: 12 };
const documents = topicByTopic(shape);
const [aQuery = new Float32Array(16)] = queriesLike(shape, 12);

function asked(request: Partial<NearestRequest>): NearestRequest {
  return { vector: aQuery, k: 10, filter: {}, exact: false, withContent: false, ...request };
}

export function describeSearch(bench: Bench): void {
  const { abilities } = bench;

  describe('a search', () => {
    let index: TestIndex;
    const all = [...documents, strange];
    beforeAll(async () => {
      index = await bench.makeIndex(all, shape.dimensions);
    });

    it('applies several fields of a filter, and reports a short result when fewer than k match', async () => {
      const filter = { topic: 'topic-7', language: 'de' };
      const matching = all.filter(({ fields }) => fields.topic === filter.topic && fields.language === filter.language);
      const found = valueOf(await bench.open(index).nearest(asked({ filter, k: matching.length + 1 }), never));
      const ids = new Set(matching.map(({ id }) => id));
      expect(found.neighbours.filter(({ id }) => !ids.has(id))).toEqual([]);
      expect(found.isShort).toBe(true);
    });

    it('does not interpret special characters in the value of a filter', async () => {
      const request = asked({ vector: strange.vector, filter: { topic: strange.fields.topic } });
      const outcome = await bench.open(index).nearest(request, never);
      if (abilities.filterValues === 'plain') expect(outcome).toMatchObject({ kind: 'unsupported' });
      else expect(valueOf(outcome)).toMatchObject({ neighbours: [{ id: strange.id }], isShort: true });
    });
  });

  it('finds each of several equal chunks exactly once', async () => {
    const twins = ['twin-a', 'twin-b', 'twin-c', 'twin-d'].map(
      (id): VectorDocument => ({
        id,
        vector: Float32Array.from(aQuery),
        content: id,
        fields: { topic: 'twins', language: 'en' },
      }),
    );
    const index = await bench.makeIndex([...documents.slice(0, 100), ...twins], shape.dimensions);
    const store = bench.open(index);
    const four = valueOf(await store.nearest(asked({ k: 4 }), never)).neighbours;
    expect(four.map(({ id }) => id).toSorted()).toEqual(['twin-a', 'twin-b', 'twin-c', 'twin-d']);
    for (const { similarity } of four) expect(similarity).toBeCloseTo(1, 5);
    const two = valueOf(await store.nearest(asked({ k: 2 }), never)).neighbours;
    expect(new Set(two.map(({ id }) => id)).size).toBe(2);
  });

  it.runIf(abilities.searchesSeveral)(
    'returns the same results for several vectors at once as for each vector alone',
    async () => {
      const store = bench.open(await bench.makeIndex(documents, shape.dimensions));
      if (store.nearestOfEach === undefined) throw new Error('The store searches for one vector at a time.');
      const request = { k: 5, filter: { language: 'en' }, exact: false, withContent: true } as const;
      const vectors = queriesLike(shape, 3);
      const alone = await Promise.all(vectors.map((vector) => store.nearest({ ...request, vector }, never)));
      expect(valueOf(await store.nearestOfEach(vectors, request, never))).toEqual(alone.map(valueOf));
      const wrong = [...vectors, Float32Array.of(1)];
      expect(await store.nearestOfEach(wrong, request, never)).toMatchObject({ code: 'dimension_mismatch' });
    },
  );

  it('returns an empty result without an error for an empty store', async () => {
    const index = await bench.makeIndex([], shape.dimensions);
    const store = bench.open(index);
    expect(valueOf(await store.nearest(asked({}), never))).toEqual({ neighbours: [], isShort: true });
    expect(valueOf(await store.existing(['doc-00007'], never))).toEqual(new Set());
  });

  it('finds most neighbors in a large store, and all neighbors by exact search', async () => {
    const { index, documents: many, shape: large } = await bench.large();
    const store = bench.open(index);
    let [approximate, exact] = [0, 0];
    const tries = queriesLike(large, 20);
    const shareFound = async (vector: Float32Array, isExact: boolean): Promise<number> => {
      const { neighbours } = valueOf(await store.nearest(asked({ vector, exact: isExact }), never));
      const truth = bruteForce(many, vector, 10, abilities.metrics[0]);
      return (
        recallOf(
          neighbours.map(({ id }) => id),
          truth,
        ) / tries.length
      );
    };
    for (const vector of tries) {
      approximate += await shareFound(vector, false);
      if (abilities.exactSearch) exact += await shareFound(vector, true);
    }
    expect(approximate).toBeGreaterThan(0.7);
    expect(exact).toBeCloseTo(abilities.exactSearch ? 1 : 0, 9);
  });
}
