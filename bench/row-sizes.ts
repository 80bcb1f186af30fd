/**
 * Measures the bytes per row that PostgreSQL needs in each table that grows with traffic, including indexes and TOAST.
 *
 *     npx tsx bench/row-sizes.ts [--rows N] [--out FILE]
 *
 * Uses an embedded PostgreSQL in a temporary folder, with texts of 60 characters, ten results, two tags, a session and
 * a user, and vectors with 0, 384, 768 and 1,536 numbers.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Pool } from 'pg';
import { type StoredFeedback } from '../src/live/sql/feedback-rows.ts';
import { createLiveTraffic } from '../src/live/sql/live-traffic.ts';
import { type LiveSample } from '../src/live/sql/record-arrivals.ts';
import { openEmbeddedPostgres } from '../src/platform/postgres/embedded/open.ts';
import { migrate } from '../src/platform/postgres/migrate.ts';
import { createPool } from '../src/platform/postgres/pool.ts';
import { randomNumbers } from './random-numbers.ts';
import { type Provenance, provenance, writeResult } from './result-file.ts';

export interface RowSizes {
  readonly provenance: Provenance;
  readonly rows: number;
  /** Bytes per live query, by the number of vector elements. */
  readonly liveQuery: Readonly<Record<string, number>>;
  /** Bytes per query_coverage row with five neighbors, for a query that was sent with its vector. */
  readonly coverage: number;
  readonly feedback: number;
}

const SEED = 20_261_120;
const DIMENSIONS = [0, 384, 768, 1536];
const quiet = { debug: noop, info: noop, warn: noop, error: noop };

function noop(): void {
  // The benchmark prints only its measurements.
}

export async function measureRowSizes(rows: number): Promise<RowSizes> {
  const startedAt = performance.now();
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-row-sizes-'));
  const server = await openEmbeddedPostgres({ dataDir: folder, purpose: 'command', logger: quiet });
  const pool = createPool({ connection: server.connection, size: 4, logger: quiet });
  try {
    await migrate(pool);
    const traffic = createLiveTraffic(pool, 'bench');
    const now = new Date();
    await traffic.createPartitions(now);
    const numbers = randomNumbers(SEED);
    const random = (): number => numbers.uniform();
    const liveQuery: Record<string, number> = {};
    for (const dimensions of DIMENSIONS) {
      await pool.query('truncate live_queries');
      for (let at = 0; at < rows; at += 500) {
        const samples = Array.from({ length: Math.min(500, rows - at) }, (_, i) =>
          aSample(at + i, dimensions, now, random),
        );
        await traffic.record({ samples, counts: [], levels: [] });
      }
      liveQuery[dimensions] = (await sizeOf(pool, 'live_queries')) / rows;
    }
    await pool.query(
      `insert into query_coverage (received_on, pipeline, id, status, attempts, thinning, score, nearest, fingerprint, scored_at)
       select received_on, pipeline, id, 'measured', 1, 1, 0.71,
              (select jsonb_agg(jsonb_build_array(md5(id || n), random())) from generate_series(1, 5) n), md5('index'), received_at
         from live_queries`,
    );
    const coverage = (await sizeOf(pool, 'query_coverage')) / rows;
    for (let at = 0; at < rows; at += 500) {
      await traffic.recordFeedback(
        Array.from({ length: Math.min(500, rows - at) }, (_, i) => someFeedback(at + i, now)),
      );
    }
    const feedback = (await sizeOf(pool, 'feedback')) / rows;
    return {
      provenance: provenance(`npx tsx bench/row-sizes.ts --rows ${rows}`, SEED, startedAt),
      rows,
      liveQuery: Object.fromEntries(Object.entries(liveQuery).map(([key, bytes]) => [key, Math.round(bytes)])),
      coverage: Math.round(coverage),
      feedback: Math.round(feedback),
    };
  } finally {
    await pool.end();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Size of tables, indexes and TOAST, summed over all partitions. */
async function sizeOf(pool: Pool, table: string): Promise<number> {
  const { rows } = await pool.query<{ bytes: string }>(
    `select sum(pg_total_relation_size(inhrelid)) as bytes from pg_inherits where inhparent = $1::regclass`,
    [table],
  );
  return Number(rows[0]?.bytes);
}

function hex(at: number, salt: string): string {
  return Buffer.from(`${salt}${at}`.padEnd(32, '.')).toString('hex');
}

function aSample(at: number, dimensions: number, now: Date, random: () => number): LiveSample {
  return {
    pipeline: 'support-docs',
    id: hex(at, 'q').slice(0, 36),
    receivedAt: new Date(now.getTime() - (at % 60_000)),
    occurredAt: now,
    sessionHash: hex(at >> 2, 's'),
    traceId: null,
    episode: null,
    episodeStep: null,
    originalText: null,
    text: `How do I reset the password of account ${at} on a new device?`.slice(0, 60).padEnd(60, '.'),
    textHash: hex(at, 't'),
    embedding: dimensions === 0 ? null : Float32Array.from({ length: dimensions }, () => random() - 0.5),
    topK: 10,
    context: null,
    stages: [],
    outcome: 'ok',
    error: null,
    results: Array.from({ length: 10 }, (_, rank) => ({
      id: hex(at * 10 + rank, 'd').slice(0, 24),
      score: random(),
      text: null,
    })),
    latencyMs: 40 + random() * 60,
    segments: { tenant: `tenant-${at % 40}`, language: 'en' },
    userHash: hex(at >> 3, 'u'),
    indexVersion: '2026-11-01',
    embedderVersion: null,
    retrieverVersion: null,
    probability: 0.1,
    keepReason: 'rate',
    unitHash: random() * 0.1,
    rateProbability: 0.1,
    level: 0,
  };
}

function someFeedback(at: number, now: Date): StoredFeedback {
  return {
    id: hex(at, 'f').slice(0, 36),
    pipeline: 'support-docs',
    queryId: hex(at, 'q').slice(0, 36),
    kind: 'click',
    documentId: hex(at, 'd').slice(0, 24),
    rank: 2,
    receivedAt: now,
    occurredAt: now,
    sentiment: 'positive',
    value: null,
    userHash: hex(at >> 3, 'u'),
    comment: null,
    counted: true,
    traceId: null,
    mayRepeat: false,
  };
}

function argument(flag: string): string | undefined {
  return process.argv.includes(flag) ? process.argv[process.argv.indexOf(flag) + 1] : undefined;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const result = await measureRowSizes(Number(argument('--rows') ?? 20_000));
  const out = argument('--out');
  if (out === undefined) process.stdout.write(`${JSON.stringify(result, null, 1)}\n`);
  else writeResult(out, result);
}
