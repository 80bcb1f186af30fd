/** Tests a key for one pipeline on every route, page and tool of a daemon with three pipelines. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RouteAccess, routeAccess } from '../../../src/app/http/route-access.ts';
import { mcpTools } from '../../../src/mcp/tools.ts';
import { type ApiScope, allows } from '../../../src/platform/access/credentials.ts';
import { counts, othersRows, type PipelineWorld, type Planted, startPipelineWorld, unknown } from './pipeline-world.ts';

const cleanups: (() => Promise<void>)[] = [];
const atEnd = (clean: () => Promise<void>): void => void cleanups.unshift(clean);

let world: PipelineWorld;
let url: string;
/** API keys: one per scope for the pipeline zebra, and one for all pipelines. */
let keys: Readonly<Record<ApiScope | 'all', string>>;
/** Console session cookies for an administrator and a reader of zebra, and for an administrator of all pipelines. */
let cookies: Readonly<Record<'admin' | 'read' | 'all', string>>;

beforeAll(async () => {
  world = await startPipelineWorld(atEnd);
  url = world.daemon.url;
  const create = async (scope: string, limit = ''): Promise<string> =>
    (await world.installed.json<{ key: string }>(`keys create --name ${scope}-key --scope ${scope}${limit}`)).key;
  const limit = ' --pipelines zebra';
  keys = {
    ingest: await create('ingest', limit),
    read: await create('read', limit),
    admin: await create('admin,ingest', limit),
    all: await create('admin'),
  };
  cookies = { admin: await signIn(keys.admin), read: await signIn(keys.read), all: await signIn(keys.all) };
});

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

async function signIn(key: string): Promise<string> {
  const answer = await fetch(`${url}/sign-in`, {
    method: 'POST',
    headers: { origin: url },
    redirect: 'manual',
    body: new URLSearchParams({ key }),
  });
  return (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

const isApi = (route: string): boolean => / \/(v1\/|metrics|livez|readyz|openapi)/.test(route);

async function get(route: string, path: string, who: 'admin' | 'read' | 'all'): Promise<Answer> {
  const headers = isApi(route) ? { authorization: `Bearer ${keys[who]}` } : { cookie: cookies[who] };
  const answer = await fetch(url + path, { headers: { ...headers, accept: 'text/html, */*' }, redirect: 'manual' });
  return { status: answer.status, text: await answer.text() };
}

/** Returns the names, ids and counts of other pipelines that occur in a text. */
function leaks(text: string): string[] {
  const { okapi, quagga } = world.planted;
  const number = (value: number): RegExp => new RegExp(`(?<![\\d.])${value}(?!\\d)|${value.toLocaleString('en')}`);
  const others = [/okapi/i, /quagga/i, number(counts.okapi), number(counts.quagga)];
  const ids = [okapi, quagga].flatMap((one) => [one.run, one.incident].map((id) => new RegExp(`(?<!\\d)${id}(?!\\d)`)));
  return [...others, ...ids].flatMap((pattern) => pattern.exec(text)?.[0] ?? []);
}

/** Replaces the requested ids with X, and keeps only the error message of a page, so that responses can be compared. */
function withoutNames({ status, text }: Answer, planted: Planted): Answer {
  const ids = Object.values(planted).toSorted((a, b) => b.length - a.length);
  const problem = /<p class="callout"[^>]*>([^<]*)/.exec(text)?.[1] ?? text;
  return {
    status,
    text: ids.reduce((rest, id) => rest.replaceAll(new RegExp(`(?<!\\w)${id}(?!\\w)`, 'g'), 'X'), problem),
  };
}

const parameters: Readonly<Record<string, (path: string, one: Planted) => string>> = {
  pipeline: (_, { name }) => name,
  golden_set: (_, { set }) => set,
  set: (_, { set }) => set,
  run: (_, { run }) => run,
  baseline: (_, { run }) => run,
  candidate: (_, { run }) => run,
  query: (_, { query }) => query,
  incident: (_, { incident }) => incident,
  alert: () => 'RecalldWatchdog',
  name: (path, { set }) => (path.startsWith('/v1/golden-sets') ? set : 'x'),
  id: (path, one) => idOf(path, one),
};

function idOf(path: string, one: Planted): string {
  if (path.startsWith('/v1/golden-runs')) return one.run;
  if (path.startsWith('/v1/incidents')) return one.incident;
  if (path.startsWith('/v1/silences')) return one.silence;
  if (path.startsWith('/v1/uncovered-topics')) return one.topic;
  return one.liveQuery;
}

/** Fills in the parameters of a path. Throws if a parameter has no value here, so that no new route stays untested. */
function fill(path: string, one: Planted): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = parameters[name];
    if (value === undefined) throw new Error(`give the parameter ${name} of ${path} a value`);
    return encodeURIComponent(value(path, one));
  });
}

