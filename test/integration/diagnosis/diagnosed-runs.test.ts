import { expect, it } from 'vitest';
import { latestEnded } from '../../../src/diagnosis/runs-around.ts';
import { createGoldenRuns } from '../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../src/golden/sql/golden-sets.ts';
import { aSchedule, aWatchedPipeline } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { anEnd, minutes, putRun } from '../../support/golden-runs.ts';

const database = useDatabase();

it('the run that is looked at is the last that ended, however many wait behind it', async () => {
  const stores = { runs: createGoldenRuns(database.pool), sets: createGoldenSets(database.pool) };
  const pipeline = aWatchedPipeline({ golden: [aSchedule()] });
  expect(await latestEnded(stores, pipeline, [])).toBeNull();
  await putRun(stores, { id: 'well', startedAt: minutes(0) }, { end: anEnd() });
  await putRun(stores, { id: 'void', startedAt: minutes(1) }, { end: anEnd({ status: 'void' }) });
  await putRun(stores, { id: 'cancelled', startedAt: minutes(2) }, { end: anEnd({ status: 'cancelled' }) });
  for (let n = 0; n < 20; n += 1) await putRun(stores, { id: `waits-${n}`, startedAt: minutes(3 + n) });
  expect(await latestEnded(stores, pipeline, [])).toMatchObject({ id: 'void' });
});
