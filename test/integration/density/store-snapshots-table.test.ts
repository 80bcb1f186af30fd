import { expect, it } from 'vitest';
import { snapshotsTable } from '../../../src/index/probes/probes.ts';
import { useDatabase } from '../../support/database.ts';
import { hours } from '../../support/measurements.ts';

const database = useDatabase();
const older = { centroid: Float64Array.of(0.1, -0.2, 1 / 3), meanLength: 1.5 };
const newer = { centroid: Float64Array.of(1, 0), meanLength: 2 };

it('the table returns the newest snapshot of each pipeline exactly as it was stored', async () => {
  const snapshots = snapshotsTable(database.pool);
  expect(await snapshots.latest('docs')).toBeNull();
  await snapshots.save('docs', hours(-6), older);
  expect(await snapshots.latest('docs')).toEqual(older);
  await snapshots.save('docs', hours(0), newer);
  expect(await snapshots.latest('docs')).toEqual(newer);
  expect(await snapshots.latest('faq')).toBeNull();
});

it('the table does not replace a snapshot with an older one', async () => {
  const snapshots = snapshotsTable(database.pool);
  await snapshots.save('late', hours(0), newer);
  await snapshots.save('late', hours(-6), older);
  expect(await snapshots.latest('late')).toEqual(newer);
});