const pathOf = ({ route }: RouteAccess): string => route.slice(route.indexOf(' ') + 1);

/** Paths that request data of one pipeline, derived from the route's declaration. */
function pathsAbout(access: RouteAccess, one: Planted): string[] {
  const path = fill(pathOf(access), one);
  if (access.pipelines === 'list')
    return [`${path}?pipeline=${one.name}`, ...(path === '/' ? [`/?filter=${one.name}`] : [])];
  return access.pipelines === 'named' && !path.includes(one.name) ? [`${path}?pipeline=${one.name}`] : [path];
}

const reads = routeAccess.filter(({ route }) => route.startsWith('GET '));
/** Routes whose request contains the name of a pipeline or an id of its data. */
const specific = reads.filter(
  ({ route, pipelines }) => pipelines === 'named' || pipelines === 'id' || / \S*:/.test(route),
);

describe('a key for one pipeline', () => {
  it.each(reads.map((one) => [one.route, one] as const))(
    'reads nothing of other pipelines from %s',
    async (route, access) => {
      const paths = [fill(pathOf(access), world.planted.zebra), ...pathsAbout(access, world.planted.zebra)];
      for (const path of paths)
        for (const who of ['admin', 'read'] as const) {
          const answer = await get(route, path, who);
          expect({ path, who, leaks: leaks(answer.text) }).toEqual({ path, who, leaks: [] });
        }
    },
  );

  it.each(
    reads.filter(({ pipelines }) => pipelines === 'list' || pipelines === 'metrics' || pipelines === 'golden_set'),
  )('reads its own pipeline from $route, where a key for all pipelines also reads others', async (access) => {
    const path = fill(pathOf(access), world.planted.zebra);
    const [own, all] = [await get(access.route, path, 'admin'), await get(access.route, path, 'all')];
    expect(own.status).toBe(200);
    expect(all.status).toBe(200);
    // The following assertions show that the test above can fail.
    if (access.route === 'GET /v1/incidents/reliability') {
      const marked = ({ text }: Answer): number =>
        Math.max(...(JSON.parse(text) as { items: { marked: number }[] }).items.map((one) => one.marked));
      expect([marked(own), marked(all)]).toEqual([1, 3]);
      return;
    }
    if (!pathOf(access).includes(':')) expect(leaks(all.text)).not.toEqual([]);
    expect(own.text).toContain('zebra');
  });

  it.each(specific.filter(({ pipelines }) => pipelines !== 'link' && pipelines !== 'none'))(
    'gets the same response from $route for other pipelines as for unknown pipelines',
    async (access) => {
      const { route } = access;
      for (const one of [world.planted.okapi, world.planted.quagga])
        for (const [index, path] of pathsAbout(access, one).entries()) {
          const [other, none] = [
            await get(route, path, 'admin'),
            await get(route, pathsAbout(access, unknown)[index] ?? '', 'admin'),
          ];
          expect(withoutNames(other, one)).toEqual(withoutNames(none, unknown));
          expect(other.status).toBe(404);
          // If a key for all pipelines did not get a 200 either, the path would be wrong.
          const all = await get(route, path, 'all');
          if (route !== 'GET /v1/variants') expect({ path, status: all.status }).toEqual({ path, status: 200 });
        }
    },
  );

  it('reads only metrics of its pipeline and metrics that concern no pipeline', async () => {
    const own = (await get('GET /metrics', '/metrics', 'read')).text.split('\n').filter((line) => /^\w/.test(line));
    const of = (line: string): string => /[{,]pipeline="([^"]*)"/.exec(line)?.[1] ?? /^\w+/.exec(line)?.[0] ?? '';
    expect([...new Set(own.map(of))].toSorted()).toEqual([
      'recalld_build_info',
      'recalld_clock_skew_seconds',
      'recalld_snapshot_age_seconds',
      'recalld_snapshot_errors_total',
      'zebra',
    ]);
    const wrong = await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer rcl_wrong' } });
    expect(wrong.status).toBe(401);
  });

  it('reads the agent turns of its pipeline, with the documents that their answers cite', async () => {
    const page = (await get('GET /pipelines/:pipeline', '/pipelines/zebra/traffic', 'read')).text;
    expect(page).toContain('zebra-turn');
    expect(page).toContain('zebra original text');
    expect(/<th[^>]*>Cited/.test(page)).toBe(true);
    const other = (await get('GET /pipelines/:pipeline', '/pipelines/okapi/traffic', 'all')).text;
    expect(other).toContain('okapi-turn');
  });

  it.each(mcpTools.map(({ name }) => name))('reads nothing of other pipelines with the tool %s', async (name) => {
    const { zebra, okapi } = world.planted;
    const ask = async (of: Planted, key: string): Promise<string> => {
      const inputs: Readonly<Record<string, object>> = {
        run: { run_id: of.run },
        explain_run: { run_id: of.run },
        explain: { pipeline: of.name, query: `${of.name} question`, document: `${of.name}-doc` },
        status: {},
      };
      const params = { name, arguments: inputs[name] ?? { pipeline: of.name } };
      const answer = await fetch(`${url}/v1/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      });
      return answer.text();
    };
    expect(leaks(await ask(zebra, keys.read))).toEqual([]);
    expect(await ask(zebra, keys.read)).toContain('zebra');
    if (name === 'status') return;
    const [other, none] = [await ask(okapi, keys.read), await ask(unknown, keys.read)];
    expect(withoutNames({ status: 0, text: other }, okapi)).toEqual(withoutNames({ status: 0, text: none }, unknown));
    expect(leaks(await ask(okapi, keys.all))).not.toEqual([]);
  });
});

/** Creates the body or form for a pipeline; `own` is the expected status if the key is for that pipeline. */
type Change = readonly [body: (one: Planted) => object, own?: number];

const day = (): string => new Date(Date.now() + 86_400_000).toISOString();

const changes: Readonly<Record<string, Change>> = {
  'POST /v1/queries': [({ name, liveQuery }) => ({ id: `${liveQuery}-2`, pipeline: name, results: [] })],
  'POST /v1/feedback': [({ name, liveQuery }) => ({ query_id: liveQuery, pipeline: name, kind: 'thumb', value: 'up' })],
  'POST /v1/incidents/:id/acknowledge': [() => ({})],
  'POST /v1/incidents/:id/notes': [() => ({ text: 'seen' })],
  'POST /v1/incidents/:id/mark': [() => ({ cause: 'ranking', right: true })],
  'POST /v1/silences': [({ name }) => ({ pipeline: name, ends_at: day(), reason: 'rebuild' })],
  'DELETE /v1/silences/:id': [() => ({})],
  'POST /v1/golden-sets/:name/versions': [() => ({ queries: [{ text: 'new', relevant: ['d1'] }] })],
  'POST /v1/golden-runs': [({ name, set }) => ({ pipeline: name, golden_set: set })],
  'POST /v1/golden-runs/:id/cancel': [() => ({}), 409],
  'POST /v1/baselines': [({ run }) => ({ run_id: run })],
  'DELETE /v1/baselines/:pipeline/:golden_set': [() => ({})],
  'POST /v1/deployments': [({ name }) => ({ pipeline: name, kind: 'index', version: '2' })],
  'POST /v1/judgments': [
    ({ name, liveQuery }) => ({ pipeline: name, query_id: liveQuery, document_id: `${name}-doc`, grade: 1 }),
  ],
  'POST /v1/density/rebaseline': [({ name }) => ({ pipeline: name })],
  'POST /v1/uncovered-topics/:id': [() => ({ state: 'acknowledged' })],
  'POST /actions/pin-baseline': [({ run }) => ({ run_id: run })],
  'POST /actions/annotate': [({ incident }) => ({ subject: 'incident', id: incident, text: 'seen' })],
  'POST /actions/acknowledge': [({ incident }) => ({ id: incident })],
  'POST /actions/silence': [({ name }) => ({ pipeline: name, for: '2h', reason: 'rebuild' })],
  'POST /actions/end-silence': [({ silence }) => ({ id: silence })],
  'POST /actions/mark-cause': [({ incident }) => ({ id: incident, cause: 'ranking', right: 'yes' })],
  'POST /pipelines/:pipeline/judge/grade': [
    ({ name, liveQuery }) => ({ query: liveQuery, document: `${name}-doc`, grade: '3' }),
  ],
  'POST /pipelines/:pipeline/density': [() => ({})],
  'POST /pipelines/:pipeline/index': [() => ({})],
  'POST /pipelines/:pipeline/golden/:set/labels': [() => ({})],
  'POST /pipelines/:pipeline/golden/:set/labels/accept': [
    ({ query, name }) => ({ version: '1', accept: JSON.stringify([query, `${name}-doc`, ['d9']]) }),
    409,
  ],
  'POST /runs/:run': [() => ({})],
  'POST /runs/:run/queries/:query': [() => ({})],
};

/** Write routes that other tests cover, or that concern no pipeline. */
const elsewhere = new Set(['POST /sign-in', 'POST /sign-out', 'POST /v1/mcp', 'POST /v1/traces', 'POST /v1/logs']);

async function send(route: string, one: Planted, body: object): Promise<Answer> {
  const [method = '', pattern = ''] = route.split(' ');
  const path = fill(pattern, one);
  if (isApi(route)) {
    const hasBody = method === 'POST' && Object.keys(body).length > 0;
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${keys.admin}`, ...(hasBody ? { 'content-type': 'application/json' } : {}) },
      ...(hasBody ? { body: JSON.stringify(body) } : {}),
    });
    return { status: answer.status, text: await answer.text() };
  }
  const page = (await get('GET /runs/:run', `/runs/${world.planted.zebra.run}`, 'admin')).text;
  const token = /name="form_token" value="([^"]*)"/.exec(page)?.[1] ?? '';
  const answer = await fetch(url + path, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: cookies.admin, origin: url },
    body: new URLSearchParams({ form_token: token, back: '/', ...body }),
  });
  return { status: answer.status, text: await answer.text() };
}

