import { describe, expect, it } from 'vitest';
import type { StoreDescription } from '../../src/connectors/stores/vector-store.ts';
import { topicByTopic } from '../support/vector-documents.ts';
import { type Bench, never, type TestIndex, valueOf } from './vector-store-bench.ts';

const dimensions = 16;
const documents = topicByTopic({ count: 300, dimensions, topics: 3 });

export function describeDescription(bench: Bench): void {
  const describedAs = async (index: TestIndex): Promise<StoreDescription> =>
    valueOf(await bench.open(index).describe(never));

  describe('the description of a store', () => {
    it('reports 0 documents for an empty store, and dimensions only if they are known', async () => {
      const description = await describedAs(await bench.makeIndex([], dimensions));
      expect(description.count).toBe(0);
      expect([null, dimensions]).toContain(description.dimensions);
      expect(description.traits['size_class']).toBe('empty');
    });

    it('has the same traits after documents were added', async () => {
      const index = await bench.makeIndex(documents.slice(0, 270), dimensions);
      const before = await describedAs(index);
      expect(before.traits['size_class']).toBe('4');
      await index.add(documents.slice(270));
      expect((await describedAs(index)).traits).toEqual(before.traits);
    });

    it('has different traits for another index, after a rebuild, and for a store of another size', async () => {
      const index = await bench.makeIndex(documents, dimensions);
      const { traits } = await describedAs(index);
      const elsewhere = await bench.makeIndex(documents, dimensions);
      expect((await describedAs(elsewhere)).traits).not.toEqual(traits);
      if (index.rebuild !== undefined) {
        await index.rebuild();
        expect((await describedAs(index)).traits).not.toEqual(traits);
      }
      const small = await bench.makeIndex(documents.slice(0, 60), dimensions);
      expect((await describedAs(small)).traits['size_class']).toBe('2');
    });
  });
}
