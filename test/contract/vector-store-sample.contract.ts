import { beforeAll, describe, expect, it } from 'vitest';
import type { SampledVectors, VectorStore } from '../../src/stores/vector-store.ts';
import { cosineSimilarity, rowOf } from '../../src/vector/matrix.ts';
import { topicByTopic, unevenness, type VectorDocument } from '../support/vector-documents.ts';
import { type Bench, never, type TestIndex, valueOf } from './vector-store-bench.ts';

const shape = { count: 600, dimensions: 16, topics: 12 };
const documents = topicByTopic(shape);

/** What chance alone leaves in 1 of a million runs, on both sides together. */
const LIMIT = 4.9;

async function sampleOf(store: VectorStore, n: number, seed: number): Promise<SampledVectors> {
  return valueOf(await store.sample({ n, seed, withContent: false }, never));
}

function expectDrawnFrom(sample: SampledVectors, among: readonly VectorDocument[]): void {
  const byId = new Map(among.map((document) => [document.id, document]));
  expect(new Set(sample.ids).size).toBe(sample.ids.length);
  expect(sample.vectors.rows).toBe(sample.ids.length);
  expect(sample.contents).toHaveLength(sample.ids.length);
  for (const [row, id] of sample.ids.entries()) {
    const vector = byId.get(id)?.vector ?? new Float32Array(sample.vectors.columns);
    // Some stores keep vectors of length 1 only.
    expect(cosineSimilarity(rowOf(sample.vectors, row), vector)).toBeGreaterThan(1 - 1e-4);
  }
}

export function describeSample(bench: Bench): void {
  const { abilities } = bench;

  describe('a sample', () => {
    let index: TestIndex;
    beforeAll(async () => {
      index = await bench.makeIndex(documents, shape.dimensions);
    });

    it('holds as many different documents as were asked for, each with its vector', async () => {
      const store = bench.open(index);
      const sample = await sampleOf(store, 100, 7);
      expect(sample.ids).toHaveLength(100);
      expect(sample.vectors.columns).toBe(shape.dimensions);
      expectDrawnFrom(sample, documents);
    });

    it('has the texts when they are asked for, and only then', async () => {
      const store = bench.open(index);
      const contents = new Map(documents.map(({ id, content }) => [id, content]));
      const sample = valueOf(await store.sample({ n: 20, seed: 3, withContent: true }, never));
      expect(sample.contents).toEqual(sample.ids.map((id) => contents.get(id)));
      expect(new Set((await sampleOf(store, 20, 3)).contents)).toEqual(new Set([null]));
    });

    it('is the whole store when more is asked for than there is', async () => {
      const store = bench.open(index);
      const sample = await sampleOf(store, 1000, 5);
      expect(sample.ids.toSorted()).toEqual(documents.map(({ id }) => id));
      expectDrawnFrom(sample, documents);
    });

    it('is the same for the same seed where the store can do that, and another for another seed', async () => {
      const store = bench.open(index);
      const [first, again, other] = [
        await sampleOf(store, 50, 11),
        await sampleOf(store, 50, 11),
        await sampleOf(store, 50, 12),
      ];
      expect(first.isSeeded).toBe(abilities.seededSample);
      if (abilities.seededSample) expect(again.ids).toEqual(first.ids);
      expect(other.ids.toSorted()).not.toEqual(first.ids.toSorted());
    });

    it('is uniform over documents that came topic by topic, and over each of them', async () => {
      const store = bench.open(index);
      const perTopic: number[][] = [];
      const perDocument = new Map(documents.map(({ id }) => [id, 0]));
      for (let seed = 1; seed <= 20; seed += 1) {
        const { ids } = await sampleOf(store, 150, seed);
        perTopic.push(countTopics(ids, shape));
        for (const id of ids) perDocument.set(id, (perDocument.get(id) ?? 0) + 1);
      }
      expect(Math.abs(unevenness(perTopic, 150 / shape.count))).toBeLessThan(LIMIT);
      expect(Math.abs(unevenness([[...perDocument.values()]], 150 / shape.count))).toBeLessThan(LIMIT);
    });

    it('of an empty store is empty', async () => {
      const store = bench.open(await bench.makeIndex([], shape.dimensions));
      const sample = await sampleOf(store, 10, 1);
      expect(sample).toMatchObject({ ids: [], contents: [], vectors: { rows: 0 } });
    });
  });

  it('draws a uniform sample from a large store too', async () => {
    const { index, documents: many, shape: large } = await bench.large();
    const store = bench.open(index);
    const perTopic: number[][] = [];
    for (const seed of [21, 22, 23, 24, 25]) {
      const sample = await sampleOf(store, 800, seed);
      expect(sample.ids).toHaveLength(800);
      expectDrawnFrom(sample, many);
      perTopic.push(countTopics(sample.ids, large));
    }
    expect(Math.abs(unevenness(perTopic, 800 / large.count))).toBeLessThan(LIMIT);
  });
}

/** Documents are numbered topic by topic. */
function countTopics(ids: readonly string[], { count, topics }: { count: number; topics: number }): number[] {
  const counts = Array.from({ length: topics }, () => 0);
  for (const id of ids) {
    const topic = Math.floor((Number(id.slice('doc-'.length)) * topics) / count);
    counts[topic] = (counts[topic] ?? 0) + 1;
  }
  return counts;
}