describe('metrics with server.metrics_protected', () => {
  const read = async (headers: Readonly<Record<string, string>>) => {
    const answer = await fetch(`${url}/metrics`, { headers });
    const code = answer.ok ? null : ((await answer.json()) as { code: string }).code;
    return [answer.status, code];
  };
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

  it('require a key with scope read or admin', async () => {
    expect(await read({})).toEqual([401, 'key_missing']);
    expect(await read({ authorization: 'Bearer of-a-proxy' })).toEqual([401, 'key_missing']);
    expect(await read({ cookie: cookies.admin })).toEqual([401, 'key_missing']);
    expect(await read(bearer(keys.ingest))).toEqual([403, 'key_lacks_scope']);
    expect(await read(bearer(keys.read))).toEqual([200, null]);
    expect(await read(bearer(keys.all))).toEqual([200, null]);
  });

  it('do not affect the health checks, which require no key', async () => {
    for (const path of ['/livez', '/readyz']) expect((await fetch(url + path)).status).toBe(200);
  });
});

describe('a key for one pipeline with permission to make changes', () => {
  const writes = routeAccess.filter(({ route }) => !route.startsWith('GET ') && !elsewhere.has(route));

  it.each(writes)('changes nothing of other pipelines through $route', async ({ route, pipelines }) => {
    const before = await othersRows(world.installed);
    const [body, own = 200] = changes[route] ?? [() => ({})];
    for (const one of [world.planted.okapi, world.planted.quagga]) {
      const [other, none] = [await send(route, one, body(one)), await send(route, unknown, body(unknown))];
      expect(withoutNames(other, one)).toEqual(withoutNames(none, unknown));
      expect(other.status).toBe({ refused: 403, golden_set: 403, items: 422 }[pipelines as string] ?? 404);
    }
    expect(await othersRows(world.installed)).toEqual(before);
    if (pipelines === 'refused') return;
    expect(changes).toHaveProperty([route]);
    const { status, text } = await send(route, world.planted.zebra, body(world.planted.zebra));
    expect({ status: status < 400 ? 200 : status, leaks: leaks(text) }).toEqual({ status: own, leaks: [] });
    expect(await othersRows(world.installed)).toEqual(before);
  });

  it('stores the items of its pipeline from a batch, and rejects those of other pipelines', async () => {
    const batch = ['zebra', 'okapi', 'nosuch', 'zebra'].map((pipeline, index) => ({
      id: `batch-${index}`,
      pipeline,
      results: [],
    }));
    const headers = { authorization: `Bearer ${keys.ingest}` };
    const { status, body } = await world.daemon.post('/v1/queries', batch, headers);
    expect({ status, body }).toMatchObject({
      status: 202,
      body: {
        accepted: 2,
        rejected: [
          { index: 1, code: 'unknown_pipeline' },
          { index: 2, code: 'unknown_pipeline' },
        ],
      },
    });
    const rows = await world.installed.query(`select id from live_queries where id like 'batch-%' order by id`);
    expect(rows).toEqual([{ id: 'batch-0' }, { id: 'batch-3' }]);
  });

  it('stores the spans of its pipeline from an export, and rejects those of other and unknown pipelines', async () => {
    const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    const spanOf = (service: string, number: number) => ({
      resource: { attributes: [text('service.name', service)] },
      scopeSpans: [
        {
          spans: [
            {
              traceId: `${number}`.repeat(32),
              spanId: `${number}`.repeat(16),
              name: 'retrieve',
              startTimeUnixNano: `${Date.now()}000000`,
              endTimeUnixNano: `${Date.now()}000000`,
              attributes: [
                text('openinference.span.kind', 'RETRIEVER'),
                text('input.value', `${service} span`),
                text('retrieval.documents.0.document.id', 'd1'),
              ],
            },
          ],
        },
      ],
    });
    const headers = { authorization: `Bearer ${keys.ingest}` };
    const body = { resourceSpans: ['zebra', 'okapi', 'nosuch'].map((name, index) => spanOf(name, index + 1)) };
    const answer = await world.daemon.post('/v1/traces', body, headers);
    expect(answer).toMatchObject({ status: 200, body: { partialSuccess: { rejectedSpans: '2' } } });
    const rows = await world.installed.query(`select pipeline, text from live_queries where text like '% span'`);
    expect(rows).toEqual([{ pipeline: 'zebra', text: 'zebra span' }]);
  });
});

