/** A daemon with data for all dashboards: golden runs with a drop, live traffic, feedback, probes, and deployments. */
import { Pool } from 'pg';
import { expect } from 'vitest';
import { startPglite } from '../../src/demo/rag/store.ts';
import { topicsTable } from '../../src/density/topics-table.ts';
import { goldenMeasures } from '../../src/golden/rules/score-run.ts';
import type { RunSummaryJson } from '../../src/golden/run-summary-schema.ts';
import { createMeasurements } from '../../src/measures/measurements.ts';
import { createPool } from '../../src/platform/postgres/pool.ts';
import { documents, json, type ReceivedRequest, startFaultServer, when } from '../support/fault-server.ts';
import { startJobs } from '../support/installation.ts';
import { silentLogger } from '../support/log.ts';
import { aMeasurement } from '../support/measurements.ts';
import { aDatabase, aFolder, type Daemon, embeddedConnection, runRecalld, startRecalld } from '../support/recalld.ts';
import { aTopic } from '../support/uncovered-topics.ts';
import { aGoldenCsv, questionOf, rightAnswer } from './golden-files.ts';

type AtEnd = (clean: () => Promise<void>) => void;

const QUERIES = 40;
/** Number of judged documents that are missing from the store and marked as deleted in the manifest. */
const GONE = 3;
const DIMENSIONS = 8;
const HOUR_MS = 3_600_000;
/** An uncovered topic as stored in the database. */
export const TOPIC = 't-0a1b2c3d4e';

export interface WatchedService {
  readonly daemon: Daemon;
  readonly folder: string;
  /** Ids of the golden runs, oldest first; the first is the baseline. */
  readonly runs: readonly string[];
}

export async function startWatchedService(atEnd: AtEnd): Promise<WatchedService> {
  const embedder = await startFaultServer(embeddings);
  const retriever = await startFaultServer(documents(rightAnswer));
  atEnd(() => embedder.close());
  atEnd(() => retriever.close());
  const storeUrl = await aVectorStore(atEnd);
  const folder = await aFolder(
    { 'recalld.yaml': config(retriever.url, embedder.url, storeUrl), 'faq.csv': aGoldenCsv(QUERIES) },
    atEnd,
  );
  // Starts no scheduler, because its ticks would start measurements before all data has arrived.
  const daemon = await startRecalld(['serve', '--roles', 'api,worker'], folder, {}, atEnd);
  await run(folder, ['golden', 'import', 'faq.csv', '--set', 'faq'], atEnd);
  await withdrawGone(folder, atEnd);
  const baseline = await goldenRun(folder, atEnd);
  await run(folder, ['baselines', 'pin', baseline], atEnd);
  const change = ['deployments', 'add', '--pipeline', 'docs', '--kind', 'index', '--version', 'v8', '--note', 'ef 40'];
  await run(folder, change, atEnd);
  // From now on, a quarter of the queries return their document at the last rank, and two queries find nothing.
  retriever.respondWith(
    when(
      (request) => questionOf(request) < QUERIES / 4,
      documents((request) => rightAnswer(request).toReversed()),
      when((request) => questionOf(request) > QUERIES - GONE, json({ results: [] }), documents(rightAnswer)),
    ),
  );
  const runs = [baseline, await goldenRun(folder, atEnd), await goldenRun(folder, atEnd)];
  await sendTraffic(daemon);
  await startJobs(embeddedConnection(folder), scheduled);
  await storeHistory(folder, atEnd);
  return { daemon, folder, runs };
}

function config(retriever: string, embedder: string, store: string): string {
  const floors = goldenMeasures.map((measure) => `{measure: ${measure}@10, below: 0.05}`);
  return `
server: {port: 0}
pipelines:
  - name: docs
    retriever: {kind: http, url: "${retriever}/search", timeout_ms: 60000}
    embedder: {kind: openai, base_url: "${embedder}/v1", model: small}
    vector_store: {kind: pgvector, url: "${store}", table: chunks}
    golden: [{set: faq, cron: "0 * * * *", sentinel: {cron: "*/5 * * * *", queries: 20}, concurrency: 4, max_per_second: 1000}]
    sampling: {rate: 1, max_per_minute: 1000000}
    segments: {keys: [course], max: 5}
    checks:
      - {regression: ndcg@10, drop: 0.02}
      - {regression: hit_rate@10, drop: 0.02}
      - {stale_labels_above: 0.02, severity: warning}
      - {density_drift: true, severity: warning}
${floors.map((floor) => `      - ${floor}`).join('\n')}
`;
}

