import { describe, expect, it } from 'vitest';
import { backtestThresholds } from '../../../src/checks/backtest.ts';
import type { ThresholdCheck } from '../../../src/checks/rules/threshold.ts';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import { useDatabase } from '../../support/database.ts';
import { aMeasurement, hours } from '../../support/measurements.ts';

const database = useDatabase();
let pipelines = 0;

const errors: ThresholdCheck = {
  measure: 'error_ratio',
  threshold: 0.05,
  severity: 'critical',
  segments: 'all',
  minN: 100,
  confirm: 2,
  noData: 'silent',
};

async function backtest(shares: readonly number[], check: ThresholdCheck, segment = 'all') {
  const measurements = createMeasurements(database.pool);
  const pipeline = `docs-${(pipelines += 1)}`;
  await measurements.record(
    shares.flatMap((value, hour) =>
      [segment, 'all'].map((one) =>
        aMeasurement({
          pipeline,
          measure: 'error_ratio',
          segment: one,
          value: one === segment ? value : 0.01,
          ciLow: one === segment ? value * 0.9 : 0.005,
          ciHigh: one === segment ? value * 1.1 : 0.02,
          n: 1000,
          windowStart: hours(hour - 24),
          windowEnd: hours(hour),
          measuredAt: hours(hour),
        }),
      ),
    ),
  );
  return backtestThresholds(
    database.pool,
    {
      pipeline,
      thresholds: [check],
      from: hours(0),
      period: { until: hours(shares.length), trustedSeconds: 3 * 3600 },
    },
    new AbortController().signal,
  );
}

describe('a backtest of thresholds', () => {
  it('reports how often and how long each check would have fired, with hysteresis and confirmation', async () => {
    const shares = [0.01, 0.2, 0.01, 0.01, 0.2, 0.2, 0.2, 0.01, 0.01, 0.01];
    expect(await backtest(shares, errors)).toMatchObject([
      {
        name: 'error_ratio above 0.05',
        evaluations: 10,
        transitions: 2,
        firings: [{ verdict: 'critical', episodes: 1, firstAt: hours(5), totalSeconds: 3 * 3600 }],
      },
    ]);
  });

  it('evaluates the segments of one window together', async () => {
    const each: ThresholdCheck = { ...errors, segments: 'each' };
    const [found] = await backtest([0.01, 0.3, 0.3, 0.3], each, 'tenant=acme');
    expect(found?.firings).toMatchObject([{ verdict: 'critical', episodes: 1 }]);
    expect(found?.firings[0]?.example).toContain('tenant=acme');
    expect(await backtest([0.01, 0.3, 0.3, 0.3], errors, 'tenant=acme')).toMatchObject([{ firings: [] }]);
  });

  it('omits a check whose measure was never recorded', async () => {
    expect(await backtest([], errors)).toEqual([]);
  });
});
