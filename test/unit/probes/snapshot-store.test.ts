import { describe, expect, it } from 'vitest';
import { compareStoreWithTraffic, takeStoreSnapshot } from '../../../src/density/rules/store-snapshot.ts';
import { snapshotStore } from '../../../src/probes/probe-jobs.ts';
import type { StoredSnapshot } from '../../../src/probes/probes.ts';
import { matrixOf } from '../../../src/vector/matrix.ts';
import { MemoryDeployments } from '../../support/memory-deployments.ts';
import { MemoryEmbeddingCanaries } from '../../support/memory-embedding-canaries.ts';
import { MemoryMeasurements } from '../../support/memory-measurements.ts';
import { MemoryLogger } from '../../support/memory-telemetry.ts';
import { failed, neighbours, ok, type Script, scriptedStore } from '../../support/scripted-store.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';
import { uniforms } from '../../support/uniforms.ts';

const never = new AbortController().signal;
const uniform = uniforms(3);

function around(axis: number, count: number): Float32Array[] {
  return Array.from({ length: count }, () =>
    Float32Array.from({ length: 6 }, (_, i) => (i === axis ? 1 : (uniform() - 0.5) * 0.2)),
  );
}

const chunks = [...around(0, 80), ...around(1, 40)];

function setUp(questions: readonly Float32Array[], script: Partial<Script> = {}) {
  const clock = new SteerableClock();
  const kept: StoredSnapshot[] = [];
  const measurements = new MemoryMeasurements();
  const samples = questions.map((embedding, index) => ({
    id: `q${index}`,
    text: null,
    embedding,
    probability: 0.5,
    sessionHash: `s${index}`,
  }));
  const deps = {
    clock,
    logger: new MemoryLogger(),
    deployments: new MemoryDeployments(),
    measurements,
    canaries: new MemoryEmbeddingCanaries(),
    samples: { draw: async () => samples },
    snapshots: {
      latest: async () => kept.at(-1) ?? null,
      save: async (snapshot: StoredSnapshot) => void kept.push(snapshot),
    },
    compute: {
      async describeStore(
        sample: Parameters<typeof takeStoreSnapshot>[0],
        traffic: { queries: typeof sample; weights: Float64Array },
      ) {
        const snapshot = takeStoreSnapshot(sample, 1);
        if (snapshot === null) return null;
        return {
          snapshot,
          traffic: compareStoreWithTraffic(sample, snapshot, traffic.queries, traffic.weights),
        };
      },
    },
  };
  const store = scriptedStore({
    sample: () =>
      ok({
        ids: chunks.map((_, index) => `c${index}`),
        vectors: matrixOf(chunks),
        contents: chunks.map(() => null),
        isSeeded: true,
      }),
    // Every vector is found, and a copy of it beside.
    nearest: () => ok(neighbours(['self', 1], ['copy', 1])),
    ...script,
  });
  const value = async (measure: string) =>
    (await measurements.latest(clock.now())).find((one) => one.measure === measure);
  return { deps, store, kept, clock, value };
}

describe('a look at what a store holds', () => {
  it('keeps its clusters with typical chunks, and measures it against what people ask', async () => {
    const { deps, store, kept, value } = setUp(around(1, 60));
    await snapshotStore(deps, 'docs', store, never);
    expect(kept).toHaveLength(1);
    expect(kept[0]?.shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
    expect(kept[0]?.queryShares?.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
    expect(kept[0]?.medoids.every((id) => id?.startsWith('c'))).toBe(true);
    expect((await value('store_query_divergence'))?.newest?.value).toBeGreaterThan(0.3);
    expect((await value('store_chunks_unasked_ratio'))?.newest?.value).toBeGreaterThan(0.5);
    expect((await value('store_duplicates_ratio'))?.newest).toMatchObject({ value: 1, n: 100 });
    expect(await value('store_centroid_shift')).toBeUndefined();
  });

  it('tells from the second look on what moved', async () => {
    const { deps, store, clock, value } = setUp([]);
    await snapshotStore(deps, 'docs', store, never);
    await clock.advance(21_600_000);
    await snapshotStore(deps, 'docs', store, never);
    expect((await value('store_centroid_shift'))?.newest?.value).toBeCloseTo(0, 12);
    expect((await value('store_length_ratio'))?.newest?.value).toBe(1);
    expect(await value('store_query_divergence')).toBeUndefined();
  });

  it.each([
    ['store_failed', { sample: () => failed('down') }],
    ['unsupported', { sample: () => ({ kind: 'unsupported', reason: 'no random draw' }) as const }],
    ['store_empty', { sample: () => ok({ ids: [], vectors: matrixOf([]), contents: [], isSeeded: true }) }],
  ])('leaves the reason %s when there is nothing to look at', async (reason, script) => {
    const { deps, store, kept, value } = setUp([], script);
    await snapshotStore(deps, 'docs', store, never);
    expect((await value('store_sample_vectors'))?.gap).toMatchObject({ reason });
    expect(kept).toEqual([]);
  });

  it('says nothing of copies when the store cannot be asked', async () => {
    const { deps, store, value } = setUp([], { nearest: () => failed('busy') });
    await snapshotStore(deps, 'docs', store, never);
    expect(await value('store_duplicates_ratio')).toBeUndefined();
    expect((await value('store_sample_vectors'))?.newest?.value).toBe(120);
  });
});
