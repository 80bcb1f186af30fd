import { beforeAll, describe, expect, it } from 'vitest';
import type { LivePlan } from '../../../src/live/context.ts';
import { measureLiveTraffic } from '../../../src/live/measure-live-traffic.ts';
import { createLiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import { createLiveWindows, type LiveWindow } from '../../../src/live/sql/live-windows.ts';
import type { LiveSample } from '../../../src/live/sql/record-arrivals.ts';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import type { MeasurementOutcome } from '../../../src/measures/rules/measurement.ts';
import { NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { aStoredClick, liveSamples } from '../../support/live-rows.ts';
import { hours } from '../../support/measurements.ts';
import { MemoryLogger } from '../../support/memory-telemetry.ts';

const HOUR_MS = 3_600_000;
const database = useDatabase();
const traffic = () => createLiveTraffic(database.pool, 'a');
let pipelines = 0;

beforeAll(async () => {
  for (let day = -8; day <= 5; day += 1) await traffic().createPartitions(hours(24 * day));
});

/** Returns a worker that measures a separate pipeline twelve seconds after noon. */
function aWorker(parts: Partial<LivePlan> = {}, others: readonly string[] = []) {
  const pipeline = `docs-${(pipelines += 1)}`;
  const plan = {
    pipeline,
    windowMs: 24 * HOUR_MS,
    baselineMs: 7 * 24 * HOUR_MS,
    segmentKeys: [],
    maxSegments: 50,
    idleMs: 600_000,
  };
  const plans = [...others, pipeline].map((name) => ({
    ...plan,
    samplesAll: false,
    expectsEpisodes: false,
    ...parts,
    pipeline: name,
  }));
  const clock = new HandClock(new Date(NOON.getTime() + 12_345));
  const stored = createLiveWindows(database.pool);
  const counted: LiveWindow[] = [];
  const windows = {
    ...stored,
    count(window: LiveWindow) {
      counted.push(window);
      return stored.count(window);
    },
  };
  const measurements = createMeasurements(database.pool);
  const abort = new AbortController();
  const deps = contextOf({
    db: { live: { windows }, measurements },
    clock,
    logger: new MemoryLogger(),
    livePlans: plans,
    maxSamples: 1000,
  });
  const latest = async () => (await measurements.latest(clock.now())).filter((one) => one.pipeline === pipeline);
  return {
    clock,
    measurements,
    abort,
    latest,
    run: () => measureLiveTraffic(deps, abort.signal),
    later: (ms: number) => clock.set(new Date(clock.now().getTime() + ms)),
    baselineReadings: () => counted.filter(({ from, until }) => until.getTime() - from.getTime() > 24 * HOUR_MS).length,
    outcomeOf: async (measure: string, segment = 'all'): Promise<MeasurementOutcome | null> => {
      const found = (await latest()).find((one) => one.measure === measure && one.segment === segment);
      return found?.gap ?? found?.newest ?? null;
    },
    ask: (...queries: readonly LiveSample[]) =>
      traffic().record({
        samples: queries.map((query) => ({ ...query, pipeline, receivedAt: query.occurredAt })),
        counts: [],
        levels: [],
      }),
    /** Records a click on the first document of each query, one minute after the query. */
    click: (queries: readonly LiveSample[]) =>
      traffic().recordFeedback(
        queries.map(({ id, occurredAt }) => {
          const at = new Date(occurredAt.getTime() + 60_000);
          return aStoredClick({ pipeline, id, queryId: id, occurredAt: at, receivedAt: at });
        }),
      ),
    forget: (table: 'live_queries' | 'feedback') =>
      database.pool.query(`delete from ${table} where pipeline = $1`, [pipeline]),
  };
}

const everyThird = (queries: readonly LiveSample[]) => queries.filter((_, index) => index % 3 === 0);

describe('measuring live traffic', () => {
  it('stores each measure of the trailing window up to the last full minute', async () => {
    const { ask, run, outcomeOf } = aWorker();
    await ask(
      ...liveSamples(40, (i) => ({ outcome: i < 10 ? 'empty' : 'ok' })),
      ...liveSamples(9, (i) => ({ id: `old${i}`, occurredAt: hours(-24.01), outcome: 'error' })),
      ...liveSamples(9, (i) => ({ id: `new${i}`, occurredAt: NOON, outcome: 'error' })),
    );
    await run();
    expect(await outcomeOf('zero_results_ratio')).toMatchObject({
      kind: 'value',
      windowStart: hours(-24),
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

  it('measures clicks only of queries that are half an hour old, and stores that window', async () => {
    const { ask, click, run, outcomeOf } = aWorker();
    const queries = [...liveSamples(30), ...liveSamples(9, (i) => ({ id: `new${i}`, occurredAt: hours(-0.4) }))];
    await ask(...queries);
    await click(everyThird(queries));
    await run();
    expect(await outcomeOf('clicked_query_ratio')).toMatchObject({
      value: expect.closeTo(1 / 3, 9),
      n: 30,
      windowEnd: new Date(NOON.getTime() + 12_345 - HOUR_MS / 2),
    });
    expect(await outcomeOf('click_through_ratio')).toMatchObject({ value: expect.closeTo(1 / 6, 9) });
    expect(await outcomeOf('clicked_reciprocal_rank')).toMatchObject({ value: 1, n: 10 });
    expect(await outcomeOf('clicks_over_expected_ratio')).toMatchObject({ reason: 'no_baseline' });
    expect(await outcomeOf('baseline_click_through_ratio')).toMatchObject({ reason: 'too_few_sessions' });
  });

  it('measures a bounded number of segments of the config', async () => {
    const { ask, run, outcomeOf } = aWorker({ segmentKeys: ['lang'], maxSegments: 1 });
    await ask(
      ...liveSamples(40, (i) => ({ segments: { lang: i < 20 ? 'en' : `x${i}` }, outcome: i < 5 ? 'error' : 'ok' })),
    );
    await run();
    expect(await outcomeOf('error_ratio', 'lang=en')).toMatchObject({ value: 0.25, n: 20 });
    expect(await outcomeOf('error_ratio', 'other')).toMatchObject({ value: 0, n: 20 });
    expect(await outcomeOf('error_ratio', 'lang=x30')).toBeNull();
  });

  it('treats a window as complete only if the config samples all queries', async () => {
    const certain = { probability: 1, rateProbability: 1 };
    for (const samplesAll of [true, false]) {
      const { ask, run, outcomeOf } = aWorker({ samplesAll });
      await ask(...liveSamples(4, (i) => ({ ...certain, outcome: i === 0 ? 'error' : 'ok' })));
      await run();
      expect(await outcomeOf('error_ratio')).toMatchObject(
        samplesAll ? { value: 0.25, n: 4 } : { reason: 'too_few_sessions' },
      );
    }
  });

  describe('the expected clicks', () => {
    /**
     * Prepares a pipeline with queries from three days ago, and with queries in the window. Every third query is
     * clicked at rank 1, up to `clicks` clicks in total.
     */
    async function aClickedPipeline(clicks = 70) {
      const worker = aWorker();
      const baseline = liveSamples(150, (i) => ({ id: `b${i}`, occurredAt: hours(-72) }));
      const recent = liveSamples(60);
      await worker.ask(...baseline, ...recent);
      await worker.click([...everyThird(baseline), ...everyThird(recent)].slice(0, clicks));
      return worker;
    }

    it('are learned from the time before the window', async () => {
      const { run, outcomeOf } = await aClickedPipeline();
      await run();
      expect(await outcomeOf('baseline_click_through_ratio')).toMatchObject({
        value: expect.closeTo(1 / 6, 9),
        windowStart: hours(-8 * 24),
        windowEnd: hours(-24),
        n: 150,
      });
      const coec = await outcomeOf('clicks_over_expected_ratio');
      expect(coec).toMatchObject({ kind: 'value', n: 60 });
      expect(coec?.kind === 'value' && Math.abs(coec.value - 1)).toBeLessThan(0.02);
    });

    it('are used for a day, and then learned again', async () => {
      const { later, run, baselineReadings } = await aClickedPipeline();
      await run();
      later(HOUR_MS);
      await run();
      expect(baselineReadings()).toBe(1);
      later(24 * HOUR_MS);
      await run();
      expect(baselineReadings()).toBe(2);
    });

    it('are retried every hour while there are too few clicks', async () => {
      const { later, run, outcomeOf, baselineReadings } = await aClickedPipeline(3);
      for (let i = 0; i < 4; i++) {
        await run();
        later(HOUR_MS / 3 + 1);
      }
      expect(baselineReadings()).toBe(2);
      expect(await outcomeOf('baseline_click_through_ratio')).toMatchObject({ reason: 'too_few_clicks' });
      expect(await outcomeOf('click_through_ratio')).toMatchObject({ reason: 'no_clicks' });
    });

    it('are not computed for a service that sends no clicks', async () => {
      const { run, outcomeOf, baselineReadings } = await aClickedPipeline(0);
      await run();
      expect(baselineReadings()).toBe(0);
      expect(await outcomeOf('baseline_click_through_ratio')).toMatchObject({ reason: 'no_clicks' });
    });

    it('remain valid for three days when the baseline has too few clicks', async () => {
      const { clock, later, ask, forget, run, outcomeOf } = await aClickedPipeline();
      await run();
      await forget('feedback');
      await forget('live_queries');
      later(25 * HOUR_MS);
      await ask(...liveSamples(60, () => ({ occurredAt: clock.now() })));
      later(2 * HOUR_MS);
      await run();
      // The earlier expected clicks still apply, so recalld detects that users stopped clicking.
      expect(await outcomeOf('clicks_over_expected_ratio')).toMatchObject({ value: 0 });
      later(70 * HOUR_MS);
      await run();
      expect(await outcomeOf('clicks_over_expected_ratio')).toMatchObject({ kind: 'no_data' });
    });
  });

  it('measures stages once a service reports them, and stores a gap when it stops', async () => {
    const { later, ask, forget, run, outcomeOf } = aWorker();
    await ask(...liveSamples(30));
    await run();
    expect(await outcomeOf('staged_queries')).toBeNull();
    const stage = { name: 'candidates', isSide: false, latencyMs: 8, documents: 20, ranks: [1, 2] };
    await forget('live_queries');
    await ask(...liveSamples(30, (i) => (i < 25 ? { stages: [stage] } : {})));
    later(60_000);
    await run();
    expect(await outcomeOf('staged_queries')).toMatchObject({
      value: 25,
      details: { stages: [{ name: 'candidates', n: 25, latencyP95Ms: { value: 8 }, documents: { value: 20 } }] },
    });
    await forget('live_queries');
    await ask(...liveSamples(30));
    later(60_000);
    await run();
    expect(await outcomeOf('staged_queries')).toMatchObject({ reason: 'no_stages' });
  });

  it('measures the other pipelines when one of them fails, and then fails', async () => {
    // PostgreSQL text cannot contain NUL.
    const { ask, run, outcomeOf } = aWorker({}, ['broken\0']);
    await ask(...liveSamples(10));
    await expect(run()).rejects.toThrow('invalid byte sequence');
    expect(await outcomeOf('error_ratio')).toMatchObject({ value: 0 });
  });

  it('stores the share of a large window that was read', async () => {
    const { ask, run, outcomeOf } = aWorker();
    await ask(...liveSamples(1600));
    await run();
    expect(await outcomeOf('samples_read_ratio')).toMatchObject({
      value: 0.5,
      n: 1600,
      details: { halvings: 1 },
    });
    expect(await outcomeOf('queries')).toMatchObject({ value: 3200, n: 800 });
  });

  it('stops when it is aborted', async () => {
    const { ask, abort, run, latest } = aWorker();
    await ask(...liveSamples(10));
    abort.abort(new Error('the daemon stops'));
    await expect(run()).rejects.toThrow('the daemon stops');
    expect(await latest()).toEqual([]);
  });
});
