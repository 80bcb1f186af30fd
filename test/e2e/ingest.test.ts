/**
 * Ingest of live queries and feedback: each item is validated, queries are sampled and can be erased, and nothing shows
 * who sent which query.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anInstallation, type Installation, type InstalledDaemon, startJobs } from '../support/installation.ts';
import { seriesValue } from '../support/recalld.ts';
import { waitFor } from '../support/wait-for.ts';

const aPipeline = (name: string, sampling = 'rate: 1, max_per_minute: 10000000', more = '') =>
  `  - {name: ${name}, retriever: {kind: http, url: "http://127.0.0.1:9/search"}, sampling: {${sampling}}${more}}\n`;

const config = (...pipelines: readonly string[]) =>
  `server: {port: 0, max_under_way_mb: 72}\npipelines:\n${pipelines.join('')}`;

const examples = [
  [process.execPath, 'node-client.mjs'],
  [process.execPath, 'opentelemetry.mjs'],
  ['python3', 'python_client.py'],
  ['sh', 'curl.sh'],
] as const;

const aQuery = (id: string, more: object = {}) => ({
  id,
  pipeline: 'docs',
  text: `what is ${id}`,
  results: [{ id: 'd1', score: 0.5 }],
  ...more,
});

describe('ingest', () => {
  const cleanups: (() => Promise<void>)[] = [];
  const atEnd = (clean: () => Promise<void>): void => void cleanups.unshift(clean);
  let query: Installation['query'];
  let connection: Installation['connection'];
  let daemon: InstalledDaemon;

  beforeAll(async () => {
    const pipelines = [
      aPipeline('docs'),
      aPipeline('large'),
      aPipeline('people'),
      aPipeline('late'),
      aPipeline('low', 'rate: 0, low_similarity_below: 0.3'),
      aPipeline('flood', undefined, ', privacy: {text: keep}'),
      ...['unhappy', 'erased'].flatMap((name) => [
        aPipeline(`${name}-unsampled`, 'rate: 0'),
        aPipeline(`${name}-sampled`, 'rate: 0.9999999, max_per_minute: 10000000'),
      ]),
      ...examples.map(([, file]) => aPipeline(file)),
    ];
    const installed = await anInstallation({ 'recalld.yaml': config(...pipelines) }, { atEnd });
    ({ query, connection } = installed);
    daemon = await installed.serve();
  });
  afterAll(async () => {
    await daemon.stop();
    for (const clean of cleanups) await clean();
  });

  it('accepts the valid items of a batch, names the problems of the others, and recognizes duplicates', async () => {
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
    const { status, body } = await daemon.post('/v1/queries', items);
    expect(status).toBe(202);
    expect(body).toMatchObject({ accepted: 2, sampled: 2, duplicates: 0 });
    const rejected = body['rejected'] as { index: number; code: string }[];
    expect(rejected.map(({ index, code }) => [index, code])).toEqual([
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
    expect(await daemon.post('/v1/queries', aQuery('q1'))).toMatchObject({
      status: 202,
      body: { accepted: 0, duplicates: 1 },
    });
    expect(await daemon.post('/v1/queries', [{ nothing: true }])).toMatchObject({
      status: 422,
      body: { accepted: 0 },
    });
    const stored = `select id, octet_length(embedding) as bytes from live_queries where pipeline = 'docs' order by id`;
    expect(await query(stored)).toEqual([
      { id: 'q1', bytes: 8 },
      { id: 'q2', bytes: 8 },
    ]);
  });

  it('stores every query whose best score is low, whatever the sampling rate, if the score can be a cosine', async () => {
    const queries = [0.29, 0.31, 17.2, -0.4].map((score, index) =>
      aQuery(`q${index}`, { pipeline: 'low', results: [{ id: 'd1', score }] }),
    );
    expect(await daemon.post('/v1/queries', queries)).toMatchObject({ body: { accepted: 4, sampled: 2 } });
    const stored = `select id, probability, keep_reason from live_queries where pipeline = 'low' order by id`;
    expect(await query(stored)).toEqual([
      { id: 'q0', probability: 1, keep_reason: 'low_similarity' },
      { id: 'q3', probability: 1, keep_reason: 'low_similarity' },
    ]);
  });

  it('validates each item of a body of many megabytes, and names rejected items by their position', async () => {
    const numbers = Array.from({ length: 384 }, (_, i) => Math.sin(i));
    const queries = Array.from({ length: 1000 }, (_, i) => aQuery(`q${i}`, { pipeline: 'large', embedding: numbers }));
    const sent = [...queries.slice(0, 998), { ...queries[998], text: 7 }, { ...queries[999], pipeline: 'none' }];
    expect(JSON.stringify(sent).length).toBeGreaterThan(5_000_000);
    expect(await daemon.post('/v1/queries', sent)).toEqual({
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
    expect(await daemon.post('/v1/queries', queries)).toMatchObject({
      status: 202,
      body: { accepted: 2, sampled: 2, duplicates: 998, rejected: [] },
    });
    const comments = Array.from({ length: 40 }, (_, i) => ({
      query_id: `q${i}`,
      pipeline: 'large',
      kind: 'thumb',
      value: i === 3 ? 'sideways' : 'down',
      comment: 'so slow '.repeat(10_000),
    }));
    expect(await daemon.post('/v1/feedback', comments)).toMatchObject({
      status: 202,
      body: { accepted: 39, rejected: [{ index: 3, code: 'invalid_field' }] },
    });
    const stored = await query(
      `select count(*)::integer as queries, min(dimensions) as dimensions,
              (select count(*)::integer from feedback where pipeline = 'large') as feedback
         from live_queries where pipeline = 'large'`,
    );
    expect(stored).toEqual([{ queries: 1000, dimensions: 384, feedback: 39 }]);

    const text = JSON.stringify(queries);
    expect(await daemon.post('/v1/queries', '\ufeff[]')).toMatchObject({ status: 202 });
    expect(await daemon.post('/v1/queries', '{"id": oops')).toMatchObject({
      status: 400,
      body: { code: 'body_unreadable' },
    });
    expect(await daemon.post('/v1/queries', text.slice(0, -1))).toMatchObject({
      status: 400,
      body: { code: 'body_unreadable', detail: expect.not.stringContaining('what is') as string },
    });
    expect(await daemon.post('/v1/queries', `${text.slice(0, -1)},${text.slice(1)}`)).toMatchObject({
      status: 400,
      body: { code: 'body_unreadable', detail: expect.stringContaining('2000 items') as string },
    });
    const nothing = sent.map(() => ({ nothing: numbers }));
    expect(await daemon.post('/v1/queries', nothing)).toMatchObject({ status: 422, body: { accepted: 0 } });
  });

  it('refuses requests above the memory limit with Retry-After, and stores every query that it accepted', async () => {
    const size = 9;
    const batches = Array.from({ length: 40 }, (_, batch) =>
      Array.from({ length: size }, (__, i) =>
        aQuery(`q${batch}-${i}`, { pipeline: 'flood', text: 'word '.repeat(20_000) }),
      ),
    );
    const send = (batch: object) =>
      daemon.fetch('/v1/queries', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(batch),
      });
    const stored = async () =>
      (await query<{ rows: number }>(`select count(*)::integer as rows from live_queries where pipeline = 'flood'`))[0]
        ?.rows;
    // While this lock is held, nothing is committed, so all requests stay in progress.
    const lock = new Client(connection);
    await lock.connect();
    const shed: object[] = [];
    let answered = 0;
    const sendBatch = async (batch: object): Promise<void> => {
      const response = await send(batch);
      answered += 1;
      if (response.status === 202) return;
      expect(response.status).toBe(503);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await response.json()).toMatchObject({ code: 'overloaded' });
      shed.push(batch);
    };
    const flood: Promise<void>[] = [];
    try {
      await lock.query('begin; lock table live_queries in exclusive mode');
      flood.push(...batches.map(sendBatch));
      // Each request holds about 6 MB.
      await waitFor(() => answered >= 20);
      expect(shed).toHaveLength(answered);
    } finally {
      await lock.end();
    }
    await Promise.all(flood);
    expect(await stored()).toBe(size * (batches.length - shed.length));
    const metrics = await daemon.metrics();
    expect(seriesValue(metrics, 'recalld_ingest_shed_total{reason="overload"}')).toBe(shed.length);
    for (const batch of shed) expect((await send(batch)).status).toBe(202);
    expect(await stored()).toBe(size * batches.length);
  });

  it('stores an unsampled query once it gets negative feedback, and accepts feedback on any query', async () => {
    const pipeline = 'unhappy-unsampled';
    const queries = [aQuery('sad', { pipeline }), aQuery('glad', { pipeline })];
    expect(await daemon.post('/v1/queries', queries)).toMatchObject({ body: { accepted: 2, sampled: 0 } });
    const thumb = (id: string, value: string) => ({ query_id: id, pipeline, kind: 'thumb', value });
    const sent = [thumb('sad', 'down'), thumb('glad', 'up'), thumb('never seen', 'up')];
    expect(await daemon.post('/v1/feedback', sent)).toMatchObject({ status: 202, body: { accepted: 3 } });
    expect(await daemon.post('/v1/feedback', sent)).toMatchObject({
      status: 202,
      body: { accepted: 0, duplicates: 3 },
    });
    const stored = 'select id, keep_reason, probability from live_queries where pipeline = $1';
    expect(await query(stored, pipeline)).toEqual([{ id: 'sad', keep_reason: 'negative_feedback', probability: 1 }]);
  });

  it('gives a sampled query the probability 1 once it gets negative feedback', async () => {
    const pipeline = 'unhappy-sampled';
    await daemon.post('/v1/queries', [aQuery('sad', { pipeline }), aQuery('glad', { pipeline })]);
    const feedback = { pipeline, kind: 'thumb' };
    await daemon.post('/v1/feedback', [
      { ...feedback, query_id: 'sad', value: 'down' },
      { ...feedback, query_id: 'glad', value: 'up' },
    ]);
    const stored = 'select id, keep_reason, probability from live_queries where pipeline = $1 order by id';
    expect(await query(stored, pipeline)).toEqual([
      { id: 'glad', keep_reason: 'rate', probability: 0.9999999 },
      { id: 'sad', keep_reason: 'negative_feedback', probability: 1 },
    ]);
  });

  const erase = async (what: string) => (await daemon.fetch(`/v1/${what}`, { method: 'DELETE' })).json();

  it('erases a user and a query on request, and keeps only the record of the erasure', async () => {
    const pipeline = 'people';
    const [{ before } = { before: '0' }] = await query<{ before: string }>(
      'select coalesce(max(id), 0) as before from audit_log',
    );
    await daemon.post('/v1/queries', [
      aQuery('q1', { pipeline, user_id: 'ann' }),
      aQuery('q2', { pipeline, user_id: 'bob' }),
      aQuery('of nobody', { pipeline }),
    ]);
    await daemon.post('/v1/feedback', [{ query_id: 'q1', pipeline, kind: 'click', user_id: 'bob', document_id: 'd1' }]);
    expect(await erase('users/ann')).toEqual({ erased: { queries: 1, feedback: 1, golden_queries: 0 } });
    expect(await erase('queries/of%20nobody')).toEqual({
      erased: { queries: 1, feedback: 0, golden_queries: 0 },
    });
    expect(await query('select id from live_queries where pipeline = $1', pipeline)).toEqual([{ id: 'q2' }]);
    expect(await query('select act, subject, before from audit_log where id > $1::bigint order by id', before)).toEqual(
      [
        { act: 'erase', subject: 'user', before: { queries: 1, feedback: 1, golden_queries: 0 } },
        { act: 'erase', subject: 'query', before: { queries: 1, feedback: 0, golden_queries: 0 } },
      ],
    );
  });

  it('erases data that arrives after the erasure of its user but dates from before', async () => {
    const pipeline = 'late';
    const before = new Date().toISOString();
    await daemon.post('/v1/queries', aQuery('q1', { pipeline, user_id: 'eve' }));
    await erase('users/eve');
    const comment = { pipeline, kind: 'thumb', value: 'down', comment: 'not what I asked' };
    const late = await daemon.post('/v1/feedback', [
      { ...comment, query_id: 'q1' },
      { ...comment, query_id: 'q9', user_id: 'eve', occurred_at: before },
      { ...comment, query_id: 'q9', user_id: 'bob', occurred_at: before },
    ]);
    expect(late).toMatchObject({ status: 202, body: { accepted: 3 } });
    await daemon.post('/v1/queries', [
      aQuery('q2', { pipeline, user_id: 'eve', occurred_at: before }),
      aQuery('q3', { pipeline, user_id: 'eve' }),
    ]);
    await startJobs(connection, ['erase-late-arrivals']);
    await waitFor(async () => {
      expect(await query('select id from live_queries where pipeline = $1', pipeline)).toEqual([{ id: 'q3' }]);
      expect(await query('select query_id from feedback where pipeline = $1', pipeline)).toEqual([{ query_id: 'q9' }]);
      return true;
    });
  });

  it.each(['unsampled', 'sampled'])(
    'does not restore an erased %s query that gets negative feedback later',
    async (what) => {
      const pipeline = `erased-${what}`;
      const [carol, erased, kept] = ['carol', 'erased', 'kept'].map((name) => `${name}-${what}`);
      await daemon.post('/v1/queries', [
        aQuery('q1', { pipeline, user_id: carol }),
        aQuery(String(erased), { pipeline }),
        aQuery(String(kept), { pipeline, user_id: 'dave' }),
      ]);
      await erase(`users/${carol}`);
      await erase(`queries/${erased}`);
      const down = (id: unknown) => ({ pipeline, query_id: id, kind: 'thumb', value: 'down' });
      const sent = await daemon.post('/v1/feedback', ['q1', erased, kept].map(down));
      expect(sent).toMatchObject({ body: { accepted: 3 } });
      expect(await query('select id from live_queries where pipeline = $1', pipeline)).toEqual([{ id: kept }]);
    },
  );

  it.each(examples)(
    'stores the query, the documents and the feedback that %s examples/%s sends',
    async (command, file) => {
      const root = path.resolve(import.meta.dirname, '../..');
      const env = {
        ...process.env,
        PYTHONPATH: 'clients/python',
        RECALLD_URL: daemon.url,
        RECALLD_API_KEY: daemon.apiKey,
        RECALLD_PIPELINE: file,
      };
      const ran = spawnSync(command, [path.join('examples', file)], {
        cwd: root,
        env,
        encoding: 'utf8',
        timeout: 30_000,
      });
      // The check is skipped on a machine without the interpreter.
      if (ran.error !== undefined) return;
      expect(ran).toMatchObject({ status: 0, stderr: '' });
      const [stored] = await query<{ queries: number; documents: number; joined: number }>(
        `select count(distinct q.id)::integer as queries, sum(jsonb_array_length(q.results))::integer as documents,
                count(f.id)::integer as joined
           from live_queries q left join feedback f on f.pipeline = q.pipeline and f.query_id = q.id
          where q.pipeline = $1`,
        file,
      );
      for (const count of ['queries', 'documents', 'joined'] as const) expect(stored?.[count]).toBeGreaterThan(0);
    },
  );
});

it('no email address in redact mode, and no text in hash mode, leaks into the database, the log, the metrics or an error', async () => {
  const canary = 'jane.canary@example.com';
  const asked = { redact: 'who is', hash: 'where is' };
  const pipelines = (['redact', 'hash'] as const).map((mode) =>
    aPipeline(mode, 'rate: 1', `, privacy: {text: ${mode}}`),
  );
  const { query, serve } = await anInstallation({
    'recalld.yaml': `${config(...pipelines)}log: {level: debug}\n`,
  });
  const daemon = await serve();
  const answers: unknown[] = [];
  for (const pipeline of ['redact', 'hash'] as const) {
    const text = `${asked[pipeline]} ${canary}`;
    const thumb = { query_id: 'q1', pipeline, kind: 'thumb' };
    const sent: readonly [status: number, where: string, body: unknown][] = [
      [
        202,
        '/v1/queries',
        aQuery('q1', { pipeline, text, user_id: canary, session_id: canary, error: `no ${canary}` }),
      ],
      [422, '/v1/queries', aQuery('q2', { pipeline, text: canary, embedding: canary })],
      [400, '/v1/queries', `{"id": "q3", "text": "${canary}" oops`],
      [422, '/v1/feedback', { ...thumb, value: canary }],
      [202, '/v1/feedback', { ...thumb, value: 'up', comment: canary, user_id: canary }],
    ];
    for (const [status, where, body] of sent) {
      const answer = await daemon.post(where, body);
      expect(answer.status).toBe(status);
      answers.push(answer);
    }
  }
  const stored: unknown[] = [];
  for (const table of ['live_queries', 'feedback', 'bullmq.job'])
    stored.push(await query(`select t::text from ${table} t`));
  const metrics = await daemon.metrics();
  const { stderr } = await daemon.stop();
  const everything = JSON.stringify([answers, stored, metrics, stderr]);
  expect(everything).toContain(`${asked.redact} [EMAIL]`);
  expect(everything).toContain('q1');
  expect(everything).not.toContain(canary);
  expect(everything).not.toContain(asked.hash);
});

it('a key with the right scope is required when other machines can reach the daemon', async () => {
  const { json, recalld, serve } = await anInstallation({
    'recalld.yaml': config(aPipeline('docs')).replace('{port: 0}', '{port: 0, host: 0.0.0.0}'),
  });
  const daemon = await serve();
  const { url } = daemon;
  const create = (scope: string) => json<{ id: string; key: string }>(`keys create --name ${scope} --scope ${scope}`);
  const [ingest, read] = [await create('ingest'), await create('read')];
  const send = async (key?: string) => {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const headers = { 'content-type': 'application/json', ...authorization };
    const body = JSON.stringify(aQuery('q1'));
    const response = await fetch(`${url}/v1/queries`, { method: 'POST', headers, body });
    return { status: response.status, body: (await response.json()) as unknown };
  };
  expect(await send()).toMatchObject({ status: 401, body: { code: 'key_missing' } });
  expect(await send('rcl_nonsense')).toMatchObject({ status: 401, body: { code: 'key_invalid' } });
  expect(await send(read.key)).toMatchObject({ status: 403, body: { code: 'key_lacks_scope' } });
  expect(await send(ingest.key)).toMatchObject({ status: 202 });
  await recalld(`keys revoke ${ingest.id}`);
  await waitFor(async () => (await send(ingest.key)).status === 401);
  expect((await daemon.stop()).stderr).not.toContain(ingest.key);
});
