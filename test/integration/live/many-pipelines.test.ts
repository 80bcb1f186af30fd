/** Runs the job `measure-live-traffic` for two hundred pipelines, each with a window of live queries. */

import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/core/system-clock.ts';
import { liveJobs } from '../../../src/live/live-jobs.ts';
import { measureLiveTraffic } from '../../../src/live/measure-live-traffic.ts';
import { createLiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import { createLiveWindows, type LiveWindows } from '../../../src/live/sql/live-windows.ts';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import { PipelinesFailedError } from '../../../src/platform/queue/for-each-pipeline.ts';
import { NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { silentLogger } from '../../support/log.ts';
import { hours } from '../../support/measurements.ts';

const PIPELINES = 200;
const SAMPLES = 100;
const DAY_MS = 86_400_000;
const database = useDatabase();
const names = Array.from({ length: PIPELINES }, (_, index) => `docs-${index}`);

beforeAll(async () => {
  const traffic = createLiveTraffic(database.pool, 'a');
  for (let day = -8; day <= 1; day += 1) await traffic.createPartitions(hours(24 * day));
  await database.pool.query(
    `insert into live_queries (received_on, pipeline, id, received_at, occurred_at, session_hash, outcome, results, latency_ms,
                               segments, probability, keep_reason, unit_hash, rate_probability, level)
     select (at at time zone 'utc')::date, pipeline, 'q' || i, at, at, md5(i::text),
            case when i % 10 = 0 then 'error' else 'ok' end, '[["d1", 0.9], ["d2", 0.8]]', 12,
            jsonb_build_object('tenant', 't' || i % 3), 1, 'rate', (i + 0.5) / $2, 1, 0
       from unnest($1::text[]) pipeline, generate_series(0, $2::integer - 1) i,
            lateral (select $3::timestamptz - (i + 1) * interval '1 day' / ($2::integer + 1) as at) t`,
    [names, SAMPLES, NOON],
  );
});

function aRound(windows: Partial<LiveWindows> = {}) {
  const stored = createLiveWindows(database.pool);
  const measurements = createMeasurements(database.pool);
  const plans = names.map((pipeline) => ({
    pipeline,
    windowMs: DAY_MS,
    baselineMs: 7 * DAY_MS,
    segmentKeys: ['tenant'],
    maxSegments: 10,
    idleMs: 600_000,
    expectsEpisodes: false,
    samplesAll: true,
  }));
  const clock = { ...systemClock, now: () => NOON };
  const deps = contextOf({
    db: { live: { windows: { ...stored, ...windows } }, measurements },
    clock,
    logger: silentLogger,
    livePlans: plans,
    maxSamples: 1000,
  });
  const errorRatios = async () =>
    (await measurements.latest(NOON)).filter(({ measure, segment }) => measure === 'error_ratio' && segment === 'all');
  return { stored, errorRatios, run: () => measureLiveTraffic(deps, new AbortController().signal) };
}

describe('two hundred pipelines', () => {
  it('are measured within the timeout of the job, several at a time', async () => {
    let inProgress = 0;
    let most = 0;
    const { stored, errorRatios, run } = aRound({
      async count(window) {
        inProgress += 1;
        most = Math.max(most, inProgress);
        return stored.count(window).finally(() => (inProgress -= 1));
      },
    });
    const startedAt = performance.now();
    await run();
    const job = liveJobs.find(({ name }) => name === 'measure-live-traffic');
    expect(performance.now() - startedAt).toBeLessThan(job?.timeoutMs ?? 0);
    expect(most).toBeGreaterThan(1);
    const measured = await errorRatios();
    expect(measured).toHaveLength(PIPELINES);
    for (const { newest } of measured) expect(newest).toMatchObject({ value: 0.1, n: SAMPLES });
  });

  it('are measured except two unreadable ones, which fail the job with their names', async () => {
    await database.pool.query('delete from measurements; delete from latest_measurements');
    const { stored, errorRatios, run } = aRound({
      count: (window) =>
        ['docs-7', 'docs-150'].includes(window.pipeline)
          ? Promise.reject(new Error('a partition cannot be read'))
          : stored.count(window),
    });
    const error: unknown = await run().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PipelinesFailedError);
    expect(error).toMatchObject({ pipelines: ['docs-150', 'docs-7'] });
    expect(await errorRatios()).toHaveLength(PIPELINES - 2);
  });
});
