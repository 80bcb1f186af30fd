/**
 * Takes a golden set from import to verdict over HTTP alone, and reads every resource of a daemon before and after it
 * has data.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { measureLiveTrafficJob } from '../../src/live/live-jobs.ts';
import { mcpTools } from '../../src/mcp/tools.ts';
import { allPages, apiOf, type CallApi } from '../support/api.ts';
import { urlOf } from '../support/database.ts';
import { documents, type FaultServer, startFaultServer } from '../support/fault-server.ts';
import { anInstallation, type Installation, type InstalledDaemon, startJobs } from '../support/installation.ts';
import { aFolder, programFile, runRecalld, startRecalld } from '../support/recalld.ts';
import { waitFor } from '../support/wait-for.ts';
import { questionOf, rightAnswer } from './golden-files.ts';

const QUERIES = 30;

const config = (url: string, server = '{port: 0}') => `
server: ${server}
pipelines:
  - name: docs
    retriever: {kind: http, url: "${url}/search", timeout_ms: 60000, retries: 0}
    golden: [{set: faq, max_per_second: 1000}]
    segments: {keys: [course]}
    sampling: {rate: 1}
    checks:
      - {measure: ndcg@10, below: 0.8, severity: critical}
      - {regression: ndcg@10, drop: 0.02, severity: critical, runs: 1}
  - name: quiet
    retriever: {kind: http, url: "${url}/search", timeout_ms: 60000}
`;

const goldenQueries = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    id: `q${i}`,
    text: `question ${i}`,
    tags: { course: i % 2 === 0 ? 'even' : 'odd' },
    relevant: [`d${i}`],
  }));

const cleanups: (() => Promise<void>)[] = [];
const atEnd = (clean: () => Promise<void>): void => void cleanups.unshift(clean);

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

let installed: Installation;
let daemon: InstalledDaemon;
let call: CallApi;
let server: FaultServer;
/** Queries with a number below this get wrong results. */
let wrongBelow = 0;

beforeAll(async () => {
  server = await startFaultServer(
    documents((request) => (questionOf(request) < wrongBelow ? [{ id: 'x', score: 1 }] : rightAnswer(request))),
  );
  atEnd(() => server.close());
  installed = await anInstallation({ 'recalld.yaml': config(server.url) }, { atEnd });
  daemon = await installed.serve();
  ({ call } = daemon);
});

function overHttp(): StreamableHTTPClientTransport {
  const headers = { authorization: `Bearer ${daemon.apiKey}` };
  return new StreamableHTTPClientTransport(new URL('/v1/mcp', daemon.url), { requestInit: { headers } });
}

function overStdio(): StdioClientTransport {
  const env = { RECALLD_STORAGE_URL: urlOf(installed.connection) };
  return new StdioClientTransport({
    command: process.execPath,
    args: [programFile(), 'mcp'],
    cwd: installed.folder,
    env,
  });
}

async function get(path: string): Promise<Record<string, unknown>> {
  const { status, json } = await call('GET', path);
  expect({ path, status }).toEqual({ path, status: 200 });
  return json;
}

async function runGolden(): Promise<string> {
  const started = await call('POST', '/v1/golden-runs', { pipeline: 'docs', golden_set: 'faq' });
  expect(started).toMatchObject({ status: 202, json: { status: 'running' } });
  const where = String(started.headers.get('location'));
  await waitFor(async () => (await get(where))['status'] === 'completed');
  return String(started.json['run_id']);
}

