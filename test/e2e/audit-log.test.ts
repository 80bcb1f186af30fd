/**
 * Every route and command that changes stored data writes an entry to the audit log. Each new route or command of this
 * kind must be added to this test.
 */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { learningState } from '../../src/density/rules/watch.ts';
import { documents, startFaultServer } from '../support/fault-server.ts';
import { anInstallation, type Installation, type InstalledDaemon } from '../support/installation.ts';
import { aFolder } from '../support/recalld.ts';
import { rightAnswer } from './golden-files.ts';

interface Entry {
  readonly id: string;
  readonly by: string;
  readonly act: string;
  readonly subject: string;
}

const NOTE = 'what a person wrote';

const cleanups: (() => Promise<void>)[] = [];
const atEnd = (clean: () => Promise<void>): void => void cleanups.unshift(clean);
let installed: Installation;
let daemon: InstalledDaemon;
let routes: readonly string[];
/** Id of a completed run of the golden set faq. */
let run: string;
let cookie: string;

const entries = () => installed.json<Entry[]>('audit --limit 1000');

/** Returns the entries written during an action, oldest first. */
async function written(work: () => Promise<unknown>): Promise<Entry[]> {
  const before = new Set((await entries()).map(({ id }) => id));
  await work();
  return (await entries()).filter(({ id }) => !before.has(id)).toReversed();
}

async function call(method: string, where: string, body?: object): Promise<Record<string, unknown>> {
  const answer = await daemon.fetch(where, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  expect(answer.status, `${method} ${where}`).toBeLessThan(300);
  return (await answer.json()) as Record<string, unknown>;
}

/** Submits a form of a console page as a browser would. */
async function submit(page: string, action: string, fields: Readonly<Record<string, string>>): Promise<void> {
  const html = await (await fetch(daemon.url + page, { headers: { cookie } })).text();
  const token = /name="form_token" value="([^"]*)"/.exec(html)?.[1] ?? '';
  const answer = await fetch(daemon.url + action, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie, origin: daemon.url },
    body: new URLSearchParams({ form_token: token, ...fields }),
  });
  expect(answer.status, action).toBe(303);
}

let drawn = 0;

async function aDrawnQuery(): Promise<string> {
  const id = `drawn-${(drawn += 1)}`;
  await installed.query(
    `insert into judged_queries (pipeline, query_id, received_on, received_at, cluster, outcome, segments, probability,
                                 human_draw, needs_human, documents, state, due_at)
     values ('docs', $1, now()::date, now(), 0.5, 'ok', '{}', 0.5, 0.5, true, '[["d1", null]]', 'graded', now())`,
    id,
  );
  return id;
}

async function aTopic(): Promise<string> {
  const id = `t-${`${(drawn += 1)}`.padStart(10, '0')}`;
  await installed.query(
    `insert into uncovered_topics (id, pipeline, state, label, centroid, cause, first_seen, last_seen, sessions, traffic_share,
       share_low, share_high, excess_points, density, adjusted_p, dominant_region, examples, nearest, segments)
     values ($1, 'docs', 'open', '{}', '', 'new_demand', now(), now(), 1, 0.1, 0.1, 0.1, 1, 0.5, 0.01, 0, '{}', '[]', '[]')`,
    id,
  );
  return id;
}

/**
 * Creates a closed incident with one diagnosis. A pipeline can have many closed incidents, but only one open incident.
 */
async function anIncident(): Promise<string> {
  const rows = await installed.query(
    `with opened as (
       insert into incidents (pipeline, opened_at, closed_at, closed_because, severity, evaluated_at, timeline)
       values ('docs', now(), now(), 'resolved', 'critical', now(), '[]') returning id)
     insert into diagnoses (incident_id, diagnosed_at, cause, confidence, probability, summary, alerts, findings)
     select id, now(), 'ranking', 'high', 0.95, 'the order changed', '{}',
            '{"ranked": [], "signs": [], "weighed": [], "effects": [], "failedShare": null, "also": []}' from opened
     returning incident_id`,
  );
  return String(rows[0]?.['incident_id']);
}

const aSilence = () => ({
  pipeline: 'docs',
  ends_at: new Date(Date.now() + 3_600_000).toISOString(),
  reason: 'index rebuild',
});

const startRun = async (): Promise<string> =>
  String((await call('POST', '/v1/golden-runs', { pipeline: 'docs', golden_set: 'slow' }))['run_id']);

