import { beforeAll, describe, expect, it } from 'vitest';
import { topicByTopic } from '../support/vector-documents.ts';
import { type Bench, never, type TestIndex, valueOf } from './vector-store-bench.ts';

const shape = { count: 300, dimensions: 16, topics: 12 };
const documents = topicByTopic(shape);

export function describeContent(bench: Bench): void {
  describe('the content of a store', () => {
    let index: TestIndex;
    beforeAll(async () => {
      index = await bench.makeIndex(documents, shape.dimensions);
    });

    it('includes the texts and versions of requested documents, and nothing for missing documents', async () => {
      const store = bench.open(index);
      expect(valueOf(await store.chunks([], never))).toEqual([]);
      const some = ['doc-00007', 'doc-00042', 'doc-7', '', `' or ''='`];
      const chunks = valueOf(await store.chunks(some, never));
      const expected = documents
        .filter(({ id }) => some.includes(id))
        .map(({ id, content, fields }) => ({ id, content, version: fields.language }));
      expect(chunks.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(expected);
    });

    it('can be requested as digests that only distinguish texts', async () => {
      const store = bench.open(index);
      const vector = documents[0]?.vector ?? new Float32Array();
      const request = { vector, k: 20, filter: {}, exact: false } as const;
      const { neighbours } = valueOf(await store.nearest({ ...request, withContent: 'digest' }, never));
      const digests = new Map(neighbours.map(({ id, content }) => [id, content]));
      expect(neighbours.length).toBeGreaterThan(10);
      // No two documents have the same text.
      expect(new Set(digests.values()).size).toBe(digests.size);
      const again = valueOf(await store.nearest({ ...request, withContent: 'digest' }, never)).neighbours;
      expect(new Map(again.map(({ id, content }) => [id, content]))).toEqual(digests);
    });

    it('is empty for an empty store', async () => {
      const store = bench.open(await bench.makeIndex([], shape.dimensions));
      expect(valueOf(await store.chunks(['doc-00007'], never))).toEqual([]);
      if (bench.abilities.lists !== false) {
        expect(valueOf(await store.list(null, never))).toEqual({ ids: [], next: null });
      }
    });
  });
}
