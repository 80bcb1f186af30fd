import { describe, expect, it } from 'vitest';
import { type LivePlan, measureLiveTraffic } from '../../../src/live/measure-live-traffic.ts';
import type { WindowQuery } from '../../../src/live/sql/live-windows.ts';
import type { MeasurementOutcome } from '../../../src/measures/rules/measurement.ts';
import { NOON } from '../../support/builders.ts';
import { aClick, hoursAgo, samples } from '../../support/live-samples.ts';
import { MemoryLiveWindows } from '../../support/memory-live-windows.ts';
import { MemoryMeasurements } from '../../support/memory-measurements.ts';
import { MemoryLogger } from '../../support/memory-telemetry.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const HOUR_MS = 3_600_000;

function aPlan(parts: Partial<LivePlan> = {}): LivePlan {
  return {
    pipeline: 'docs',
    windowMs: 24 * HOUR_MS,
    baselineMs: 7 * 24 * HOUR_MS,
    segmentKeys: [],
    maxSegments: 50,
    keepsAll: false,
    ...parts,
  };
}

function aWorker(plans: readonly LivePlan[] = [aPlan()]) {
  const clock = new SteerableClock(new Date(NOON.getTime() + 12_345));
  const windows = new MemoryLiveWindows();
  const measurements = new MemoryMeasurements();
  const logger = new MemoryLogger();
  const abort = new AbortController();
  const deps = { windows, measurements, clock, logger, plans, mostSamples: 10_000 };
  const run = () => clock.until(measureLiveTraffic(deps, abort.signal));
  const outcomeOf = async (measure: string, segment = 'all', pipeline = 'docs'): Promise<MeasurementOutcome | null> => {
    const latest = (await measurements.latest(clock.now())).find(
      (one) => one.measure === measure && one.segment === segment && one.pipeline === pipeline,
    );
    return latest?.gap ?? latest?.newest ?? null;
  };
  return { clock, windows, measurements, logger, abort, run, outcomeOf };
}

/** Clicks on the first document of every third of these queries, a minute after each. */
function clicksOn(queries: readonly WindowQuery[]) {
  return queries
    .filter((_, index) => index % 3 === 0)
    .map(({ id, occurredAt }) => aClick({ queryId: id, occurredAt: new Date(occurredAt.getTime() + 60_000) }));
}