beforeAll(async () => {
  const retriever = await startFaultServer(documents(rightAnswer));
  atEnd(() => retriever.close());
  const routesFile = path.join(await aFolder({}, atEnd), 'routes.json');
  const preload = path.resolve(import.meta.dirname, '../support/record-routes.mjs');
  const config = `
server: {host: 0.0.0.0, port: 0}
pipelines:
  - name: docs
    retriever: {kind: http, url: "${retriever.url}/search", timeout_ms: 60000}
    judged: {judge: {kind: none}}
    golden: [{set: faq}, {set: slow}]
`;
  installed = await anInstallation(
    {
      'recalld.yaml': config,
      'faq.csv': 'question,document\nquestion 1,d1\nquestion 2,d2\n',
      'slow.csv': 'question,document\nquestion 3,d3\n',
      'more.csv': 'question,document\nquestion 4,d4\n',
    },
    { atEnd, env: { ROUTES_FILE: routesFile } },
  );
  daemon = await (async () => {
    process.env['NODE_OPTIONS'] = `--import=${preload}`;
    try {
      return await installed.serve('--roles', 'api');
    } finally {
      delete process.env['NODE_OPTIONS'];
    }
  })();
  routes = JSON.parse(readFileSync(routesFile, 'utf8')) as string[];
  for (const set of ['faq', 'slow']) await installed.json(`golden import ${set}.csv --set ${set}`);
  const ended = await installed.json<{ run_id: string }>('golden run --pipeline docs --set faq');
  run = ended.run_id;
  await installed.query(
    `insert into density_states (pipeline, revision, state, updated_at) values ('docs', 1, $1::jsonb, now())`,
    JSON.stringify(learningState({} as Parameters<typeof learningState>[0], null)),
  );
  const signedIn = await fetch(`${daemon.url}/sign-in`, {
    method: 'POST',
    headers: { origin: daemon.url },
    redirect: 'manual',
    body: new URLSearchParams({ key: daemon.apiKey }),
  });
  cookie = (signedIn.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
}, 120_000);

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

/** Expected audit action and a function that sends the request, keyed by route. */
const changing: Readonly<Record<string, readonly [act: string, change: () => Promise<unknown>]>> = {
  'POST /v1/golden-sets/:name/versions': [
    'import_golden_set',
    () => call('POST', '/v1/golden-sets/http/versions', { queries: [{ id: 'q', text: NOTE, relevant: ['d1'] }] }),
  ],
  'POST /v1/golden-runs': ['start_run', startRun],
  'POST /v1/golden-runs/:id/cancel': [
    'cancel_run',
    async () => call('POST', `/v1/golden-runs/${await startRun()}/cancel`),
  ],
  'POST /v1/baselines': ['pin_baseline', () => call('POST', '/v1/baselines', { run_id: run, note: NOTE })],
  'DELETE /v1/baselines/:pipeline/:golden_set': ['unpin_baseline', () => call('DELETE', '/v1/baselines/docs/faq')],
  'POST /v1/density/rebaseline': [
    'rebaseline',
    () => call('POST', '/v1/density/rebaseline', { pipeline: 'docs', reason: NOTE }),
  ],
  'POST /v1/uncovered-topics/:id': [
    'change_topic',
    async () => call('POST', `/v1/uncovered-topics/${await aTopic()}`, { state: 'acknowledged', note: NOTE }),
  ],
  'POST /v1/deployments': [
    'add_deployment',
    () => call('POST', '/v1/deployments', { pipeline: 'docs', kind: 'index', version: '7', note: NOTE }),
  ],
  'POST /v1/judgments': [
    'judge',
    async () =>
      call('POST', '/v1/judgments', { pipeline: 'docs', query_id: await aDrawnQuery(), document_id: 'd1', grade: 2 }),
  ],
  'DELETE /v1/users/:id': ['erase', () => call('DELETE', '/v1/users/ann')],
  'DELETE /v1/queries/:id': ['erase', () => call('DELETE', '/v1/queries/q1')],
  'POST /actions/pin-baseline': [
    'pin_baseline',
    () => submit(`/runs/${run}`, '/actions/pin-baseline', { run_id: run, note: NOTE, back: '/' }),
  ],
  'POST /actions/annotate': [
    'add_note',
    () => submit(`/runs/${run}`, '/actions/annotate', { subject: 'run', id: run, text: NOTE, back: '/' }),
  ],
  'POST /v1/incidents/:id/acknowledge': [
    'acknowledge_incident',
    async () => call('POST', `/v1/incidents/${await anIncident()}/acknowledge`),
  ],
  'POST /v1/incidents/:id/notes': [
    'add_note',
    async () => call('POST', `/v1/incidents/${await anIncident()}/notes`, { text: NOTE }),
  ],
  'POST /v1/incidents/:id/mark': [
    'mark_cause',
    async () => call('POST', `/v1/incidents/${await anIncident()}/mark`, { cause: 'ranking', right: true }),
  ],
  'POST /actions/acknowledge': [
    'acknowledge_incident',
    async () => submit(`/runs/${run}`, '/actions/acknowledge', { id: await anIncident(), back: '/' }),
  ],
  'POST /actions/mark-cause': [
    'mark_cause',
    async () =>
      submit(`/runs/${run}`, '/actions/mark-cause', {
        id: await anIncident(),
        cause: 'ranking',
        right: 'no',
        back: '/',
      }),
  ],
  'POST /v1/silences': ['add_silence', () => call('POST', '/v1/silences', aSilence())],
  'DELETE /v1/silences/:id': [
    'end_silence',
    async () => call('DELETE', `/v1/silences/${String((await call('POST', '/v1/silences', aSilence()))['id'])}`),
  ],
  'POST /actions/silence': [
    'add_silence',
    () => submit(`/runs/${run}`, '/actions/silence', { pipeline: 'docs', for: '2h', reason: 'rebuild', back: '/' }),
  ],
  'POST /actions/end-silence': [
    'end_silence',
    async () => {
      const { id } = await call('POST', '/v1/silences', aSilence());
      return submit(`/runs/${run}`, '/actions/end-silence', { id: String(id), back: '/' });
    },
  ],
  'POST /pipelines/:pipeline/judge/grade': [
    'judge',
    async () =>
      submit(`/runs/${run}`, '/pipelines/docs/judge/grade', { query: await aDrawnQuery(), document: 'd1', grade: '3' }),
  ],
};

/** Routes that need no audit entry or are tested elsewhere, with the reason. */
const unwritten: Readonly<Record<string, string>> = {
  'POST /v1/queries': 'traffic of the service',
  'POST /v1/feedback': 'traffic of the service',
  'POST /v1/traces': 'traffic of the service',
  'POST /v1/logs': 'traffic of the service',
  'POST /v1/explain': 'asks and stores nothing',
  'POST /v1/mcp': 'asks and stores nothing',
  'DELETE /v1/mcp': 'refused: there are no sessions',
  'POST /sign-in': 'a session, listed by `recalld keys list`',
  'POST /sign-out': 'a session, listed by `recalld keys list`',
  'POST /pipelines/:pipeline/density': 'asks and stores nothing',
  'POST /pipelines/:pipeline/index': 'asks and stores nothing',
  'POST /runs/:run': 'asks and stores nothing',
  'POST /runs/:run/queries/:query': 'asks and stores nothing',
  'POST /pipelines/:pipeline/golden/:set/labels': 'asks and stores nothing',
  'POST /pipelines/:pipeline/golden/:set/labels/accept': 'accept_labels: see test/e2e/console-keys.test.ts',
};

describe('the audit log', () => {
  it('covers every route that changes stored data', () => {
    const others = routes.filter((route) => !/^(GET|HEAD|OPTIONS) /.test(route) && !route.includes('*'));
    expect(others.toSorted()).toEqual(expect.arrayContaining(Object.keys(changing)));
    expect(others.filter((route) => !(route in changing) && !(route in unwritten))).toEqual([]);
  });

  it.each(Object.entries(changing))(
    'records the API key and the address of the caller of %s',
    async (route, [act, change]) => {
      const [last, ...others] = (await written(change)).toReversed();
      expect(last?.act).toBe(act);
      expect(last?.by).toMatch(
        route.startsWith('POST /v1') || route.startsWith('DELETE')
          ? /^key .+ \(.+\), 127\.0\.0\.\d+$/
          : /^key .+ \(.+\), console, 127\.0\.0\.\d+$/,
      );
      expect(others.filter((one) => one.act === act)).toEqual([]);
      expect(JSON.stringify(last)).not.toContain(NOTE);
    },
  );

  it('is complemented by judgments, each of which stores the id of the API key that sent it', async () => {
    const rows = await installed.query<{ by: string }>(`select distinct graded_by as by from judgments`);
    const [key] = await installed.query<{ id: string }>(`select id from api_keys where 'admin' = any(scopes)`);
    expect(rows).toEqual([{ by: `key ${key?.id ?? ''}` }]);
  });
});

/** Expected audit action and a function that returns the command line, keyed by command. */
const commands: Readonly<Record<string, readonly [act: string, line: () => Promise<string> | string]>> = {
  'golden import': ['import_golden_set', () => 'golden import more.csv --set more'],
  'golden run': ['start_run', () => 'golden run --pipeline docs --set slow'],
  'golden cancel': ['cancel_run', async () => `golden cancel ${await startRun()}`],
  'baselines pin': ['pin_baseline', () => `baselines pin ${run}`],
  'baselines unpin': ['unpin_baseline', () => 'baselines unpin --pipeline docs --set faq'],
  'deployments add': ['add_deployment', () => 'deployments add --pipeline docs --kind index --version 8'],
  'density rebaseline': ['rebaseline', () => 'density rebaseline --pipeline docs'],
  'topics acknowledge': ['change_topic', async () => `topics acknowledge ${await aTopic()}`],
  'topics close': ['change_topic', async () => `topics close ${await aTopic()}`],
  'incidents acknowledge': ['acknowledge_incident', async () => `incidents acknowledge ${await anIncident()}`],
  'incidents note': ['add_note', async () => `incidents note ${await anIncident()} seen`],
  'incidents mark': ['mark_cause', async () => `incidents mark ${await anIncident()} right`],
  'silence add': ['add_silence', () => 'silence add --pipeline docs --for 2h --reason rebuild'],
  'silence end': [
    'end_silence',
    async () => `silence end ${String((await call('POST', '/v1/silences', aSilence()))['id'])}`,
  ],
  'keys create': ['create_key', () => 'keys create --name other --scope read'],
  'keys revoke': [
    'revoke_key',
    async () => {
      const { id } = await installed.json<{ id: string }>('keys create --name third --scope read');
      return `keys revoke ${id}`;
    },
  ],
  'judge import': [
    'judge',
    async () => {
      const line = { query_id: await aDrawnQuery(), documents: [{ id: 'd1', grade: 1 }] };
      await writeFile(path.join(installed.folder, 'grades.jsonl'), `${JSON.stringify(line)}\n`);
      return 'judge import grades.jsonl --pipeline docs';
    },
  ],
};

/** Commands that change no stored data. */
const reading = `
  config check|config print|config schema|status|diagnose|silence list|incidents list|incidents reliability|notify|doctor|store-test|golden export|golden list|golden show
  |golden promote|index check|index hubs|judge status|judge review|shadow report|variants report|keys list|audit|runs list
  |runs show|runs compare|explain|mcp|baselines list|checks|report|backtest|rules|dashboards|deployments list|density show
  |drift|topics list|topics show|topics complaints|eval|compare|export|isolation check`
  .split('|')
  .map((name) => name.trim());

/**
 * Commands that are not tested here, with the reason: other tests cover their audit entries, or no person uses them to
 * change stored data.
 */
const others: Readonly<Record<string, string>> = {
  demo: 'a database of its own',
  serve: 'the daemon itself',
  migrate: 'the schema',
  init: 'imports, runs and pins as the commands for them do',
  'golden check': 'accept_labels: the same use case as the page, see test/e2e/console-keys.test.ts',
  'golden generate': 'stores a version as an import does',
  'golden probe-tenants': 'stores a version as an import does',
  'judge run': 'grades of a model',
};

function leaves(command: CommandUnknownOpts, words: readonly string[] = []): string[] {
  return command.commands.flatMap((child) => {
    const named = [...words, child.name()];
    return child.commands.length === 0 ? [named.join(' ')] : leaves(child, named);
  });
}

describe('the audit log of commands', () => {
  it('covers every command that changes stored data', async () => {
    const all = leaves(await createProgram('all', new AbortController().signal));
    expect(all).toEqual(expect.arrayContaining([...Object.keys(commands), ...Object.keys(others), ...reading]));
    expect(all.filter((name) => !(name in commands) && !(name in others) && !reading.includes(name))).toEqual([]);
  });

  it.each(Object.entries(commands))('records the user who ran `recalld %s`', async (_name, [act, line]) => {
    const words = await line();
    const found = await written(async () => installed.recalld(words));
    expect(found.map((one) => one.act)).toContain(act);
    expect(found.find((one) => one.act === act)?.by).toMatch(/^.+@.+, command$/);
  });
});
