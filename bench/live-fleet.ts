/**
 * Measures how long one round of the job `measure-live-traffic` takes for many pipelines, each with a window of live
 * queries.
 *
 *     npx tsx bench/live-fleet.ts [--pipelines N] [--samples N]
 *
 * Uses an embedded PostgreSQL in a temporary folder, with a daemon's connection pool. The samples of each pipeline are
 * spread over its one-day window. Each sample has ten results and two tags; a tenth of the samples have a click and a
 * rating. The first round learns the expected clicks from the previous day (`live.baseline: 1d`), as happens once a
 * day; the second round is like all other rounds of a day.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import type { Pool } from 'pg';
import { systemClock } from '../src/core/system-clock.ts';
import { DAY_MS } from '../src/core/time.ts';
import { liveJobs, MAX_SAMPLES } from '../src/live/live-jobs.ts';
import { measureFeedback } from '../src/live/measure-feedback.ts';
import { measureLiveTraffic } from '../src/live/measure-live-traffic.ts';
import { createLiveTraffic } from '../src/live/sql/live-traffic.ts';
import { createLiveWindows } from '../src/live/sql/live-windows.ts';
import { createMeasurements } from '../src/measures/measurements.ts';
import { openEmbeddedPostgres } from '../src/platform/postgres/embedded/open.ts';
import { migrate } from '../src/platform/postgres/migrate.ts';
import { createPool } from '../src/platform/postgres/pool.ts';
import { contextOf } from '../test/support/context.ts';

const { values } = parseArgs({
  options: {
    pipelines: { type: 'string', default: '200' },
    samples: { type: 'string', default: '2000' },
  },
});
const names = Array.from({ length: Number(values.pipelines) }, (_, index) => `pipeline-${index}`);
const samples = Number(values.samples);
/** Default of `storage.pool_size`. */
const POOL_SIZE = 10;
const DAYS = 2;
const quiet = { debug: noop, info: noop, warn: noop, error: noop };

function noop(): void {
  // The benchmark prints only its measurements.
}

const folder = await mkdtemp(path.join(tmpdir(), 'recalld-live-fleet-'));
const server = await openEmbeddedPostgres({ dataDir: folder, purpose: 'command', logger: quiet });
const pool = createPool({ connection: server.connection, size: POOL_SIZE, logger: quiet });
try {
  await migrate(pool);
  const traffic = createLiveTraffic(pool, 'bench');
  const now = new Date();
  for (let day = 0; day <= DAYS; day++) await traffic.createPartitions(new Date(now.getTime() - day * DAY_MS));
  await writeTraffic(pool);
  const measurements = createMeasurements(pool);
  const plans = names.map((pipeline) => ({
    pipeline,
    windowMs: DAY_MS,
    baselineMs: (DAYS - 1) * DAY_MS,
    segmentKeys: ['tenant'],
    maxSegments: 20,
    samplesAll: false,
  }));
  const live = contextOf({
    db: { live: { windows: createLiveWindows(pool) }, measurements },
    clock: systemClock,
    logger: quiet,
    livePlans: plans,
  });
  const feedback = contextOf({
    db: { live: { traffic }, measurements },
    clock: systemClock,
    livePlans: plans,
    falsePages: { count: 1, periodMs: 90 * DAY_MS },
  });
  const { signal } = new AbortController();
  for (const round of ['first', 'second']) {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    await measureFeedback(feedback, signal);
    const afterFeedback = performance.now();
    await measureLiveTraffic(contextOf(live, { maxSamples: MAX_SAMPLES }), signal);
    const seconds = (performance.now() - startedAt) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    delay.disable();
    const figures = {
      round,
      pipelines: names.length,
      samples_each: samples,
      seconds: Number(seconds.toFixed(1)),
      feedback_seconds: Number(((afterFeedback - startedAt) / 1000).toFixed(1)),
      cpu_seconds: Number(((user + system) / 1e6).toFixed(1)),
      event_loop_p99_ms: Math.round(delay.percentile(99) / 1e6),
      event_loop_max_ms: Math.round(delay.max / 1e6),
      rss_mb: Math.round(process.memoryUsage().rss / 1e6),
    };
    process.stdout.write(`${JSON.stringify(figures)}\n`);
  }
  const job = liveJobs.find(({ name }) => name === 'measure-live-traffic');
  process.stdout.write(`The job starts every 5 minutes and may take ${(job?.timeoutMs ?? 0) / 1000} s.\n`);
} finally {
  await pool.end();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}

async function writeTraffic(db: Pool): Promise<void> {
  for (const pipeline of names) {
    await db.query(
      `insert into live_queries (received_on, pipeline, id, received_at, occurred_at, session_hash, outcome, results, latency_ms,
                                 segments, probability, keep_reason, unit_hash, rate_probability, level)
       select (at at time zone 'utc')::date, $1::text, 'q' || i, at, at, md5((i / 3)::text),
              case when i % 50 = 0 then 'error' when i % 20 = 0 then 'empty' else 'ok' end,
              '[["kb-1", 0.9], ["kb-2", 0.8], ["kb-3", 0.7], ["kb-4", 0.6], ["kb-5", 0.5], ["kb-6", 0.4], ["kb-7", 0.3], ["kb-8", 0.2], ["kb-9", 0.1], ["kb-10", 0]]',
              12, jsonb_build_object('tenant', 't' || (i / 3) % 10, 'language', 'en'), 0.1, 'rate',
              0.1 * ('x' || substr(md5((i / 3)::text), 1, 8))::bit(32)::bigint / 4294967296, 0.1, 0
         from (select i, now() - i * interval '1 day' / $2::integer as at
                 from generate_series(1, $2::integer * $3::integer) i) q`,
      [pipeline, samples, DAYS],
    );
    await db.query(
      `insert into feedback (received_on, pipeline, id, received_at, occurred_at, query_id, kind, sentiment, counted, document_id, rank)
       select received_on, pipeline, kind || id, received_at, occurred_at, id, kind, sentiment, true, document, rank
         from live_queries,
              (values ('thumb', 'positive', null::text, null::integer), ('click', 'neutral', 'kb-1', 1)) f (kind, sentiment, document, rank)
        where pipeline = $1::text and id like '%0' and outcome = 'ok'`,
      [pipeline],
    );
  }
  await db.query('analyze');
}