describe('an empty daemon', () => {
  it('returns an empty page for every list', async () => {
    for (const path of ['/v1/golden-sets', '/v1/golden-runs', '/v1/deployments'])
      expect(await get(path)).toEqual({ items: [], next_cursor: null });
  });

  it('shows the configured pipelines and checks with the state no_data', async () => {
    const { items } = (await get('/v1/pipelines')) as { items: { pipeline: string; state: string }[] };
    expect(items.map(({ pipeline, state }) => [pipeline, state])).toEqual([
      ['docs', 'no_data'],
      ['quiet', 'no_data'],
    ]);
    expect(await get('/v1/checks')).toMatchObject({
      items: [
        {
          pipeline: 'docs',
          golden_set: 'faq',
          name: 'ndcg@10 below 0.8 on faq',
          verdict: 'no_data',
          value: null,
        },
        { name: 'ndcg@10 regression by 0.02 on faq', verdict: 'no_data', evaluated_at: null },
      ],
    });
    const status = await get('/v1/pipelines/docs/status');
    expect(status).toMatchObject({
      state: 'no_data',
      golden_sets: [{ golden_set: 'faq', cron: null, latest_run: null, latest_completed: null, baseline: null }],
      deployments: [],
    });
    expect(status['reasons']).toContain('No run of the golden set faq has completed yet.');
    expect(await get('/v1/pipelines/quiet/status')).toMatchObject({ state: 'no_data', checks: [] });
  });

  it('returns an empty feedback summary for each pipeline', async () => {
    const noOpinions = { positive: 0, negative: 0, n: 0, positive_ratio: null };
    expect(await get('/v1/feedback/summary')).toMatchObject({
      pipelines: [
        { pipeline: 'docs', kinds: [], opinions: { all: { all: noOpinions } } },
        { pipeline: 'quiet', kinds: [] },
      ],
    });
  });

  it.each([
    ['GET', '/v1/pipelines/none/status', 'pipeline_unknown'],
    ['GET', '/v1/checks?pipeline=none', 'pipeline_unknown'],
    ['GET', '/v1/feedback/summary?pipeline=none', 'pipeline_unknown'],
    ['GET', '/v1/golden-sets/none', 'golden_set_unknown'],
    ['GET', '/v1/golden-runs/none', 'run_unknown'],
    ['GET', '/v1/golden-runs/none/queries', 'run_unknown'],
    ['GET', '/v1/golden-runs/none/compare/neither', 'run_unknown'],
    ['GET', '/v1/golden-runs?cursor=none', 'run_unknown'],
    ['POST', '/v1/golden-runs/none/cancel', 'run_unknown'],
    ['DELETE', '/v1/baselines/docs/faq', 'baseline_unknown'],
  ] as const)('responds to %s %s with 404 and the kind of the missing resource', async (method, path, code) => {
    expect(await call(method, path)).toMatchObject({ status: 404, json: { code } });
  });

  it('responds to changes of a missing resource with 404 and its kind', async () => {
    const run = (pipeline: string, golden_set: string) => call('POST', '/v1/golden-runs', { pipeline, golden_set });
    expect(await run('none', 'faq')).toMatchObject({ status: 404, json: { code: 'pipeline_unknown' } });
    expect(await run('docs', 'none')).toMatchObject({ status: 404, json: { code: 'golden_set_unknown' } });
    expect(await call('POST', '/v1/baselines', { run_id: 'none' })).toMatchObject({
      status: 404,
      json: { code: 'run_unknown' },
    });
  });

  it('rejects a golden set with the line and the problem of the invalid query', async () => {
    const post = (queries: unknown) => call('POST', '/v1/golden-sets/bad/versions', { queries });
    const twice = await post([...goldenQueries(2), { id: 'q1', text: 'other', relevant: ['d'] }]);
    expect(twice).toMatchObject({ status: 400, json: { code: 'file_malformed' } });
    expect(twice.json['detail']).toMatch(/^Line 3 of queries repeats the query id "q1" of line 2 of queries/);
    expect(await post([{ text: 'a' }])).toMatchObject({
      json: {
        detail: expect.stringMatching(
          /^Line 1 of queries must have at least one of "judgments", "relevant", "forbidden" and "no_answer"/,
        ) as string,
      },
    });
    expect(await post([{ text: 'a', relevant: [] }])).toMatchObject({
      status: 400,
      json: { code: 'golden_set_empty' },
    });
    expect(await call('GET', '/v1/golden-sets/bad')).toMatchObject({ status: 404 });
  });
});

