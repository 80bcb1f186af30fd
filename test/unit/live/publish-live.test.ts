/**
 * Tests the live gauges of the pipeline `docs`, which are read at noon and published a few seconds later. Live traffic
 * is measured every 5 minutes.
 */
import { describe, expect, it } from 'vitest';
import { liveGauges } from '../../../src/live/publish-live.ts';
import { liveMeasures } from '../../../src/live/rules/live-measures.ts';
import { NOON } from '../../support/builders.ts';
import { aGap, aMeasurement, latestAt } from '../../support/measurements.ts';

function gaugesAt(seconds: number, ...series: Parameters<typeof latestAt>[1][]) {
  const measurements = latestAt(NOON, ...series);
  const gauges = liveGauges({ pipelines: ['docs'], intervalSeconds: 300 }, { measurements });
  return gauges(new Date(NOON.getTime() + seconds * 1000));
}

describe('the gauges of live traffic', () => {
  it('export the value, its confidence interval and its sample size', () => {
    const labels = { pipeline: 'docs', segment: 'lang=en' };
    expect(gaugesAt(1, aMeasurement({ segment: 'lang=en' }))).toEqual([
      { name: 'recalld_query_error_ratio', labels, value: 0.2 },
      { name: 'recalld_query_error_ratio_ci_low', labels, value: 0.1 },
      { name: 'recalld_query_error_ratio_ci_high', labels, value: 0.3 },
      { name: 'recalld_live_measure_samples', labels: { ...labels, measure: 'error_ratio' }, value: 40 },
    ]);
  });

  it.each(liveMeasures)('exist for %s', (measure) => {
    const names = gaugesAt(1, aMeasurement({ measure })).map(({ name }) => name);
    expect(names).toHaveLength(4);
    expect(names[1]).toBe(`${names[0]}_ci_low`);
  });

  it('export the reason instead of a missing value', () => {
    const later = {
      windowEnd: new Date(NOON.getTime() + 300_000),
      measuredAt: new Date(NOON.getTime() + 300_000),
    };
    const labels = { pipeline: 'docs', segment: 'all', measure: 'error_ratio', reason: 'too_few_sessions' };
    expect(gaugesAt(301, [aMeasurement(), aGap(later)])).toEqual([
      { name: 'recalld_live_measure_no_data', labels, value: 1 },
    ]);
  });

  it('are no longer exported after three intervals, except for the time of the last success', () => {
    const read = aMeasurement({ measure: 'samples_read_ratio', value: 1, ciLow: null, ciHigh: null });
    const outcomes = [aMeasurement(), aGap({ measure: 'zero_results_ratio' }), read];
    const names = (seconds: number) => new Set(gaugesAt(seconds, ...outcomes).map(({ name }) => name));
    const fresh = names(900);
    expect(fresh).toContain('recalld_query_error_ratio');
    expect(fresh).toContain('recalld_live_measure_no_data');
    expect(fresh).toContain('recalld_live_measure_samples_read_ratio');
    expect(names(901)).toEqual(new Set(['recalld_live_measure_last_success_timestamp_seconds']));
    expect(gaugesAt(901, ...outcomes)).toMatchObject([{ value: NOON.getTime() / 1000 }]);
  });

  it('omit pipelines that are no longer configured, and measures of other kinds', () => {
    const others = [aMeasurement({ pipeline: 'gone' }), aMeasurement({ measure: 'query_density' })];
    expect(gaugesAt(1, ...others)).toEqual([]);
  });
});