describe('recalld keys create --pipelines', () => {
  it('rejects an unknown pipeline, and `keys list` shows the pipelines of a key', async () => {
    const { recalld, json } = world.installed;
    const { code, stderr } = await recalld('keys create --name typo --scope read --pipelines zebra,zebar');
    expect(code).toBe(2);
    expect(stderr).toContain('"zebar"');
    const listed = await json<{ name: string; pipelines: string[] | null }[]>('keys list');
    expect(listed.find(({ name }) => name === 'read-key')?.pipelines).toEqual(['zebra']);
    expect(listed.map(({ name }) => name)).not.toContain('typo');
  });
});

describe('the table of routes and keys', () => {
  const asked = routeAccess.filter(({ route, pipelines }) => pipelines !== 'link' && !route.startsWith('POST /sign-'));

  it.each(asked)('states the required scope of $route', async ({ route, scope: stated }) => {
    // The table assumes the default of server.metrics_protected (off), but the setting is on in this test.
    const scope = route === 'GET /metrics' ? 'read' : stated;
    const [method = '', pattern = ''] = route.split(' ');
    const ask = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(url + fill(pattern, unknown), { method, headers, redirect: 'manual' })).status;
    if (scope === null) return expect([401, 403]).not.toContain(await ask({}));
    if (!isApi(route)) return expect([303, 403]).toContain(await ask({}));
    expect(await ask({})).toBe(401);
    for (const held of ['ingest', 'read'] as const) {
      const status = await ask({ authorization: `Bearer ${keys[held]}` });
      if (allows([held], scope)) expect(status).not.toBe(403);
      else expect({ held, status }).toEqual({ held, status: 403 });
    }
  });
});