describe('a golden set over HTTP', () => {
  let healthy = '';
  let broken = '';

  it('gets a new version only if its content changes, and keeps its earlier versions', async () => {
    const post = (count: number, more: object = {}) =>
      call('POST', '/v1/golden-sets/faq/versions', {
        queries: goldenQueries(count).map((q) => ({ ...q, ...more })),
      });
    expect(await post(2)).toMatchObject({ status: 201, json: { version: 1, query_count: 2, created: true } });
    expect(await post(QUERIES)).toMatchObject({
      status: 201,
      json: { version: 2, format: 'json', warnings: [] },
    });
    expect(await post(QUERIES)).toMatchObject({ status: 200, json: { version: 2, created: false } });

    expect(await get('/v1/golden-sets')).toMatchObject({
      items: [{ golden_set: 'faq', version: 2, query_count: QUERIES, judgment_count: QUERIES }],
    });
    const first = await get('/v1/golden-sets/faq?limit=20');
    expect(first).toMatchObject({ version: 2, versions: [{ version: 2 }, { version: 1 }] });
    const rest = await get(`/v1/golden-sets/faq?limit=20&cursor=${String(first['next_cursor'])}`);
    const ids = [first, rest].flatMap(({ queries }) => (queries as { id: string }[]).map(({ id }) => id));
    expect(ids).toEqual(goldenQueries(QUERIES).map(({ id }) => id));
    expect(rest['next_cursor']).toBeNull();
    expect(await get('/v1/golden-sets/faq?version=1')).toMatchObject({
      query_count: 2,
      queries: [{ id: 'q0', judgments: [{ document_id: 'd0', grade: 1 }] }, { id: 'q1' }],
    });
    expect(await call('GET', '/v1/golden-sets/faq?version=9')).toMatchObject({
      status: 404,
      json: { detail: expect.stringContaining('has no version 9') },
    });
  });

  it('is run by the workers and scored, and its run can be pinned as the baseline', async () => {
    healthy = await runGolden();
    expect(await get(`/v1/golden-runs/${healthy}`)).toMatchObject({
      golden_set_version: 2,
      queries: { total: QUERIES, ok: QUERIES },
      metrics: { 'ndcg@10': { mean: 1, n: QUERIES } },
      segments: { 'course=even': { 'ndcg@10': { n: QUERIES / 2 } } },
      baseline: null,
    });
    expect(await call('POST', `/v1/golden-runs/${healthy}/cancel`)).toMatchObject({
      status: 409,
      json: { code: 'run_not_running' },
    });
    const pinned = await call('POST', '/v1/baselines', { run_id: healthy, note: 'release 7' });
    expect(pinned).toMatchObject({
      status: 201,
      json: { pipeline: 'docs', golden_set: 'faq', run_id: healthy },
    });
    // The regression check had no baseline when the run was evaluated.
    expect(await get('/v1/pipelines/docs/status')).toMatchObject({ state: 'no_data' });
    expect(await installed.json('baselines list')).toMatchObject([{ run_id: healthy, note: 'release 7' }]);
  });

  it('makes its pipeline OK once all checks pass and all data is fresh', async () => {
    const again = await runGolden();
    await startJobs(installed.connection, [measureLiveTrafficJob.name]);
    const status = await waitFor(async () => {
      const now = await get('/v1/pipelines/docs/status');
      const measured = now['measurements'] as { measure: string }[];
      return now['state'] === 'ok' && measured.some(({ measure }) => measure === 'error_ratio') && now;
    });
    expect(status).toMatchObject({
      reasons: [],
      checks: [{ verdict: 'ok', too_old: false }, { verdict: 'ok' }],
      golden_sets: [
        {
          latest_run: { run_id: again, status: 'completed' },
          latest_completed: { run_id: again, too_old: false, metrics: { 'ndcg@10': { mean: 1 } } },
          baseline: { run_id: healthy },
        },
      ],
    });
    expect(status['measurements']).toContainEqual(
      expect.objectContaining({ measure: 'error_ratio', value: null, gap: 'no_queries' }),
    );
    // The other pipeline has nothing to measure, so its state is `no_data`.
    expect(await get('/v1/pipelines/quiet/status')).toMatchObject({ state: 'no_data' });
  });

  it('shows a regression in the status, the checks, the queries and the comparison with the baseline', async () => {
    wrongBelow = 20;
    onTestFinished(() => {
      wrongBelow = 0;
    });
    broken = await runGolden();
    const status = await get('/v1/pipelines/docs/status');
    expect(status).toMatchObject({ state: 'critical' });
    expect((status['reasons'] as string[])[0]).toMatch(/^ndcg@10 below 0\.8 on faq: nDCG@10 is 0\.333 /);
    expect(await allPages(call, '/v1/checks?verdict=critical', 1)).toMatchObject([
      { name: 'ndcg@10 below 0.8 on faq', verdict: 'critical' },
      { name: 'ndcg@10 regression by 0.02 on faq', verdict: 'critical' },
    ]);

    const queries = await allPages(call, `/v1/golden-runs/${broken}/queries?order_by=ndcg@10`, 7);
    expect(queries).toHaveLength(QUERIES);
    expect(queries[0]).toMatchObject({ id: 'q0', documents: [{ id: 'x' }], metrics: { 'ndcg@10': 0 } });
    expect(queries.at(-1)).toMatchObject({ outcome: 'ok', metrics: { 'ndcg@10': 1 }, stale_documents: [] });
    expect(await get(`/v1/golden-runs/${broken}/queries?outcome=error`)).toEqual({
      items: [],
      next_cursor: null,
    });

    const compared = await get(`/v1/golden-runs/${healthy}/compare/${broken}?by=hit_rate@5&limit=15`);
    expect(compared).toMatchObject({
      verdict: 'regression',
      ordered_by: 'hit_rate@5',
      metrics: { 'ndcg@10': { baseline: 1, losses: 20, verdict: 'regression' } },
      segments: { 'course=odd': { n: QUERIES / 2 } },
      next_cursor: '15',
    });
    expect(compared['queries']).toHaveLength(15);
    // No comparison of these runs in this direction is stored, so the segments are missing.
    expect(await get(`/v1/golden-runs/${broken}/compare/${healthy}`)).toMatchObject({
      verdict: 'improvement',
      segments: {},
      metrics: { 'ndcg@10': { wins: 20 } },
    });
  });

  it('has a history of runs that can be paged and filtered', async () => {
    const runs = (await allPages(call, '/v1/golden-runs?pipeline=docs&golden_set=faq&status=completed', 2)) as {
      run_id: string;
      verdict: string;
    }[];
    expect(runs.map(({ verdict }) => verdict)).toEqual(['critical', 'ok', 'no_data']);
    expect([runs[0]?.run_id, runs[2]?.run_id]).toEqual([broken, healthy]);
    expect(await get('/v1/golden-runs?pipeline=quiet')).toEqual({ items: [], next_cursor: null });
    expect(await get('/v1/golden-runs?status=void')).toMatchObject({ items: [] });
  });

  it.each([
    ['HTTP', overHttp],
    ['stdin and stdout', overStdio],
  ] as const)('can be read by an assistant through the Model Context Protocol over %s', async (_over, transport) => {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport());
    onTestFinished(() => client.close());
    const ask = async (name: string, input: Record<string, unknown> = {}): Promise<Record<string, unknown>> => {
      const { structuredContent, isError, content } = await client.callTool({ name, arguments: input });
      expect(isError === true ? content : null).toBeNull();
      return structuredContent as Record<string, unknown>;
    };
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(mcpTools.map(({ name }) => name));
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
    expect(await ask('status')).toMatchObject({ pipelines: [{ pipeline: 'docs', state: 'critical' }, {}] });
    expect(await ask('diagnose', { pipeline: 'docs' })).toMatchObject({ pipelines: [{ now: { run_id: broken } }] });
    expect(await ask('runs', { limit: 1 })).toMatchObject({ runs: [{ run_id: broken, verdict: 'critical' }] });
    expect(await ask('run', { run_id: broken, limit: 1 })).toMatchObject({
      answers: [{ query_id: 'q0' }],
      answers_omitted: QUERIES - 1,
    });
    const question = { pipeline: 'docs', query: 'question 3', document: 'd3' };
    expect(await ask('explain', question)).toMatchObject({ verdict: 'returned', rank: 1 });
    expect(await ask('explain_run', { run_id: broken, limit: 2 })).toMatchObject({ misses: 20, explained: 2 });
    expect(await ask('topics')).toEqual({ topics: [] });

    const refused = await client.callTool({ name: 'run', arguments: { run_id: 'none' } });
    expect(refused).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^run_unknown: /) as string }],
    });
  });

  it('cannot be read by an assistant without a key', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const init = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const { status } = await fetch(new URL('/v1/mcp', daemon.url), init);
    expect(status).toBe(401);
  });

  it('has no baseline after the baseline is unpinned', async () => {
    expect(await call('DELETE', '/v1/baselines/docs/faq')).toMatchObject({
      status: 200,
      json: { pipeline: 'docs', golden_set: 'faq' },
    });
    expect(await get('/v1/pipelines/docs/status')).toMatchObject({ golden_sets: [{ baseline: null }] });
    expect(await call('DELETE', '/v1/baselines/docs/faq')).toMatchObject({ status: 404 });
  });
});

