import { expect, it } from 'vitest';
import { type StoredSnapshot, snapshotsTable } from '../../../src/index/probes/probes.ts';
import { useDatabase } from '../../support/database.ts';
import { hours } from '../../support/measurements.ts';

const database = useDatabase();

function aSnapshot(parts: Partial<StoredSnapshot> = {}): StoredSnapshot {
  return {
    pipeline: 'docs',
    takenAt: hours(0),
    vectors: 2000,
    centroid: Float64Array.of(0.1, -0.2, 1 / 3),
    meanLength: 1.5,
    clusters: { rows: 2, columns: 3, data: Float32Array.of(1, 0, 0, 0, 1, 0) },
    shares: Float64Array.of(0.75, 0.25),
    queryShares: Float64Array.of(0, 1),
    medoids: ['chunk-7', null],
    ...parts,
  };
}

it('the latest snapshot of a pipeline is read exactly as it was stored', async () => {
  const snapshots = snapshotsTable(database.pool);
  expect(await snapshots.latest('docs')).toBeNull();
  await snapshots.save(aSnapshot({ takenAt: hours(-6), queryShares: null }));
  expect((await snapshots.latest('docs'))?.queryShares).toBeNull();
  await snapshots.save(aSnapshot());
  expect(await snapshots.latest('docs')).toEqual(aSnapshot());
  expect(await snapshots.latest('faq')).toBeNull();
});

it('only the newest thirty snapshots of each pipeline are stored', async () => {
  const snapshots = snapshotsTable(database.pool);
  await snapshots.save(aSnapshot({ pipeline: 'other' }));
  for (let index = 0; index < 33; index += 1) {
    await snapshots.save(aSnapshot({ pipeline: 'many', takenAt: hours(index) }));
  }
  const { rows } = await database.pool.query<{ pipeline: string; kept: number }>(
    "select pipeline, count(*)::integer as kept from store_snapshots where pipeline in ('many', 'other') group by pipeline order by pipeline",
  );
  expect(rows).toEqual([
    { pipeline: 'many', kept: 30 },
    { pipeline: 'other', kept: 1 },
  ]);
});