/** Returns equal vectors for equal strings. */
function vectorOf(text: string): number[] {
  return Array.from({ length: DIMENSIONS }, (_, at) => {
    let state = at + 1;
    for (const character of text) state = (state * 31 + (character.codePointAt(0) ?? 0)) % 65_521;
    return state / 65_521 - 0.5;
  });
}

function embeddings(request: ReceivedRequest, response: Parameters<ReturnType<typeof json>>[1]): void {
  const { input } = JSON.parse(request.body) as { input: string | string[] };
  const data = [input].flat().map((text, index) => ({ index, embedding: vectorOf(text) }));
  json({ data, model: 'small' })(request, response);
}

/** Starts a vector store with an HNSW index; the store contains the documents of all queries except the last few. */
async function aVectorStore(atEnd: AtEnd): Promise<string> {
  const server = await startPglite();
  atEnd(() => server.stop());
  const pool = new Pool({ connectionString: server.url, max: 1 });
  const rows = Array.from({ length: QUERIES - GONE }, (_, i) => `('d${i}', '[${vectorOf(`d${i}`).join(',')}]')`);
  await pool.query('create extension if not exists vector');
  await pool.query(`create table chunks (id text primary key, embedding vector(${DIMENSIONS}))`);
  await pool.query(`insert into chunks values ${rows.join(', ')}`);
  await pool.query('create index on chunks using hnsw (embedding vector_cosine_ops)');
  await pool.end();
  return server.url;
}

async function run(folder: string, args: readonly string[], atEnd: AtEnd): Promise<string> {
  const { code, stdout, stderr } = await runRecalld(args, folder, {}, atEnd);
  expect({ args, code, stderr }).toMatchObject({ args, code: 0 });
  return stdout;
}

/** Runs the golden set, and returns the id of the completed run even if its checks fail. */
async function goldenRun(folder: string, atEnd: AtEnd): Promise<string> {
  const args = ['golden', 'run', '--pipeline', 'docs', '--set', 'faq', '--json'];
  const { stdout, stderr } = await runRecalld(args, folder, {}, atEnd);
  expect(stdout, stderr).not.toBe('');
  const summary = JSON.parse(stdout) as RunSummaryJson;
  expect(summary).toMatchObject({ status: 'completed' });
  return summary.run_id;
}

/**
 * Sends queries from three days ago and from today, and feedback of every kind that has a panel. The clicks on the
 * earlier queries are the baseline for today's clicks.
 */
async function sendTraffic(daemon: Daemon): Promise<void> {
  const queries = (prefix: string, count: number, hoursAgo: number) =>
    Array.from({ length: count }, (_, index) => ({
      id: `${prefix}${index}`,
      pipeline: 'docs',
      occurred_at: new Date(Date.now() - hoursAgo * HOUR_MS).toISOString(),
      session_id: `${prefix}${index}`,
      text: `question ${index}`,
      episode: {
        id: `${prefix}${Math.floor(index / 2)}`,
        ...(index % 2 === 0 ? { original_text: `my problem ${index}` } : {}),
      },
      latency_ms: 20 + index,
      segments: { course: index % 2 === 0 ? 'even' : 'odd' },
      results: index % 10 === 9 ? [] : [{ id: 'd1', score: 0.8 - index / 1000 }],
      stages: [{ name: 'candidates', latency_ms: 12 + (index % 7), results: [{ id: 'd2' }, { id: 'd1' }] }],
      ...(index % 20 === 5 ? { error: 'timeout', results: [] } : {}),
    }));
  const before = queries('before', 200, 72);
  const today = queries('today', 100, 1);
  const clicked = [...before, ...today].filter(({ results }, index) => results.length > 0 && index % 3 === 0);
  await post(daemon, '/v1/feedback', [
    ...clicked.map(({ id, occurred_at }) => ({
      query_id: id,
      pipeline: 'docs',
      kind: 'click',
      document_id: 'd1',
      occurred_at,
    })),
    ...today.map(({ id }, index) => ({
      query_id: id,
      pipeline: 'docs',
      kind: 'thumb',
      value: index % 4 === 0 ? -1 : 1,
    })),
  ]);
  // The queries are sent after the feedback, so that every measurement includes all feedback.
  await post(daemon, '/v1/queries', [...before, ...today]);
}

