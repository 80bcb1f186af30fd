import { expect, it } from 'vitest';
import { observeLive, observeWords } from '../../../../src/incidents/diagnosis/observe-live.ts';
import type { MeasurementOutcome } from '../../../../src/measures/rules/measurement.ts';
import { NOON } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { aMeasurement, hours, latestAt } from '../../../support/measurements.ts';

/** Observations of live traffic at noon. An hour earlier, the most frequent query already had 39 % of the traffic. */
function observed(...series: readonly MeasurementOutcome[]) {
  const measurements = {
    series: async () => [aMeasurement({ measure: 'top_query_ratio', value: 0.39, windowEnd: hours(-1) })],
  };
  const windows = { latency95: async ({ until }: { until: Date }) => ({ ms: until < NOON ? 40 : 900, n: 100 }) };
  const { db } = contextOf({ db: { measurements, live: { windows } } });
  const around = { pipeline: 'docs', good: hours(-1), opened: hours(-0.5), measurements: db.measurements };
  return observeLive(db.live.windows, { ...around, latest: latestAt(NOON, ...series) }, NOON);
}

const top = aMeasurement({ measure: 'top_query_ratio', value: 0.4, ciLow: 0.38, ciHigh: 0.42 });

it('compares a measure with its normal value, or with an earlier window if no normal value is known', async () => {
  const ranges = { top_query_ratio: { normal: 0.02, low: 0, high: 0.12, n: 40 } };
  const normal = aMeasurement({ measure: 'measures_normal', details: ranges });
  expect((await observed(top, normal)).topQuery).toMatchObject({ value: 0.4, ciHigh: 0.42, before: 0.02 });
  expect((await observed(top)).topQuery).toMatchObject({ value: 0.4, before: 0.39 });
});

it('compares the latencies that the service reports since the onset with those of the day before', async () => {
  expect((await observed()).latency).toEqual({ before: 40, now: 900, n: 100 });
});

it('uses the drop that change detection found in feedback', async () => {
  const drop = aMeasurement({
    measure: 'feedback_drop_evidence_ratio',
    value: 2,
    n: 100,
    details: { baseline_positive_ratio: 0.8, positive_ratio: 0.4 },
  });
  expect((await observed(drop)).feedback).toMatchObject({ value: 0.4, before: 0.8, of: 'opinions', isDrop: true });
  expect((await observed({ ...drop, value: 0.5 })).feedback).toBeNull();
});

it('uses the results of replayed and shortened queries only if they were measured just before the incident opened', () => {
  const details = { asked: 8, varying: 0, recovered: 0, changed: 8, startIgnored: 0, endIgnored: 7, restored: 0 };
  const words = aMeasurement({ measure: 'ignored_ending_ratio', value: 0.875, n: 8, details });
  const { db } = contextOf({});
  const found = (openedAfterHours: number) =>
    observeWords({
      pipeline: 'docs',
      good: hours(-1),
      opened: hours(openedAfterHours),
      measurements: db.measurements,
      latest: latestAt(NOON, words),
    });
  expect(found(3 / 3600)).toEqual(details);
  expect(found(1 / 60)).toBeNull();
});