describe('measuring live traffic', () => {
  it('stores each measure of the trailing window, until the last whole minute', async () => {
    const { windows, run, outcomeOf } = aWorker();
    windows.queriesOf.set('docs', [
      ...samples(40, (i) => ({ outcome: i < 10 ? 'empty' : 'ok' })),
      ...samples(9, (i) => ({ id: `old${i}`, occurredAt: hoursAgo(24.01), outcome: 'error' })),
      ...samples(9, (i) => ({ id: `new${i}`, occurredAt: NOON, outcome: 'error' })),
    ]);
    await run();
    expect(await outcomeOf('zero_results_ratio')).toMatchObject({
      kind: 'value',
      windowStart: hoursAgo(24),
      windowEnd: NOON,
      measuredAt: new Date(NOON.getTime() + 12_345),
      value: 0.25,
      ciMethod: 'sessions_wilson',
      n: 40,
    });
    expect(await outcomeOf('error_ratio')).toMatchObject({ value: 0 });
    expect(await outcomeOf('queries')).toMatchObject({ value: 80, n: 40 });
    expect(await outcomeOf('samples_read_ratio')).toMatchObject({ value: 1, n: 40 });
  });

  it('measures clicks of queries that are half an hour old, over a window that says so', async () => {
    const { windows, run, outcomeOf } = aWorker();
    const queries = [...samples(30), ...samples(9, (i) => ({ id: `new${i}`, occurredAt: hoursAgo(0.4) }))];
    windows.queriesOf.set('docs', queries);
    windows.clicksOf.set('docs', clicksOn(queries));
    await run();
    expect(await outcomeOf('clicked_query_ratio')).toMatchObject({
      value: expect.closeTo(1 / 3, 9),
      n: 30,
      windowEnd: new Date(NOON.getTime() + 12_345 - HOUR_MS / 2),
    });
    expect(await outcomeOf('click_through_ratio')).toMatchObject({ value: expect.closeTo(1 / 6, 9) });
    expect(await outcomeOf('clicked_reciprocal_rank')).toMatchObject({ value: 1, n: 10 });
    expect(await outcomeOf('clicks_over_expected_ratio')).toMatchObject({ reason: 'no_reference' });
    expect(await outcomeOf('reference_click_through_ratio')).toMatchObject({ reason: 'too_few_sessions' });
  });

  it('measures segments of the config apart, a bounded number of them', async () => {
    const { windows, run, outcomeOf } = aWorker([aPlan({ segmentKeys: ['lang'], maxSegments: 1 })]);
    windows.queriesOf.set(
      'docs',
      samples(40, (i) => ({ segments: { lang: i < 20 ? 'en' : `x${i}` }, outcome: i < 5 ? 'error' : 'ok' })),
    );
    await run();
    expect(await outcomeOf('error_ratio', 'lang=en')).toMatchObject({ value: 0.25, n: 20 });
    expect(await outcomeOf('error_ratio', 'other')).toMatchObject({ value: 0, n: 20 });
    expect(await outcomeOf('error_ratio', 'lang=x30')).toBeNull();
  });

  it('knows a window for certain only when the config and every sample say so', async () => {
    const certain = { probability: 1, rateProbability: 1 };
    for (const keepsAll of [true, false]) {
      const { windows, run, outcomeOf } = aWorker([aPlan({ keepsAll })]);
      windows.queriesOf.set(
        'docs',
        samples(4, (i) => ({ ...certain, outcome: i === 0 ? 'error' : 'ok' })),
      );
      await run();
      expect(await outcomeOf('error_ratio')).toMatchObject(
        keepsAll ? { value: 0.25, n: 4 } : { reason: 'too_few_sessions' },
      );
    }
  });

  describe('the clicks that are expected', () => {
    /** A baseline of three days ago, and a window, in which every third query is clicked at rank 1. */
    function aClickedPipeline() {
      const worker = aWorker();
      const baseline = samples(150, (i) => ({ id: `b${i}`, occurredAt: hoursAgo(72) }));
      const recent = samples(60);
      worker.windows.queriesOf.set('docs', [...baseline, ...recent]);
      worker.windows.clicksOf.set('docs', [...clicksOn(baseline), ...clicksOn(recent)]);
      const baselineReadings = (): number =>
        worker.windows.readings.filter(([{ from, until }]) => until.getTime() - from.getTime() > 24 * HOUR_MS).length;
      return { ...worker, baselineReadings };
    }

    it('are learnt from the time before the window', async () => {
      const { run, outcomeOf } = aClickedPipeline();
      await run();
      expect(await outcomeOf('reference_click_through_ratio')).toMatchObject({
        value: expect.closeTo(1 / 6, 9),
        windowStart: hoursAgo(8 * 24),
        windowEnd: hoursAgo(24),
        n: 150,
      });
      const coec = await outcomeOf('clicks_over_expected_ratio');
      expect(coec).toMatchObject({ kind: 'value', n: 60 });
      expect(coec?.kind === 'value' && Math.abs(coec.value - 1)).toBeLessThan(0.02);
    });

    it('are kept for a day, also over a restart, and learnt anew then', async () => {
      const { clock, run, baselineReadings } = aClickedPipeline();
      await run();
      await clock.advance(HOUR_MS);
      await run();
      expect(baselineReadings()).toBe(1);
      await clock.advance(24 * HOUR_MS);
      await run();
      expect(baselineReadings()).toBe(2);
    });

    it('are tried for once an hour while there are too few clicks', async () => {
      const { clock, windows, run, outcomeOf, baselineReadings } = aClickedPipeline();
      windows.clicksOf.set('docs', (windows.clicksOf.get('docs') ?? []).slice(0, 3));
      for (let i = 0; i < 4; i++) {
        await run();
        await clock.advance(HOUR_MS / 3 + 1);
      }
      expect(baselineReadings()).toBe(2);
      expect(await outcomeOf('reference_click_through_ratio')).toMatchObject({ reason: 'too_few_clicks' });
      expect(await outcomeOf('click_through_ratio')).toMatchObject({ reason: 'no_clicks' });
    });

    it('are not looked for in the queries of a service that tells of no clicks', async () => {
      const { windows, run, outcomeOf, baselineReadings } = aClickedPipeline();
      windows.clicksOf.clear();
      await run();
      expect(baselineReadings()).toBe(0);
      expect(await outcomeOf('reference_click_through_ratio')).toMatchObject({ reason: 'no_clicks' });
    });

    it('stay those of the day before when the baseline has too few clicks, for three days', async () => {
      const { clock, windows, run, outcomeOf } = aClickedPipeline();
      await run();
      windows.clicksOf.clear();
      await clock.advance(25 * HOUR_MS);
      windows.queriesOf.set(
        'docs',
        samples(60, () => ({ occurredAt: clock.now() })),
      );
      await clock.advance(2 * HOUR_MS);
      await run();
      // Users who click no more are seen, not taken for a service that sends no clicks.
      expect(await outcomeOf('clicks_over_expected_ratio')).toMatchObject({ value: 0 });
      await clock.advance(70 * HOUR_MS);
      await run();
      expect(await outcomeOf('clicks_over_expected_ratio')).toMatchObject({ kind: 'no_data' });
    });

    it('are learnt anew when what is stored cannot be read', async () => {
      const { clock, measurements, run, outcomeOf, baselineReadings } = aClickedPipeline();
      await run();
      const known = await outcomeOf('reference_click_through_ratio');
      if (known === null) throw new Error('there is no reference');
      await clock.advance(1);
      await measurements.record([{ ...known, details: { rates: 'of another version' }, measuredAt: clock.now() }]);
      await run();
      expect(baselineReadings()).toBe(2);
    });
  });

  it('measures stages from the first time that a service tells of them, and says when it no longer does', async () => {
    const { clock, windows, run, outcomeOf } = aWorker();
    windows.queriesOf.set('docs', samples(30));
    await run();
    expect(await outcomeOf('staged_queries')).toBeNull();
    const stage = { name: 'candidates', isSide: false, latencyMs: 8, documents: 20, ranks: [1, 2] };
    windows.queriesOf.set(
      'docs',
      samples(30, (i) => (i < 25 ? { stages: [stage] } : {})),
    );
    await clock.advance(60_000);
    await run();
    expect(await outcomeOf('staged_queries')).toMatchObject({
      value: 25,
      details: { stages: [{ name: 'candidates', n: 25, latencyP95Ms: { value: 8 }, documents: { value: 20 } }] },
    });
    windows.queriesOf.set('docs', samples(30));
    await clock.advance(60_000);
    await run();
    expect(await outcomeOf('staged_queries')).toMatchObject({ reason: 'no_stages' });
  });

  it('measures the other pipelines when one of them fails, and then fails', async () => {
    const { windows, run, outcomeOf } = aWorker([aPlan({ pipeline: 'broken' }), aPlan()]);
    windows.broken.add('broken');
    windows.queriesOf.set('docs', samples(10));
    await expect(run()).rejects.toThrow('broken cannot be read');
    expect(await outcomeOf('error_ratio')).toMatchObject({ value: 0 });
  });

  it('tells of a window that was too large what share of it was read', async () => {
    const { windows, run, outcomeOf } = aWorker();
    windows.queriesOf.set('docs', samples(16_000));
    await run();
    expect(await outcomeOf('samples_read_ratio')).toMatchObject({
      value: 0.5,
      n: 16_000,
      details: { halvings: 1 },
    });
    expect(await outcomeOf('queries')).toMatchObject({ value: 32_000, n: 8000 });
  });

  it('stops when it is told to', async () => {
    const { windows, abort, run, measurements, clock } = aWorker();
    windows.queriesOf.set('docs', samples(10));
    abort.abort(new Error('the daemon stops'));
    await expect(run()).rejects.toThrow('the daemon stops');
    expect(await measurements.latest(clock.now())).toEqual([]);
  });
});
