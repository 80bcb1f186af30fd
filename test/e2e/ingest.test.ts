/** Live queries and feedback: accepted means stored, once, whatever dies; and nothing tells who asked what. */

import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEmbeddedPostgres } from '../../src/postgres/embedded/open.ts';
import { silentLogger } from '../support/log.ts';
import { aDatabase, aFolder, type Daemon, runRecalld, startRecalld } from '../support/recalld.ts';
import { describeWithRedis, useRedis } from '../support/redis.ts';
import { startTcpGate } from '../support/tcp-gate.ts';
import { waitFor } from '../support/wait-for.ts';
import { startJobs } from './watched-service.ts';

const config = (extra = '') => `
server: {port: 0}
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/search"}
    sampling: {rate: 1, max_per_minute: 10000000}
${extra}`;

interface Answer {
  readonly status: number;
  readonly body: {
    accepted: number;
    sampled?: number;
    duplicates: number;
    rejected: { index: number; code: string; message: string }[];
  };
}

async function post(
  daemon: Pick<Daemon, 'url'>,
  where: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${daemon.url}${where}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const aQuery = (id: string, more: object = {}) => ({
  id,
  pipeline: 'docs',
  text: `what is ${id}`,
  results: [{ id: 'd1', score: 0.5 }],
  ...more,
});

interface Load {
  /** Ids that were answered 202. */
  readonly accepted: ReadonlySet<string>;
  /** Statuses of other answers. */
  readonly refusals: ReadonlySet<number>;
  /** Lets every client bring its last batch home. */
  stop(): Promise<void>;
}

/** Four clients that send each batch again until it is accepted, as ours does; bounded in batches and tries. */
function startLoad(daemon: () => Pick<Daemon, 'url'>, headers: Record<string, string> = {}): Load {
  const accepted = new Set<string>();
  const refusals = new Set<number>();
  let isOver = false;
  const bringHome = async (queries: readonly { id: string }[]): Promise<void> => {
    for (let tries = 0; tries < 5000; tries++) {
      const answer = await post(daemon(), '/v1/queries', queries, headers).catch(() => null);
      if (answer?.status === 202) {
        for (const { id } of queries) accepted.add(id);
        return;
      }
      if (answer !== null) refusals.add(answer.status);
      await setTimeout(20);
    }
  };
  const clients = ['a', 'b', 'c', 'd'].map(async (name) => {
    for (let batch = 0; !isOver && batch < 2000; batch++) {
      await bringHome(Array.from({ length: 20 }, (_, i) => aQuery(`${name}-${batch}-${i}`)));
    }
  });
  return {
    accepted,
    refusals,
    async stop() {
      isOver = true;
      await Promise.all(clients);
    },
  };
}

async function storedIds(client: Client): Promise<{ stored: number; ids: number } | undefined> {
  const { rows } = await client.query<{ stored: number; ids: number }>(
    'select count(*)::integer as stored, count(distinct id)::integer as ids from live_queries',
  );
  return rows[0];
}

describe('ingest', () => {
  it('takes what is right of a batch, names what is wrong with the rest, and knows what it has', async () => {
    const folder = await aFolder({ 'recalld.yaml': config() });
    const daemon = await startRecalld(['serve'], folder);
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const items = [
      aQuery('q1', { embedding: [0.6, 0.8] }),
      aQuery('q2', { embedding: Buffer.from(new Float32Array([1, 0]).buffer).toString('base64') }),
      { ...aQuery('q3'), pipeline: 'dogs' },
      aQuery('q4', { embedding: [1, 2, 3] }),
      aQuery('q5', { embedding: [0, 0] }),
      aQuery('q6', { embedding: 'not base64!' }),
      aQuery('q7', { embedding: ['1', '2'] }),
      aQuery('q8', { occurred_at: inAnHour }),
      aQuery('q9', { occurred_at: '1999-01-01T00:00:00Z' }),
      aQuery('q10', { text: 'x'.repeat(200_000) }),
      aQuery('q11', { text: 'a\u0000b' }),
      aQuery('q12', { colour: 'red' }),
      { id: 'q13', pipeline: 'docs' },
    ];
    const { status, body } = await post(daemon, '/v1/queries', items);
    expect(status).toBe(202);
    expect(body).toMatchObject({ accepted: 2, sampled: 2, duplicates: 0 });
    expect(body.rejected.map(({ index, code }) => [index, code])).toEqual([
      [2, 'unknown_pipeline'],
      [3, 'embedding_wrong_dimension'],
      [4, 'embedding_zero'],
      [5, 'embedding_malformed'],
      [6, 'embedding_malformed'],
      [7, 'occurred_in_future'],
      [8, 'occurred_too_long_ago'],
      [9, 'text_too_long'],
      [10, 'control_characters'],
      [11, 'unknown_field'],
      [12, 'invalid_field'],
    ]);
    expect(await post(daemon, '/v1/queries', aQuery('q1'))).toMatchObject({
      status: 202,
      body: { accepted: 0, duplicates: 1 },
    });
    expect(await post(daemon, '/v1/queries', [{ nothing: true }])).toMatchObject({
      status: 422,
      body: { accepted: 0 },
    });
    const { rows } = await (await aDatabase(folder)).query<{ id: string; bytes: number }>(
      'select id, octet_length(embedding) as bytes from live_queries order by id',
    );
    expect(rows).toEqual([
      { id: 'q1', bytes: 8 },
      { id: 'q2', bytes: 8 },
    ]);
    expect((await daemon.stop()).code).toBe(0);
  });

  it('keeps every accepted id exactly once through retries and kill -9 under load', async () => {
    const folder = await aFolder({ 'recalld.yaml': config() });
    let daemon = await startRecalld(['serve'], folder);
    const load = startLoad(() => daemon);
    for (const atLeast of [800, 2400]) {
      await waitFor(() => load.accepted.size >= atLeast);
      daemon.child.kill('SIGKILL');
      await daemon.finished;
      daemon = await startRecalld(['serve'], folder);
    }
    await waitFor(() => load.accepted.size >= 4000);
    await load.stop();
    expect(await storedIds(await aDatabase(folder))).toEqual({
      stored: load.accepted.size,
      ids: load.accepted.size,
    });
    expect((await daemon.stop()).code).toBe(0);
  });

  it('keeps every accepted id exactly once when its database goes away, or falls silent, under load', async () => {
    const server = await openEmbeddedPostgres({
      dataDir: await aFolder(),
      purpose: 'daemon',
      logger: silentLogger,
    });
    onTestFinished(() => server.stop());
    const gate = await startTcpGate(server.connection);
    onTestFinished(() => gate.close());
    const { user, password, database } = server.connection;
    const url = `postgres://${user}:${encodeURIComponent(password)}@${gate.host}:${gate.port}/${database}`;
    const folder = await aFolder({ 'recalld.yaml': `${config()}\nstorage: {url: "${url}"}\n` });
    expect(await runRecalld(['migrate'], folder)).toMatchObject({ code: 0 });
    const created = await runRecalld(['keys', 'create', '--name', 'load', '--scope', 'ingest'], folder);
    const daemon = await startRecalld(['serve'], folder);

    const load = startLoad(() => daemon, { authorization: `Bearer ${created.stdout.trim()}` });
    await waitFor(() => load.accepted.size >= 400);
    await gate.shut();
    await waitFor(() => load.refusals.has(503));
    expect((await fetch(`${daemon.url}/livez`)).status).toBe(200);
    expect((await fetch(`${daemon.url}/readyz`)).status).toBe(503);
    await gate.open();
    const afterCut = load.accepted.size;
    await waitFor(() => load.accepted.size >= afterCut + 400);
    gate.hold();
    await waitFor(async () => (await fetch(`${daemon.url}/readyz`)).status === 503);
    await gate.open();
    const afterSilence = load.accepted.size;
    await waitFor(() => load.accepted.size >= afterSilence + 400, { timeoutMs: 100_000 });
    await load.stop();

    const client = new Client(server.connection);
    await client.connect();
    expect(await storedIds(client)).toEqual({ stored: load.accepted.size, ids: load.accepted.size });
    await client.end();
    expect((await daemon.stop()).code).toBe(0);
  });

  describeWithRedis('while its job queue is away', () => {
    const redis = useRedis();

    it('accepts everything and stores it once: PostgreSQL alone decides', async () => {
      const folder = await aFolder({
        'recalld.yaml': `${config()}\nqueue: {backend: redis, url: "${redis.url}"}\n`,
      });
      const daemon = await startRecalld(['serve'], folder);
      const load = startLoad(() => daemon);
      const isReady = async () => (await fetch(`${daemon.url}/readyz`)).status === 200;
      const takesMore = async (queries: number) => {
        const before = load.accepted.size;
        await waitFor(() => load.accepted.size >= before + queries);
      };
      await takesMore(400);
      redis.freeze();
      await waitFor(async () => !(await isReady()));
      await takesMore(2000);
      await redis.start();
      await waitFor(isReady);
      await redis.stop();
      await waitFor(async () => !(await isReady()));
      await takesMore(2000);
      await redis.start();
      await waitFor(isReady);
      await takesMore(400);
      await load.stop();
      expect([...load.refusals]).toEqual([]);
      expect(await storedIds(await aDatabase(folder))).toEqual({
        stored: load.accepted.size,
        ids: load.accepted.size,
      });
      expect((await daemon.stop()).code).toBe(0);
    });
  });

  it('keeps what the best document is far from, whatever the rate, where scores can be cosines', async () => {
    const sampling = '{rate: 0, low_similarity_below: 0.3}';
    const pipeline = `{name: docs, retriever: {kind: http, url: "http://127.0.0.1:9/search"}, sampling: ${sampling}}`;
    const folder = await aFolder({ 'recalld.yaml': `server: {port: 0}\npipelines: [${pipeline}]\n` });
    const daemon = await startRecalld(['serve'], folder);
    const scores = [0.29, 0.31, 17.2, -0.4];
    const queries = scores.map((score, index) => aQuery(`q${index}`, { results: [{ id: 'd1', score }] }));
    expect((await post(daemon, '/v1/queries', queries)).body).toMatchObject({ accepted: 4, sampled: 2 });
    const { rows } = await (await aDatabase(folder)).query(
      'select id, probability, keep_reason from live_queries order by id',
    );
    expect(rows).toEqual([
      { id: 'q0', probability: 1, keep_reason: 'low_similarity' },
      { id: 'q3', probability: 1, keep_reason: 'low_similarity' },
    ]);
  });

  it('takes in bodies of many megabytes like small ones, each item judged on its own and named by its place', async () => {
    const folder = await aFolder({ 'recalld.yaml': config() });
    const daemon = await startRecalld(['serve'], folder);
    const numbers = Array.from({ length: 384 }, (_, i) => Math.sin(i));
    const queries = Array.from({ length: 1000 }, (_, i) => aQuery(`q${i}`, { embedding: numbers }));
    const sent = [
      ...queries.slice(0, 998),
      { ...queries[998], text: 7 },
      { ...queries[999], pipeline: 'none' },
    ];
    expect(JSON.stringify(sent).length).toBeGreaterThan(5_000_000);
    expect(await post(daemon, '/v1/queries', sent)).toEqual({
      status: 202,
      body: {
        accepted: 998,
        sampled: 998,
        duplicates: 0,
        rejected: [
          { index: 998, code: 'invalid_field', message: expect.stringContaining('text') as string },
          { index: 999, code: 'unknown_pipeline', message: expect.stringContaining('none') as string },
        ],
      },
    });
    expect(await post(daemon, '/v1/queries', queries)).toMatchObject({
      status: 202,
      body: { accepted: 2, sampled: 2, duplicates: 998, rejected: [] },
    });
    const comments = Array.from({ length: 40 }, (_, i) => ({
      query_id: `q${i}`,
      pipeline: 'docs',
      kind: 'thumb',
      value: i === 3 ? 'sideways' : 'down',
      comment: 'so slow '.repeat(10_000),
    }));
    expect(await post(daemon, '/v1/feedback', comments)).toMatchObject({
      status: 202,
      body: { accepted: 39, rejected: [{ index: 3, code: 'invalid_field' }] },
    });
    const { rows } = await (await aDatabase(folder)).query(
      `select count(*)::integer as queries, min(dimensions) as dimensions,
              (select count(*)::integer from feedback) as feedback from live_queries`,
    );
    expect(rows).toEqual([{ queries: 1000, dimensions: 384, feedback: 39 }]);

    const text = JSON.stringify(queries);
    expect(await post(daemon, '/v1/queries', '\ufeff[]')).toMatchObject({ status: 202 });
    expect(await post(daemon, '/v1/queries', '{"id": oops')).toMatchObject({
      status: 400,
      body: { code: 'body_unreadable' },
    });
    expect(await post(daemon, '/v1/queries', text.slice(0, -1))).toMatchObject({
      status: 400,
      body: { code: 'body_unreadable', detail: expect.not.stringContaining('what is') as string },
    });
    expect(await post(daemon, '/v1/queries', `${text.slice(0, -1)},${text.slice(1)}`)).toMatchObject({
      status: 400,
      body: { code: 'body_unreadable', detail: expect.stringContaining('2000 items') as string },
    });
    expect(
      await post(
        daemon,
        '/v1/queries',
        sent.map(() => ({ nothing: numbers })),
      ),
    ).toMatchObject({ status: 422, body: { accepted: 0 } });
    await daemon.stop();
  });

  it('keeps a query that was not sampled when a user is unhappy with it, and counts feedback on any query', async () => {
    const folder = await aFolder({ 'recalld.yaml': config().replace('rate: 1,', 'rate: 0,') });
    const daemon = await startRecalld(['serve'], folder);
    expect(await post(daemon, '/v1/queries', [aQuery('sad'), aQuery('glad')])).toMatchObject({
      body: { accepted: 2, sampled: 0 },
    });
    const feedback = (queryId: string, value: string) => ({
      query_id: queryId,
      pipeline: 'docs',
      kind: 'thumb',
      value,
    });
    const told = [feedback('sad', 'down'), feedback('glad', 'up'), feedback('never seen', 'up')];
    expect(await post(daemon, '/v1/feedback', told)).toMatchObject({ status: 202, body: { accepted: 3 } });
    expect(await post(daemon, '/v1/feedback', told)).toMatchObject({
      status: 202,
      body: { accepted: 0, duplicates: 3 },
    });
    const { rows } = await (await aDatabase(folder)).query(
      'select id, keep_reason, probability from live_queries',
    );
    expect(rows).toEqual([{ id: 'sad', keep_reason: 'negative_feedback', probability: 1 }]);
    await daemon.stop();
  });

  it('is as certain of an unhappy query that the rate had kept as of one that it had not', async () => {
    const folder = await aFolder({ 'recalld.yaml': config().replace('rate: 1,', 'rate: 0.9999999,') });
    const daemon = await startRecalld(['serve'], folder);
    await post(daemon, '/v1/queries', [aQuery('sad'), aQuery('glad')]);
    const feedback = { pipeline: 'docs', kind: 'thumb' };
    await post(daemon, '/v1/feedback', [
      { ...feedback, query_id: 'sad', value: 'down' },
      { ...feedback, query_id: 'glad', value: 'up' },
    ]);
    const { rows } = await (await aDatabase(folder)).query(
      'select id, keep_reason, probability from live_queries order by id',
    );
    expect(rows).toEqual([
      { id: 'glad', keep_reason: 'rate', probability: 0.9999999 },
      { id: 'sad', keep_reason: 'negative_feedback', probability: 1 },
    ]);
    await daemon.stop();
  });

  it('erases a person and a query on request, and keeps nothing but that it did', async () => {
    const folder = await aFolder({ 'recalld.yaml': config() });
    const daemon = await startRecalld(['serve'], folder);
    await post(daemon, '/v1/queries', [
      aQuery('q1', { user_id: 'ann' }),
      aQuery('q2', { user_id: 'bob' }),
      aQuery('q3'),
    ]);
    await post(daemon, '/v1/feedback', [
      { query_id: 'q1', pipeline: 'docs', kind: 'click', user_id: 'bob', document_id: 'd1' },
    ]);
    const erase = async (what: string) =>
      (await fetch(`${daemon.url}/v1/${what}`, { method: 'DELETE' })).json();
    expect(await erase('users/ann')).toEqual({ erased: { queries: 1, feedback: 1, golden_queries: 0 } });
    expect(await erase('queries/q3')).toEqual({ erased: { queries: 1, feedback: 0, golden_queries: 0 } });
    const database = await aDatabase(folder);
    expect((await database.query('select id from live_queries')).rows).toEqual([{ id: 'q2' }]);
    expect(
      (await database.query('select subject, queries, feedback from erasures order by id')).rows,
    ).toEqual([
      { subject: 'user', queries: 1, feedback: 1 },
      { subject: 'query', queries: 1, feedback: 0 },
    ]);
    await daemon.stop();
  });

  it('erases within a minute what comes late of an erased person, from before the erasure', async () => {
    const folder = await aFolder({ 'recalld.yaml': config() });
    const daemon = await startRecalld(['serve'], folder);
    const before = new Date().toISOString();
    await post(daemon, '/v1/queries', aQuery('q1', { user_id: 'ann' }));
    await fetch(`${daemon.url}/v1/users/ann`, { method: 'DELETE' });
    const comment = { pipeline: 'docs', kind: 'thumb', value: 'down', comment: 'not what I asked' };
    const late = await post(daemon, '/v1/feedback', [
      { ...comment, query_id: 'q1' },
      { ...comment, query_id: 'q9', user_id: 'ann', occurred_at: before },
      { ...comment, query_id: 'q9', user_id: 'bob', occurred_at: before },
    ]);
    expect(late).toMatchObject({ status: 202, body: { accepted: 3 } });
    await post(daemon, '/v1/queries', [
      aQuery('q2', { user_id: 'ann', occurred_at: before }),
      aQuery('q3', { user_id: 'ann' }),
    ]);
    const database = await aDatabase(folder);
    await startJobs(folder, ['erase-late-arrivals']);
    await waitFor(async () => {
      expect((await database.query('select id from live_queries')).rows).toEqual([{ id: 'q3' }]);
      expect((await database.query('select query_id from feedback')).rows).toEqual([{ query_id: 'q9' }]);
      return true;
    });
    await daemon.stop();
  });

  it.each([
    ['was not sampled', 'rate: 0,'],
    ['was sampled', 'rate: 0.9999999,'],
  ])(
    'does not bring back an erased query that %s when somebody is unhappy with it later',
    async (_, rate) => {
      const folder = await aFolder({ 'recalld.yaml': config().replace('rate: 1,', rate) });
      const daemon = await startRecalld(['serve'], folder);
      const queries = [aQuery('q1', { user_id: 'ann' }), aQuery('q2'), aQuery('q3', { user_id: 'bob' })];
      await post(daemon, '/v1/queries', queries);
      for (const what of ['users/ann', 'queries/q2']) {
        expect((await fetch(`${daemon.url}/v1/${what}`, { method: 'DELETE' })).status).toBe(200);
      }
      const down = (id: string) => ({ pipeline: 'docs', query_id: id, kind: 'thumb', value: 'down' });
      const told = await post(daemon, '/v1/feedback', ['q1', 'q2', 'q3'].map(down));
      expect(told).toMatchObject({ body: { accepted: 3 } });
      const { rows } = await (await aDatabase(folder)).query('select id from live_queries');
      expect(rows).toEqual([{ id: 'q3' }]);
      await daemon.stop();
    },
  );

  it.each(['redact', 'hash'])(
    'lets no text out in %s mode: not in the database, the log, the metrics or an error',
    async (mode) => {
      const canary = 'jane.canary@example.com';
      const folder = await aFolder({
        'recalld.yaml': config(`    privacy: {text: ${mode}}\nlog: {level: debug}\n`),
      });
      const daemon = await startRecalld(['serve'], folder);
      const answers = [
        await post(
          daemon,
          '/v1/queries',
          aQuery('q1', {
            text: `who is ${canary}`,
            user_id: canary,
            session_id: canary,
            error: `no ${canary}`,
          }),
        ),
        await post(daemon, '/v1/queries', aQuery('q2', { text: canary, embedding: canary })),
        await post(daemon, '/v1/queries', `{"id": "q3", "text": "${canary}" oops`),
        await post(daemon, '/v1/feedback', {
          query_id: 'q1',
          pipeline: 'docs',
          kind: 'thumb',
          value: canary,
        }),
        await post(daemon, '/v1/feedback', {
          query_id: 'q1',
          pipeline: 'docs',
          kind: 'thumb',
          value: 'up',
          comment: canary,
          user_id: canary,
        }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([202, 422, 400, 422, 202]);
      const database = await aDatabase(folder);
      const stored: unknown[] = [];
      for (const table of ['live_queries', 'feedback', 'bullmq.job']) {
        stored.push((await database.query(`select t::text from ${table} t`)).rows);
      }
      const metrics = await (await fetch(`${daemon.url}/metrics`)).text();
      const { stderr } = await daemon.stop();
      const everything = JSON.stringify([answers, stored, metrics, stderr]);
      expect(everything).toContain(mode === 'redact' ? 'who is [EMAIL]' : 'q1');
      expect(everything).not.toContain(canary);
      if (mode === 'hash') expect(everything).not.toContain('who is');
    },
  );

  it('needs a key with the right scope when others can reach it', async () => {
    const folder = await aFolder({
      'recalld.yaml': config().replace('{port: 0}', '{port: 0, host: 0.0.0.0}'),
    });
    const daemon = await startRecalld(['serve'], folder);
    const here = { url: `http://127.0.0.1:${new URL(daemon.url).port}` };
    const create = async (scope: string) => {
      const { stdout, stderr } = await runRecalld(
        ['keys', 'create', '--name', scope, '--scope', scope, '--json'],
        folder,
      );
      expect(stderr).toBe('');
      return JSON.parse(stdout) as { id: string; key: string };
    };
    const ingest = await create('ingest');
    const read = await create('read');
    const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
    const send = (headers: Record<string, string>) => post(here, '/v1/queries', aQuery('q1'), headers);
    expect(await send({})).toMatchObject({ status: 401, body: { code: 'key_missing' } });
    expect(await send(bearer('rcl_nonsense'))).toMatchObject({ status: 401, body: { code: 'key_invalid' } });
    expect(await send(bearer(read.key))).toMatchObject({ status: 403, body: { code: 'key_lacks_scope' } });
    expect(await send(bearer(ingest.key))).toMatchObject({ status: 202 });
    await runRecalld(['keys', 'revoke', ingest.id], folder);
    await waitFor(async () => (await send(bearer(ingest.key))).status === 401);
    const { stderr } = await daemon.stop();
    expect(stderr).not.toContain(ingest.key);
  });

  it.each([
    [process.execPath, 'node-client.mjs'],
    [process.execPath, 'opentelemetry.mjs'],
    ['python3', 'python_client.py'],
    ['sh', 'curl.sh'],
  ])(
    'stores what %s examples/%s tells: a query with its documents, and feedback that finds it',
    async (command, file) => {
      const folder = await aFolder({ 'recalld.yaml': config() });
      const daemon = await startRecalld(['serve'], folder);
      const root = path.resolve(import.meta.dirname, '../..');
      const env = { ...process.env, RECALLD_URL: daemon.url, RECALLD_PIPELINE: 'docs' };
      const ran = spawnSync(command, [path.join('examples', file)], {
        cwd: root,
        env,
        encoding: 'utf8',
        timeout: 30_000,
      });
      // A machine without the interpreter has nothing to show.
      if (ran.error === undefined) {
        expect(ran).toMatchObject({ status: 0, stderr: '' });
        const { rows } = await (await aDatabase(folder)).query<{
          queries: number;
          documents: number;
          joined: number;
        }>(
          `select count(distinct q.id)::integer as queries, sum(jsonb_array_length(q.results))::integer as documents,
                count(f.id)::integer as joined
           from live_queries q left join feedback f on f.pipeline = q.pipeline and f.query_id = q.id`,
        );
        expect(rows[0]?.queries).toBeGreaterThan(0);
        expect(rows[0]?.documents).toBeGreaterThan(0);
        expect(rows[0]?.joined).toBeGreaterThan(0);
      }
      expect((await daemon.stop()).code).toBe(0);
    },
  );
});
