/**
 * Compares how fast one worker and several workers measure the coverage of live queries. The store responds after a
 * fixed latency and is not the bottleneck.
 *
 *     npx tsx bench/density-workers.ts [--queries N] [--latency MS]
 *
 * Uses an embedded PostgreSQL in a temporary folder. Each worker has its own connections and job queue, runs jobs as a
 * separate process would, and enqueues the next job when there is enough work.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createDb } from '../src/app/database.ts';
import type { VectorStore } from '../src/connectors/stores/vector-store.ts';
import type { Context } from '../src/core/context.ts';
import { systemClock } from '../src/core/system-clock.ts';
import { measureQueryCoverageJob } from '../src/density/jobs.ts';
import type { DensityPlan } from '../src/density/plan.ts';
import { createLiveTraffic } from '../src/live/sql/live-traffic.ts';
import { openEmbeddedPostgres } from '../src/platform/postgres/embedded/open.ts';
import { migrate } from '../src/platform/postgres/migrate.ts';
import { createPool } from '../src/platform/postgres/pool.ts';
import { openJobQueue } from '../src/platform/queue/bullmq.ts';
import { provenance } from './result-file.ts';

const WORKERS = [1, 2, 4];
const silent = () => undefined;
const logger = { debug: silent, info: silent, warn: silent, error: silent };

const numberOf = (flag: string, fallback: number): number =>
  process.argv.includes(flag) ? Number(process.argv[process.argv.indexOf(flag) + 1]) : fallback;
const queries = numberOf('--queries', 2000);
const latencyMs = numberOf('--latency', 40);

const startedAt = performance.now();
const folder = await mkdtemp(path.join(tmpdir(), 'recalld-density-workers-'));
const server = await openEmbeddedPostgres({ dataDir: folder, purpose: 'command', logger });
const admin = createPool({ connection: server.connection, size: 4, logger });
try {
  await migrate(admin);
  const results = [];
  for (const workers of WORKERS) results.push({ workers, seconds: await secondsOf(workers) });
  const [one] = results;
  const table = results.map((result) => ({
    ...result,
    searchesPerSecond: Math.round(queries / result.seconds),
    timesAsFast: Math.round((100 * (one?.seconds ?? 0)) / result.seconds) / 100,
  }));
  const command = `npx tsx bench/density-workers.ts --queries ${queries} --latency ${latencyMs}`;
  const result = { provenance: provenance(command, 0, startedAt), queries, latencyMs, table };
  process.stdout.write(`${JSON.stringify(result, null, 1)}\n`);
} finally {
  await admin.end();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}

/** Returns the number of seconds from the tick until the last query is measured. */
async function secondsOf(workers: number): Promise<number> {
  await admin.query('truncate live_queries, query_coverage, coverage_admissions');
  const now = new Date();
  await storeQueries(new Date(now.getTime() - 600_000), now);
  const started = await Promise.all(Array.from({ length: workers }, () => startWorker()));
  const from = performance.now();
  await started[0]?.queue.enqueue(measureQueryCoverageJob.name, {}, `tick-${workers}`);
  for (;;) {
    const { rows } = await admin.query<{ n: number }>(
      `select count(*)::integer as n from query_coverage where status = 'measured'`,
    );
    if (rows[0]?.n === queries) break;
    await delay(20);
  }
  const seconds = (performance.now() - from) / 1000;
  await Promise.all(started.map((worker) => worker.stop()));
  return Math.round(seconds * 100) / 100;
}

async function storeQueries(receivedAt: Date, now: Date): Promise<void> {
  const traffic = createLiveTraffic(admin, 'bench');
  await traffic.createPartitions(now);
  for (let at = 0; at < queries; at += 500) {
    const samples = Array.from({ length: Math.min(500, queries - at) }, (_, i) => ({
      pipeline: 'docs',
      id: `q${at + i}`,
      receivedAt,
      occurredAt: receivedAt,
      sessionHash: `s${at + i}`,
      traceId: null,
      episode: null,
      episodeStep: null,
      originalText: null,
      text: null,
      textHash: null,
      embedding: Float32Array.of(1, 0),
      topK: 10,
      context: null,
      stages: [],
      outcome: 'ok' as const,
      error: null,
      results: [],
      latencyMs: 1,
      segments: {},
      userHash: null,
      indexVersion: null,
      embedderVersion: null,
      retrieverVersion: null,
      probability: 1,
      keepReason: 'rate',
      unitHash: 0.5,
      rateProbability: 1,
      level: 0,
    }));
    await traffic.record({ samples, counts: [], levels: [] });
  }
}

async function startWorker() {
  const pool = createPool({ connection: server.connection, size: 10, logger });
  const backend = { kind: 'postgres', connection: server.connection } as const;
  const queue = await openJobQueue({ backend, jobs: [measureQueryCoverageJob], logger });
  // The job uses no other fields of the context.
  const context = {
    db: createDb(pool),
    queue,
    meter: { increment: silent, observe: silent },
    clock: systemClock,
    logger,
    densityPlans: [aPlan()],
  } as unknown as Context;
  const never = new AbortController().signal;
  await queue.work(async (_, payload) => {
    await measureQueryCoverageJob.handle(context, payload, never);
    return 'done';
  });
  return {
    queue,
    async stop(): Promise<void> {
      await queue.close();
      await pool.end();
    },
  };
}

function aPlan(): DensityPlan {
  const store = {
    async nearest() {
      await delay(latencyMs);
      const neighbours = Array.from({ length: 20 }, (_, i) => ({
        id: `c${i}`,
        similarity: 0.7,
        content: `text ${i}`,
      }));
      return { kind: 'ok', value: { neighbours, isShort: false }, latencyMs };
    },
  } as unknown as VectorStore;
  return {
    pipeline: 'docs',
    store,
    embedder: null,
    windowMs: 3_600_000,
    graceMs: 600_000,
    maxPerSecond: 10_000,
    budget: { count: 1, periodMs: 365 * 86_400_000 },
    monitors: 1,
    needs: { days: 14, sessions: 2000 },
    segmentKeys: [],
    maxSegments: 10,
    severity: null,
    checkName: 'density drift',
  };
}
