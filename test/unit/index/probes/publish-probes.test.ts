import { expect, it } from 'vitest';
import { readProbeGauges } from '../../../../src/index/probes/probes.ts';
import type { Measurement } from '../../../../src/measures/rules/measurement.ts';
import { aWatchedPipeline, NOON } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { aGap, aMeasurement, latestAt } from '../../../support/measurements.ts';

const noBounds = { ciLow: null, ciHigh: null, ciMethod: null };

async function gaugesAfter(seconds: number, ...series: Parameters<typeof latestAt>[1][]) {
  const seen = { component: 'index', traits: {}, since: NOON, seenAt: NOON } as const;
  const fingerprints = async () => [
    { ...seen, pipeline: 'docs', fingerprint: 'abc' },
    { ...seen, pipeline: 'gone', fingerprint: 'def' },
  ];
  const deps = contextOf({
    db: { live: { deployments: { fingerprints } } },
    pipelines: [aWatchedPipeline({ name: 'docs' })],
  });
  const gaugesAt = await readProbeGauges(deps, { measurements: latestAt(NOON, ...series) });
  const samples = gaugesAt(new Date(NOON.getTime() + seconds * 1000));
  return new Map(samples.map(({ name, labels, value }) => [name, { ...labels, value }]));
}

const now = (measure: string, parts: Partial<Measurement> = {}): Measurement => aMeasurement({ measure, ...parts });

it('exports probe results with their intervals and n, but not those of removed pipelines', async () => {
  const gauges = await gaugesAfter(
    60,
    now('store_vectors', { value: 12_000, ...noBounds }),
    now('ann_recall', { value: 0.95, ciLow: 0.9, ciHigh: 0.98, n: 20, details: { k: 10 } }),
    now('store_sample_vectors', { value: 2000, ...noBounds }),
    now('store_vectors', { pipeline: 'gone', value: 1, ...noBounds }),
  );
  expect(gauges.get('recalld_store_vectors')).toEqual({ pipeline: 'docs', value: 12_000 });
  expect(gauges.get('recalld_ann_recall_ratio')).toEqual({ pipeline: 'docs', k: '10', value: 0.95 });
  expect(gauges.get('recalld_ann_recall_ratio_ci_low')?.value).toBe(0.9);
  expect(gauges.get('recalld_ann_recall_queries')?.value).toBe(20);
  expect(gauges.get('recalld_store_sample_age_seconds')?.value).toBe(60);
  expect(gauges.get('recalld_index_info')).toEqual({ pipeline: 'docs', fingerprint: 'abc', value: 1 });
});

it('withholds a stale value but still exports its time', async () => {
  const gauges = await gaugesAfter(1000, now('store_vectors', { value: 5, ...noBounds }));
  expect(gauges.has('recalld_store_vectors')).toBe(false);
  expect(gauges.has('recalld_probe_last_success_timestamp_seconds')).toBe(true);
});

it('exports the reason when the latest probe returned no value', async () => {
  const gauges = await gaugesAfter(60, [
    now('store_vectors', { value: 5, windowStart: new Date(0), windowEnd: new Date(0), ...noBounds }),
    aGap({ measure: 'store_vectors', reason: 'store_failed' }),
  ]);
  expect(gauges.has('recalld_store_vectors')).toBe(false);
  expect(gauges.get('recalld_probe_no_data')).toMatchObject({
    measure: 'store_vectors',
    reason: 'store_failed',
    value: 1,
  });
});
