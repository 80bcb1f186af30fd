import { beforeAll, describe, expect, it } from 'vitest';
import { computeOfCommands } from '../../../../src/density/compute.ts';
import { snapshotStore } from '../../../../src/index/probes/probe-jobs.ts';
import { canariesTable, snapshotsTable } from '../../../../src/index/probes/probes.ts';
import { createDeployments } from '../../../../src/live/deployments/deployments.ts';
import { createLiveSamples } from '../../../../src/live/sql/live-samples.ts';
import { createLiveTraffic } from '../../../../src/live/sql/live-traffic.ts';
import { matrixOf } from '../../../../src/math/vector/matrix.ts';
import { createMeasurements } from '../../../../src/measures/measurements.ts';
import { NOON } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { aLiveSample } from '../../../support/live-rows.ts';
import { MemoryLogger } from '../../../support/memory-telemetry.ts';
import { failed, neighbours, ok, type Script, scriptedStore } from '../../../support/scripted-store.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';
import { uniforms } from '../../../support/uniforms.ts';

const database = useDatabase();
const never = new AbortController().signal;
const uniform = uniforms(3);

function around(axis: number, count: number): Float32Array[] {
  return Array.from({ length: count }, () =>
    Float32Array.from({ length: 6 }, (_, i) => (i === axis ? 1 : (uniform() - 0.5) * 0.2)),
  );
}

const chunks = [...around(0, 80), ...around(1, 40)];

let pipelines = 0;

beforeAll(() => createLiveTraffic(database.pool, 'a').createPartitions(NOON));

/** A separate pipeline that received these queries at noon. */
async function setUp(questions: readonly Float32Array[], script: Partial<Script> = {}) {
  const clock = new SteerableClock();
  const pipeline = `docs-${(pipelines += 1)}`;
  const { pool } = database;
  const samples = questions.map((embedding, index) => aLiveSample({ pipeline, id: `q${index}`, embedding }));
  await createLiveTraffic(pool, 'a').record({ samples, counts: [], levels: [] });
  const measurements = createMeasurements(pool);
  const snapshots = snapshotsTable(pool);
  const deps = contextOf({
    clock,
    logger: new MemoryLogger(),
    db: {
      live: { deployments: createDeployments(pool), samples: createLiveSamples(pool) },
      measurements,
      index: { canaries: canariesTable(pool), snapshots },
    },
    compute: computeOfCommands,
  });
  const store = scriptedStore({
    sample: () =>
      ok({
        ids: chunks.map((_, index) => `c${index}`),
        vectors: matrixOf(chunks),
        contents: chunks.map(() => null),
        isSeeded: true,
      }),
    // Every vector has a duplicate.
    nearest: () => ok(neighbours(['self', 1], ['copy', 1])),
    ...script,
  });
  const value = async (measure: string) =>
    (await measurements.latest(clock.now())).find((one) => one.pipeline === pipeline && one.measure === measure);
  return {
    clock,
    value,
    takeSnapshot: () => snapshotStore(deps, pipeline, store, never),
    stored: () => snapshots.latest(pipeline),
  };
}

describe('a store snapshot', () => {
  it('compares the store with live queries', async () => {
    const { takeSnapshot, value } = await setUp(around(1, 60));
    await takeSnapshot();
    expect((await value('store_query_divergence'))?.newest?.value).toBeGreaterThan(0.3);
    expect((await value('store_chunks_unqueried_ratio'))?.newest?.value).toBeGreaterThan(0.5);
    expect((await value('store_duplicates_ratio'))?.newest).toMatchObject({ value: 1, n: 100 });
    expect(await value('store_centroid_shift')).toBeUndefined();
  });

  it('measures shifts from the second snapshot on', async () => {
    const { takeSnapshot, clock, value } = await setUp([]);
    await takeSnapshot();
    await clock.advance(21_600_000);
    await takeSnapshot();
    expect((await value('store_centroid_shift'))?.newest?.value).toBeCloseTo(0, 12);
    expect((await value('store_length_ratio'))?.newest?.value).toBe(1);
    expect(await value('store_query_divergence')).toBeUndefined();
  });

  it.each([
    ['store_failed', { sample: () => failed('down') }],
    ['unsupported', { sample: () => ({ kind: 'unsupported', reason: 'no random draw' }) as const }],
    ['store_empty', { sample: () => ok({ ids: [], vectors: matrixOf([]), contents: [], isSeeded: true }) }],
  ])('records the reason %s when no snapshot is possible', async (reason, script) => {
    const { takeSnapshot, value, stored } = await setUp([], script);
    await takeSnapshot();
    expect((await value('store_sample_vectors'))?.gap).toMatchObject({ reason });
    expect(await stored()).toBeNull();
  });

  it('records the reason for a missing duplicate share when the store fails midway, and keeps the rest', async () => {
    const { takeSnapshot, value } = await setUp([], { nearest: () => failed('busy') });
    await takeSnapshot();
    expect(await value('store_duplicates_ratio')).toMatchObject({ newest: null, gap: { reason: 'store_failed' } });
    expect((await value('store_sample_vectors'))?.newest?.value).toBe(120);
  });
});
