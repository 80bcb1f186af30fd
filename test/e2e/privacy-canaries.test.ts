/**
 * Tests which personal data recalld stores: sends a canary in every field, and searches everything that recalld wrote.
 */
import path from 'node:path';
import { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { jobCatalogue } from '../../src/app/jobs.ts';
import { startPglite } from '../../src/demo/rag/store.ts';
import { startJobs } from '../support/installation.ts';
import { aDatabase, aFolder, type Daemon, embeddedConnection, startRecalld } from '../support/recalld.ts';
import { everyFile, everyRow } from '../support/stored-data.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  aFullFeedback,
  aFullQuery,
  type Canary,
  identifiers,
  logsWithFeedback,
  tracesOfEachConvention,
} from './canary-traffic.ts';

interface Mode {
  readonly canary: Canary;
  /** Finds the fields whose canary is in a text. */
  readonly found: (text: string) => readonly string[];
}

const finder = (pattern: RegExp) => (text: string) =>
  [...new Set([...text.matchAll(pattern)].map(([, field = '']) => field))].toSorted();

const modes: Readonly<Record<'hash' | 'redact', Mode>> = {
  // These canaries are ordinary words, so that recalld could mistake a canary for the name of an error class.
  hash: {
    canary: (field) => `Canary_${field}_Yranac`,
    found: finder(/canary_([a-z_]+?)_yranac/gi),
  },
  redact: {
    canary: (field) => `canary.${field}@example.org`,
    found: finder(/canary\.([a-z_]+)@example\.org/gi),
  },
};

const config = (mode: string, store: string) => `
server: {port: 0, max_requests_per_minute: 1000000}
log: {level: debug}
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/search"}
    vector_store: {kind: pgvector, url: "${store}", table: chunks}
    sampling: {rate: 1, max_per_minute: 1000000}
    segments: {keys: [course], max: 5}
    density: {window: 1h}
    privacy: {text: ${mode}}
  - name: rare
    retriever: {kind: http, url: "http://127.0.0.1:9/search"}
    sampling: {rate: 0}
    privacy: {text: ${mode}}
`;

async function aVectorStore(atEnd: (clean: () => Promise<void>) => void): Promise<string> {
  const server = await startPglite();
  atEnd(() => server.stop());
  const pool = new Pool({ connectionString: server.url, max: 1 });
  await pool.query('create extension if not exists vector');
  await pool.query('create table chunks (id text primary key, embedding vector(2))');
  await pool.query(`insert into chunks values ('c1', '[0.6,0.8]'), ('c2', '[1,0]')`);
  await pool.end();
  return server.url;
}

