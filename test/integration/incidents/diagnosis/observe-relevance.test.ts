import { expect, it } from 'vitest';
import { observeRelevance } from '../../../../src/incidents/diagnosis/observe-live.ts';
import { createMeasurements } from '../../../../src/measures/measurements.ts';
import { NOON } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import { aMeasurement, hours } from '../../../support/measurements.ts';

const database = useDatabase();
let pipelines = 0;

async function observed(hitRate: number, parts: Parameters<typeof aMeasurement>[0] = {}) {
  const measurements = createMeasurements(database.pool);
  const pipeline = `docs-${(pipelines += 1)}`;
  const score = { pipeline, measure: 'live_hit_rate', ciMethod: 'jackknife' };
  const bounds = { ciLow: hitRate - 0.1, ciHigh: hitRate + 0.1 };
  await measurements.record([
    aMeasurement({
      ...score,
      value: 0.9,
      ciLow: 0.8,
      ciHigh: 1,
      windowEnd: hours(-3),
      windowStart: hours(-9),
      measuredAt: hours(-3),
    }),
    aMeasurement({ ...score, value: hitRate, ...bounds, windowStart: hours(-9) }),
    ...(parts.measure === undefined ? [] : [aMeasurement({ ...parts, pipeline })]),
  ]);
  const latest = (await measurements.latest(NOON)).filter((one) => one.pipeline === pipeline);
  return observeRelevance({ pipeline, good: hours(-2), opened: hours(-1), measurements, latest });
}

it('a drop in judged relevance is reported if the whole confidence interval is below the earlier score', async () => {
  const found = { state: 'below', measure: 'live_hit_rate', value: 0.5, ciHigh: 0.6, before: 0.9 };
  expect(await observed(0.5)).toMatchObject(found);
  expect(await observed(0.85)).toBeNull();
  // nDCG did not change, because the missing answer is also missing from the ideal ranking.
  const drop = { measure: 'live_ndcg_drop', value: 0, ciLow: -0.1, ciHigh: 0.1 };
  expect(await observed(0.5, { ...drop, details: { state: 'none' } })).toMatchObject(found);
  expect(await observed(0.85, { ...drop, details: { state: 'none' } })).toMatchObject({ state: 'none' });
  expect(await observed(0.5, { ...drop, details: { state: 'detected' } })).toMatchObject({ state: 'detected' });
});
