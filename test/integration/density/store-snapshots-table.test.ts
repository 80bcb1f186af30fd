import { expect, it } from 'vitest';
import { type StoredSnapshot, snapshotsTable } from '../../../src/index/probes/probes.ts';
import { vectorOfBytes } from '../../../src/platform/postgres/values.ts';
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

it('stores a snapshot, and reads the centroid of the latest one of a pipeline exactly', async () => {
  const snapshots = snapshotsTable(database.pool);
  expect(await snapshots.latest('docs')).toBeNull();
  await snapshots.save(aSnapshot({ takenAt: hours(-6), meanLength: 2, queryShares: null }));
  await snapshots.save(aSnapshot());
  const { centroid, meanLength } = aSnapshot();
  expect(await snapshots.latest('docs')).toEqual({ centroid, meanLength });
  expect(await snapshots.latest('faq')).toBeNull();
  const { rows } = await database.pool.query<{ clusters: Buffer }>(
    "select taken_at, vectors, dimensions, clusters, chunk_shares, query_shares, medoids from store_snapshots where pipeline = 'docs' order by taken_at",
  );
  const stored = { vectors: 2000, dimensions: 3, chunk_shares: [0.75, 0.25], medoids: ['chunk-7', null] };
  expect(rows).toMatchObject([
    { ...stored, taken_at: hours(-6), query_shares: null },
    { ...stored, taken_at: hours(0), query_shares: [0, 1] },
  ]);
  expect(rows.map(({ clusters }) => vectorOfBytes(clusters))).toEqual([
    aSnapshot().clusters.data,
    aSnapshot().clusters.data,
  ]);
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
