/** Samples of empty and large stores; src/connectors/stores/store-tests contains the requirements for every sample. */
import { expect, it } from 'vitest';
import { MAX_UNEVEN, unevenness } from '../../src/connectors/stores/store-tests/subject.ts';
import { type Bench, never, valueOf } from './vector-store-bench.ts';

export function describeSample(bench: Bench): void {
  it('returns an empty sample from an empty store, with or without a seed', async () => {
    const store = bench.open(await bench.makeIndex([], 16));
    const sample = valueOf(await store.sample({ n: 10, seed: 1, withContent: false }, never));
    expect(sample).toMatchObject({ ids: [], contents: [], vectors: { rows: 0 } });
  });

  it('returns a uniform sample from a large store that was filled topic by topic', async () => {
    const { index, shape: large } = await bench.large();
    const store = bench.open(index);
    const perTopic: number[][] = [];
    for (const seed of [21, 22, 23, 24, 25]) {
      const { ids, isSeeded } = valueOf(await store.sample({ n: 800, seed, withContent: false }, never));
      expect(new Set(ids).size).toBe(800);
      expect(isSeeded).toBe(bench.abilities.seededSample);
      perTopic.push(countTopics(ids, large));
    }
    expect(Math.abs(unevenness(perTopic, 800 / large.count))).toBeLessThan(MAX_UNEVEN);
  });
}

/** Counts the documents of each topic. The ids of a topic's documents have consecutive numbers. */
function countTopics(ids: readonly string[], { count, topics }: { count: number; topics: number }): number[] {
  const counts = Array.from({ length: topics }, () => 0);
  for (const id of ids) {
    const topic = Math.floor((Number(id.slice('doc-'.length)) * topics) / count);
    counts[topic] = (counts[topic] ?? 0) + 1;
  }
  return counts;
}