it('feedback is summarized by kind and by segment, with confidence intervals', async () => {
  const query = (id: string, course: string) => ({
    id,
    pipeline: 'docs',
    results: [{ id: 'd' }],
    segments: { course },
  });
  const thumb = (query_id: string, value: string) => ({ query_id, pipeline: 'docs', kind: 'thumb', value });
  await call('POST', '/v1/queries', [query('a', 'even'), query('b', 'even'), query('c', 'odd')]);
  await call('POST', '/v1/feedback', [
    thumb('a', 'up'),
    thumb('b', 'up'),
    thumb('c', 'down'),
    { query_id: 'a', pipeline: 'docs', kind: 'click', document_id: 'd' },
  ]);
  const { pipelines } = (await get('/v1/feedback/summary?pipeline=docs&hours=1')) as { pipelines: unknown[] };
  expect(pipelines).toMatchObject([
    {
      kinds: [
        { kind: 'thumb', feedback: 3, positive: 2, negative: 1, neutral: 0 },
        { kind: 'click', feedback: 1, positive: 1 },
      ],
      opinions: {
        all: { all: { positive: 3, n: 4, positive_ratio: 0.75 }, 'course=even': { n: 3, positive_ratio: 1 } },
        explicit: { all: { n: 3 }, 'course=odd': { positive_ratio: 0, ci_low: 0 } },
      },
    },
  ]);
});