async function post(daemon: Daemon, route: string, body: unknown): Promise<void> {
  const response = await fetch(`${daemon.url}${route}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 202,
    body: { rejected: [] },
  });
}

/** Jobs that would otherwise wait for their schedule. */
const scheduled = [
  'measure-live-traffic',
  'probe-stores',
  'probe-embedders',
  'measure-ann-recall',
  'evaluate-checks',
  'diagnose-alerts',
];

/** In the manifest, marks the documents that the store lacks as deleted, so that their judgments are out of date. */
async function withdrawGone(folder: string, atEnd: AtEnd): Promise<void> {
  const database = await aDatabase(folder, atEnd);
  await database.query(
    `insert into index_documents (pipeline, id, place, deleted, since)
     select 'docs', document_id, substr(document_id, 2)::bigint, true, now() from golden_judgments
      where substr(document_id, 2)::integer >= $1::integer`,
    [QUERIES - GONE],
  );
}

/** Stores the rows that the daemon would store in weeks of live queries, store samples and sentinel runs. */
async function storeHistory(folder: string, atEnd: AtEnd): Promise<void> {
  const database = await aDatabase(folder, atEnd);
  const now = new Date();
  const watching = {
    phase: {
      kind: 'watching',
      baselineVersion: 1,
      grade: 'page',
      days: 14,
      sessions: 4000,
      untilMs: now.getTime() - 24 * HOUR_MS,
      density: 1,
      upgradeMs: null,
      alerts: { page: { incident: null }, ticket: { incident: null } },
    },
    closedMs: now.getTime(),
    sinceMs: null,
    fingerprint: {},
  };
  await database.query(
    `insert into density_states (pipeline, revision, state, updated_at) values ('docs', 1, $1, now())
     on conflict (pipeline) do update set state = excluded.state`,
    [JSON.stringify(watching)],
  );
  await database.query(
    `insert into coverage_admissions (pipeline, decided_until, level, waiting, is_overdue, left_out)
     values ('docs', now(), 0, 3, false, 0)
     on conflict (pipeline) do update set decided_until = excluded.decided_until`,
  );
  await database.query(
    `insert into golden_runs (id, pipeline, golden_set, golden_set_version, purpose, trigger, settings, status,
       started_at, deadline_at, finished_at)
     select 'sentinel-1', pipeline, golden_set, golden_set_version, 'sentinel', 'schedule', settings, 'completed',
       now(), now() + interval '10 minutes', now()
     from golden_runs where purpose = 'full' limit 1`,
  );
  const pool = createPool({ connection: embeddedConnection(folder), size: 1, logger: silentLogger });
  await createMeasurements(pool).record(
    Object.entries(stored).map(([measure, [value, ciLow, ciHigh]]) =>
      aMeasurement({
        measure,
        windowStart: new Date(now.getTime() - HOUR_MS),
        windowEnd: now,
        measuredAt: now,
        value,
        ciLow: ciLow ?? null,
        ciHigh: ciHigh ?? null,
        details: { not_measurable: { no_vector: 3 } },
      }),
    ),
  );
  const mix = { represented: 0.7, effective_sample_size: 24.5 };
  const ofSet = {
    segment: 'golden_set=faq',
    windowEnd: now,
    measuredAt: now,
    value: 0.8,
    ciLow: 0.7,
    ciHigh: 0.9,
  };
  await createMeasurements(pool).record([
    aMeasurement({ ...ofSet, measure: 'golden_representativeness', details: mix }),
    aMeasurement({ ...ofSet, measure: 'golden_live_mix_ndcg', details: { ...mix, metric: 'ndcg@10' } }),
  ]);
  const look = {
    from: new Date(now.getTime() - 24 * HOUR_MS),
    until: now,
    baselineVersion: 1,
    sessions: 500,
  };
  await topicsTable(pool).record(
    { pipeline: 'docs', ...look, lacking: null },
    { seen: [aTopic({ id: TOPIC, windowEnd: now, examples: ['today1', 'erased'] })], parts: new Map() },
    null,
  );
  await pool.end();
}

/** Values, with bounds if there are any, of measures that would need weeks of data or a scheduled golden run. */
const stored: Readonly<Record<string, readonly [number, number?, number?]>> = {
  query_density: [0.93, 0.9, 0.96],
  query_uncovered_ratio: [0.07, 0.05, 0.09],
  query_uncovered_excess_ratio: [0.02, 0, 0.04],
  density_sessions: [240],
  density_page_evidence_ratio: [0.2],
  density_ticket_evidence_ratio: [0.4],
  store_sample_vectors: [2000],
  store_query_divergence: [0.2],
  store_queries_apart_ratio: [0.05],
  store_chunks_unqueried_ratio: [0.6],
  store_centroid_shift: [0.001],
  store_length_ratio: [1.01],
  store_duplicates_ratio: [0.02, 0.01, 0.03],
  store_agreement: [0.9, 0.85, 0.95],
  missed_foreign_ratio: [0.1, 0.02, 0.3],
  missed_changed_ratio: [0.1, 0.02, 0.3],
  returned_absent_ratio: [0.01, 0, 0.03],
};
