import { expect, it } from 'vitest';
import { liveMixGauges } from '../../../src/golden/gauges.ts';
import { gapNow, valueNow } from '../../../src/index/probes/probes.ts';
import type { MeasurementOutcome } from '../../../src/measures/rules/measurement.ts';
import { aWatchedPipeline, NOON } from '../../support/builders.ts';
import { latestAt } from '../../support/measurements.ts';

const HOUR = 3_600_000;
const bounds = { ciLow: 0.3, ciHigh: 0.5, ciMethod: 't' } as const;

function ofSet(set: string, outcome: MeasurementOutcome): MeasurementOutcome {
  return { ...outcome, segment: `golden_set=${set}` };
}
const covered = valueNow('docs', 'golden_representativeness', NOON, {
  ...bounds,
  value: 0.4,
  n: 100,
  details: { represented: 0.8 },
});
const score = valueNow('docs', 'golden_live_mix_ndcg', NOON, {
  ...bounds,
  value: 0.45,
  n: 17,
  details: { metric: 'ndcg@10', effective_sample_size: 17.6, represented: 0.8 },
});

const measured = latestAt(NOON, ofSet('faq', covered), ofSet('faq', score));

function gauges(measurements: ReturnType<typeof latestAt>, hours: number): string[] {
  const gaugesAt = liveMixGauges([aWatchedPipeline()], { measurements });
  const samples = gaugesAt(new Date(NOON.getTime() + hours * HOUR));
  return samples.map(
    ({ name, labels, value }) =>
      `${name}{${Object.entries(labels)
        .map(([label, text]) => `${label}=${text}`)
        .join(',')}} ${value}`,
  );
}

it('the representativeness of a golden set is exported with confidence bounds and the effective sample size', () => {
  expect(gauges(measured, 6)).toEqual([
    'recalld_golden_live_covered_ratio{pipeline=docs,golden_set=faq} 0.4',
    'recalld_golden_live_covered_ratio_ci_low{pipeline=docs,golden_set=faq} 0.3',
    'recalld_golden_live_covered_ratio_ci_high{pipeline=docs,golden_set=faq} 0.5',
    'recalld_golden_live_represented_ratio{pipeline=docs,golden_set=faq} 0.8',
    'recalld_golden_live_mix_score{pipeline=docs,golden_set=faq,measure=ndcg,k=10} 0.45',
    'recalld_golden_live_mix_score_ci_low{pipeline=docs,golden_set=faq,measure=ndcg,k=10} 0.3',
    'recalld_golden_live_mix_score_ci_high{pipeline=docs,golden_set=faq,measure=ndcg,k=10} 0.5',
    'recalld_golden_live_mix_effective_queries{pipeline=docs,golden_set=faq} 17.6',
  ]);
});

it('values older than three measurement intervals are not exported', () => {
  expect(gauges(measured, 19)).toEqual([]);
});

it('values that a later measurement could not compute are not exported', () => {
  const later = new Date(NOON.getTime() + 6 * HOUR);
  const gap = ofSet('faq', gapNow('docs', 'golden_representativeness', later, 'embedder_failed'));
  expect(gauges(latestAt(NOON, [ofSet('faq', covered), gap]), 7)).toEqual([]);
});

it('sets and pipelines that are no longer in the config are not exported', () => {
  const gone = latestAt(NOON, ofSet('gone', covered), ofSet('faq', { ...score, pipeline: 'gone' }));
  expect(gauges(gone, 1)).toEqual([]);
});