it('reads require a key with scope read or admin, and changes require a key with scope admin', async () => {
  const own = await aFolder({ 'recalld.yaml': config('http://127.0.0.1:9', '{port: 0, host: 0.0.0.0}') });
  const guarded = await startRecalld(['serve'], own);
  const ask = apiOf(`http://127.0.0.1:${new URL(guarded.url).port}`);
  const keyOf = async (scope: string): Promise<string> => {
    const { stdout } = await runRecalld(['keys', 'create', '--name', scope, '--scope', scope, '--json'], own);
    return (JSON.parse(stdout) as { key: string }).key;
  };
  const [ingest, read, admin] = [await keyOf('ingest'), await keyOf('read'), await keyOf('admin')];
  const reads = [
    '/v1/pipelines',
    '/v1/pipelines/docs/status',
    '/v1/checks',
    '/v1/feedback/summary',
    '/v1/golden-sets',
    '/v1/golden-sets/faq',
    '/v1/golden-runs',
    '/v1/golden-runs/none',
    '/v1/golden-runs/none/queries',
    '/v1/golden-runs/none/compare/none',
  ];
  for (const path of reads) {
    expect(await ask('GET', path)).toMatchObject({ status: 401, json: { code: 'key_missing' } });
    expect(await ask('GET', path, undefined, ingest)).toMatchObject({ status: 403 });
    expect([200, 404]).toContain((await ask('GET', path, undefined, read)).status);
    expect([200, 404]).toContain((await ask('GET', path, undefined, admin)).status);
  }
  const changes = [
    ['POST', '/v1/golden-sets/faq/versions', { queries: goldenQueries(2) }],
    ['POST', '/v1/golden-runs', { pipeline: 'docs', golden_set: 'faq' }],
    ['POST', '/v1/golden-runs/none/cancel', undefined],
    ['POST', '/v1/baselines', { run_id: 'none' }],
    ['DELETE', '/v1/baselines/docs/faq', undefined],
  ] as const;
  for (const [method, path, body] of changes) {
    expect(await ask(method, path, body)).toMatchObject({ status: 401 });
    expect(await ask(method, path, body, read)).toMatchObject({
      status: 403,
      json: { code: 'key_lacks_scope' },
    });
    expect([201, 202, 404]).toContain((await ask(method, path, body, admin)).status);
  }
});

it('a read key may explain a limited number of queries per minute, and only with tags of golden queries', async () => {
  const retriever = await startFaultServer(documents((request) => rightAnswer(request)));
  onTestFinished(() => retriever.close());
  const own = await aFolder({ 'recalld.yaml': config(retriever.url, '{port: 0, host: 0.0.0.0}') });
  const guarded = await startRecalld(['serve'], own);
  const address = `http://127.0.0.1:${new URL(guarded.url).port}`;
  const keyOf = async (scope: string): Promise<string> => {
    const { stdout } = await runRecalld(['keys', 'create', '--name', scope, '--scope', scope, '--json'], own);
    return (JSON.parse(stdout) as { key: string }).key;
  };
  const [read, admin] = [await keyOf('read'), await keyOf('admin')];
  const set = { queries: goldenQueries(2) };
  expect(await apiOf(address)('POST', '/v1/golden-sets/faq/versions', set, admin)).toMatchObject({ status: 201 });
  const explain = async (key: string, tags: Record<string, string> = {}) => {
    const asked = { pipeline: 'docs', query: 'question 3', document: 'd3', tags };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'explain', arguments: asked } };
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    return fetch(new URL('/v1/mcp', address), { method: 'POST', headers, body: JSON.stringify(body) });
  };
  expect(await (await explain(read, { course: 'odd' })).text()).toContain('returned');
  expect(await (await explain(read, { course: 'secret' })).text()).toContain('key_lacks_scope');
  expect(await (await explain(admin, { course: 'secret' })).text()).toContain('returned');
  const statuses = await Promise.all(Array.from({ length: 80 }, async () => (await explain(read)).status));
  expect(statuses.filter((status) => status === 200)).toHaveLength(58);
  const refused = await explain(read);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await explain(admin)).status).toBe(200);
});