/** Sends a request with canaries in its headers, and returns the status of the response. */
async function send(daemon: Daemon, canary: Canary, method: string, where: string, body?: unknown): Promise<number> {
  const response = await fetch(daemon.url + where, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      'user-agent': canary('user_agent'),
      referer: `${daemon.url}/?${canary('referer')}`,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  await response.arrayBuffer();
  return response.status;
}

async function sendEverything(daemon: Daemon, canary: Canary): Promise<void> {
  const post = (where: string, body: unknown) => send(daemon, canary, 'POST', where, body);
  const plain = { error: undefined, sampling: undefined };
  const accepted = [
    ...['docs', 'rare'].flatMap((pipeline) => [
      () =>
        post('/v1/queries', [
          aFullQuery(canary, pipeline),
          aFullQuery(canary, pipeline, { id: `${pipeline} without error`, ...plain }),
          aFullQuery(canary, pipeline, { id: `${pipeline} without results`, results: [], ...plain }),
        ]),
      // A query that was not sampled is now stored, because of negative feedback.
      () =>
        post('/v1/feedback', [
          aFullFeedback(canary, pipeline),
          aFullFeedback(canary, pipeline, { id: undefined, kind: 'copy', value: undefined }),
          aFullFeedback(canary, pipeline, { id: undefined, query_id: `${pipeline} without error` }),
        ]),
    ]),
    ...['docs', 'rare'].flatMap((pipeline) => [
      ...Object.values(tracesOfEachConvention(canary, pipeline)).map((body) => () => post('/v1/traces', body)),
      () => post('/v1/logs', logsWithFeedback(canary, pipeline)),
    ]),
  ];
  for (const request of accepted) expect(await request()).toBeLessThan(300);

  const query = aFullQuery((field) => canary(`refused_${field}`), 'docs');
  const feedback = aFullFeedback((field) => canary(`refused_${field}`), 'docs');
  const refused: readonly (readonly [string, unknown])[] = [
    ['/v1/queries', { ...query, occurred_at: canary('refused_time') }],
    ['/v1/queries', { ...query, embedding: canary('refused_embedding') }],
    ['/v1/queries', { ...query, [canary('refused_field')]: 1 }],
    ['/v1/queries', { ...query, pipeline: canary('refused_pipeline') }],
    ['/v1/queries', `{"id": "${canary('refused_body')}" oops`],
    ['/v1/feedback', { ...feedback, value: canary('refused_value') }],
    ['/v1/feedback', { ...feedback, kind: canary('refused_kind') }],
    ['/v1/traces', `{"resourceSpans": "${canary('refused_traces')}"`],
    ['/v1/logs', `{"resourceLogs": "${canary('refused_logs')}"`],
    [`/v1/${canary('refused_path')}`, {}],
    [`/v1/queries?q=${canary('refused_search')}`, {}],
  ];
  for (const [where, body] of refused) expect(await post(where, body)).toBeGreaterThanOrEqual(400);
}

/** Runs every scheduled job to completion, regardless of its schedule. */
async function letJobsRun(daemon: Daemon, folder: string): Promise<void> {
  const jobs = jobCatalogue
    .filter(({ cron, payload }) => cron !== null && payload.safeParse({}).success)
    .map(({ name }) => name);
  expect(jobs.length).toBeGreaterThan(10);
  await startJobs(embeddedConnection(folder), jobs);
  await waitFor(async () => {
    const metrics = await (await fetch(`${daemon.url}/metrics`)).text();
    const waiting = jobs.filter((name) => !metrics.includes(`recalld_job_duration_seconds_count{task="${name}"} `));
    expect(waiting).toEqual([]);
    return true;
  });
}

describe.each(['hash', 'redact'] as const)('privacy mode %s', (mode) => {
  const { canary, found } = modes[mode];

  it('stores identifiers in the database, and nothing else that was sent in the database, the files, the log or the metrics', async () => {
    const cleanups: (() => Promise<void>)[] = [];
    const store = await aVectorStore((clean) => void cleanups.push(clean));
    const folder = await aFolder({ 'recalld.yaml': config(mode, store) });
    // Starts no scheduler, because its ticks would run jobs before all data has arrived.
    const daemon = await startRecalld(['serve', '--roles', 'api,worker'], folder);
    await sendEverything(daemon, canary);
    // Jobs process only minutes that have ended.
    const database = await aDatabase(folder);
    for (const column of ['received_at', 'occurred_at'])
      for (const table of ['live_queries', 'feedback'])
        await database.query(`update ${table} set ${column} = ${column} - interval '10 minutes'`);
    await letJobsRun(daemon, folder);
    const erased = await send(daemon, canary, 'DELETE', `/v1/users/${canary('erased_user')}`);
    expect(erased).toBe(200);

    const written = (await everyRow(database)).join('\n');
    expect(written.includes(',measured,')).toBe(true);
    expect(found(written)).toEqual([...identifiers].toSorted());

    // Makes the next request fail, because a failed request is logged.
    await database.query('alter table audit_log rename to elsewhere');
    expect(await send(daemon, canary, 'DELETE', `/v1/users/${canary('erased_in_vain')}`)).toBe(500);
    const metrics = await (await fetch(`${daemon.url}/metrics`)).text();
    // The only canaries in the metrics are values of the segment key in the config.
    expect(found(metrics).filter((field) => !['id_segment_value', 'id_otlp_segment'].includes(field))).toEqual([]);
    const { stderr } = await daemon.stop();
    expect(stderr).toContain('a request failed');
    expect(found(stderr)).toEqual([]);
    expect(
      found(everyFile(path.join(folder, '.recalld'))).filter(
        (field) => !(identifiers as readonly string[]).includes(field),
      ),
    ).toEqual([]);
    for (const clean of cleanups) await clean();
  });
});
