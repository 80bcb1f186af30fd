/**
 * The pages of a daemon that requires keys: permissions, texts that hash mode hides, and errors while the database is
 * unavailable.
 */
import { Pool } from 'pg';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { startPglite } from '../../src/demo/rag/store.ts';
import {
  accessibilityProblems,
  clippedParts,
  describeWithBrowser,
  unreachedByKeyboard,
  useBrowser,
} from '../support/browser.ts';
import { type FaultServer, json, startFaultServer } from '../support/fault-server.ts';
import { startTcpOutage } from '../support/outage.ts';
import { startOwnPostgres } from '../support/own-postgres.ts';
import { aDatabase, aFolder, type Daemon, runRecalld, spawnRecalld, startRecalld } from '../support/recalld.ts';

const cleanups: (() => Promise<void>)[] = [];
const atEnd = (clean: () => Promise<void>): void => void cleanups.unshift(clean);

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

describeWithBrowser('the pages of a daemon that requires keys, in hash mode', () => {
  const browser = useBrowser();
  let daemon: Daemon;
  let url: string;
  let folder: string;
  let retriever: FaultServer;
  let keys = 0;

  beforeAll(async () => {
    const vectors = await startFaultServer((request, response) => {
      const { input } = JSON.parse(request.body) as { input: string | string[] };
      const data = [input].flat().map((_, index) => ({ index, embedding: [1, 0] }));
      json({ data, model: 'small' })(request, response);
    });
    atEnd(() => vectors.close());
    retriever = await startFaultServer(json({ results: [{ id: 'd2', score: 0.9 }] }));
    atEnd(() => retriever.close());
    const store = await startPglite();
    atEnd(() => store.stop());
    const pool = new Pool({ connectionString: store.url, max: 1 });
    await pool.query('create extension vector');
    await pool.query('create table chunks (id text primary key, body text, embedding vector(2))');
    await pool.query(
      `insert into chunks values ('d1-new', '${lostText}', '[1,0]'), ('d2', 'Something else.', '[0,1]')`,
    );
    await pool.end();
    folder = await aFolder(
      { 'recalld.yaml': keyedConfig(retriever.url, vectors.url, store.url), 'faq.csv': keyedGolden },
      atEnd,
    );
    daemon = await startRecalld(['serve', '--roles', 'api,worker'], folder, {}, atEnd);
    url = daemon.url.replace('0.0.0.0', '127.0.0.1');
    for (const args of [['golden', 'import', 'faq.csv', '--set', 'faq'], run])
      await spawnRecalld(args, folder, {}, atEnd).finished;
    const database = await aDatabase(folder, atEnd);
    await database.query(`insert into golden_documents values ('docs', 'd1', $1, now()) on conflict do nothing`, [
      lostText,
    ]);
  });

  const aKey = async (scope: string): Promise<string> => {
    const { stdout } = await runRecalld(
      ['keys', 'create', '--name', `${scope} ${(keys += 1)}`, '--scope', scope, '--json'],
      folder,
    );
    return (JSON.parse(stdout) as { key: string }).key;
  };

  const signIn = async (key: string, path: string): Promise<Page> => {
    const { page } = await browser.page(new URL(url).host);
    await page.goto(`${url}${path}`);
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    return page;
  };

  it('require a key, show no query text, and offer no changes to a reader', async () => {
    const page = await signIn('rcl_wrong', '/pipelines/docs/golden');
    expect(await page.getByRole('alert').textContent()).toContain('unknown or revoked');
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByLabel('API key').fill(await aKey('read'));
    await page.getByRole('button', { name: 'Sign in' }).click();
    expect(page.url()).toBe(`${url}/pipelines/docs/golden`);
    expect(await page.context().cookies()).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }]);

    await page.getByRole('row').nth(1).getByRole('link').click();
    expect(await page.locator('main').textContent()).not.toContain('How do I');
    expect(await page.getByText('Pin as baseline').count()).toBe(0);
    await page.getByRole('region', { name: 'Worst queries' }).getByRole('link').first().click();
    expect(await page.locator('main').textContent()).toContain('The text is not shown');
    expect(await page.locator('main').textContent()).not.toContain('How do I');

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.goto(`${url}/checks`);
    expect(page.url()).toContain('/sign-in?next=');
    await page.context().close();
  });

  it('refuse changes by a reader, and changes by an administrator from another site or without the token', async () => {
    const reader = await signIn(await aKey('read'), '/');
    const admin = await signIn(await aKey('admin'), '/');
    const send = async (page: Page, action: string, form: Record<string, string>, origin = url) => {
      const answer = await page.request.post(`${url}${action}`, {
        form,
        headers: { origin },
        maxRedirects: 0,
      });
      return [answer.status(), /<p class="callout"[^>]*>([^<]*)/.exec(await answer.text())?.[1] ?? ''];
    };
    const token = async (page: Page): Promise<string> =>
      (await page.locator('input[name=form_token]').first().getAttribute('value')) ?? '';
    const labels = '/pipelines/docs/golden/faq/labels';
    const asking = ['/pipelines/docs/index', '/pipelines/docs/density'];
    for (const action of ['/actions/pin-baseline', '/actions/annotate', labels, `${labels}/accept`, ...asking]) {
      expect(await send(reader, action, { form_token: await token(reader) }), action).toEqual([
        403,
        expect.stringContaining('lacks the admin scope'),
      ]);
      expect(await send(admin, action, {}), action).toEqual([403, expect.stringContaining('older than your session')]);
      const stolen = { form_token: await token(reader) };
      expect(await send(admin, action, stolen), action).toEqual([
        403,
        expect.stringContaining('older than your session'),
      ]);
      const own = { form_token: await token(admin) };
      expect(await send(admin, action, own, 'https://elsewhere.example'), action).toEqual([
        403,
        expect.stringContaining('was not sent from a recalld page'),
      ]);
    }
    await reader.context().close();
    await admin.context().close();
  });

  it('show no stored text, and name the setting that hides it', async () => {
    const database = await aDatabase(folder, atEnd);
    await database.query(secretTopicSql);
    // This retriever repeats the query in its error.
    retriever.respondWith((request, response) => {
      response.writeHead(400, { 'content-type': 'text/plain' }).end(`cannot answer ${request.body}`);
    });
    await spawnRecalld(run, folder, {}, atEnd).finished;
    const page = await signIn(await aKey('admin'), '/');
    const { rows } = await database.query<{ id: string }>('select id from golden_runs order by started_at');
    const runs = rows.map(({ id }) => `/runs/${id}`);
    expect(runs.length).toBeGreaterThanOrEqual(2);
    const { rows: queries } = await database.query<{ query_id: string }>('select query_id from golden_queries');
    const paths = [
      '/',
      '/checks',
      '/deployments',
      ...['', '/golden', '/golden/faq/labels', '/density', '/traffic'].map((part) => `/pipelines/docs${part}`),
      ...runs.flatMap((one) => ['', '?view=failed', '?view=regressed'].map((view) => `${one}${view}`)),
      ...runs.flatMap((one) => queries.map(({ query_id: id }) => `${one}/queries/${id}`)),
    ];
    for (const path of paths) {
      await page.goto(`${url}${path}`);
      const content = await page.content();
      expect({ path, leaked: secrets.filter((secret) => content.includes(secret)) }).toEqual({
        path,
        leaked: [],
      });
    }
    await page.goto(`${url}/pipelines/docs/density`);
    expect(await page.locator('main').textContent()).toContain('privacy.text: hash');
    await page.goto(`${url}/pipelines/docs/golden/faq/labels`);
    await page.getByRole('button', { name: 'Search the store now' }).click();
    expect(await page.content()).not.toContain('Open the settings');
    await page.context().close();
  });

  it.each([
    ['in light mode on a desktop', { colorScheme: 'light', viewport: { width: 1360, height: 900 } }],
    ['in dark mode on a phone', { colorScheme: 'dark', viewport: { width: 390, height: 844 } }],
  ] as const)('ask for a key in an accessible form %s', async (_, options) => {
    const { page, foreign } = await browser.page(new URL(url).host, options);
    await page.goto(`${url}/checks`);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await clippedParts(page)).toEqual([]);
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    expect(await unreachedByKeyboard(page)).toEqual([]);
    expect(foreign).toEqual([]);
    await page.context().close();
  });

  it('let an administrator accept repaired judgments as a new version of the golden set', async () => {
    const page = await signIn(await aKey('admin'), '/pipelines/docs/golden/faq/labels');
    expect(await page.locator('main').textContent()).toContain('1 judgment of 1 query');
    await page.getByRole('button', { name: 'Search the store now' }).click();
    expect(await page.locator('main').textContent()).toContain('the same text');
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByLabel('Accept proposal 1').check();
    await page.getByRole('button', { name: 'Accept the selected proposals as a new version' }).click();
    expect(await page.getByRole('status').textContent()).toContain('A new version of the golden set');
    const { stdout } = await runRecalld(['golden', 'list', '--json'], folder);
    expect(JSON.stringify(JSON.parse(stdout))).toContain('"version":2');
    const audit = JSON.parse((await runRecalld(['audit', '--json'], folder)).stdout) as object[];
    expect(audit).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          act: 'accept_labels',
          subject: 'faq',
          by: expect.stringMatching(/\), console, 127\.0\.0\.1$/),
        }),
      ]),
    );
    await page.context().close();
  });
});

const lostText = 'Open the settings, choose account, and press reset; a letter with a link arrives within minutes.';

const keyedGolden = 'question,document\nHow do I reset my password?,d1\nHow do I pay?,d2\n';

function keyedConfig(retriever: string, embedder: string, store: string): string {
  return `
server: {port: 0, host: 0.0.0.0}
pipelines:
  - name: docs
    retriever: {kind: http, url: "${retriever}/search", timeout_ms: 60000}
    embedder: {kind: openai, base_url: "${embedder}/v1", model: small}
    vector_store: {kind: pgvector, url: "${store}", table: chunks, content: body}
    golden: [{set: faq, max_per_second: 1000}]
    privacy: {text: hash}
    checks: [{measure: ndcg@10, below: 0.8}]
`;
}

const run = ['golden', 'run', '--pipeline', 'docs', '--set', 'faq'];

const secrets = ['How do I', 'reset my password', 'Open the settings', 'crypto', 'wallet'];

/** A topic with a label, as stored before the privacy mode was set. */
const secretTopicSql = `
  insert into uncovered_topics (id, pipeline, state, label, centroid, cause, first_seen, last_seen, sessions, traffic_share,
    share_low, share_high, excess_points, density, adjusted_p, dominant_region, examples, nearest, segments)
  values ('t1', 'docs', 'open', '{crypto,wallet}', decode('0000000000000000', 'hex'), 'new_demand', now() - interval '1 hour',
    now(), 42, 0.08, 0.06, 0.1, 6.4, 0.4, 0.0003, 2, '{today0}', '[["d1", 0.6]]', '[]')`;

describeWithBrowser('the pages of a daemon whose database is unavailable', () => {
  const browser = useBrowser();

  it('respond with 503 and name PostgreSQL as the cause', async () => {
    const postgres = await startOwnPostgres(inject('newCluster'));
    atEnd(() => postgres.close());
    const { user, password, host, port, database } = postgres.connection;
    const gate = await startTcpOutage(`postgres://${user}:${password}@${host}:${port}/${database}`);
    atEnd(() => gate.close());
    const folder = await aFolder({ 'recalld.yaml': 'server: {port: 0}\npipelines: []\n' }, atEnd);
    const env = { RECALLD_STORAGE_URL: gate.url };
    expect(await runRecalld(['migrate'], folder, env)).toMatchObject({ code: 0 });
    const daemon = await startRecalld(['serve', '--roles', 'api'], folder, env, atEnd);
    const { stdout } = await runRecalld(['keys', 'create', '--name', 'read', '--scope', 'read', '--json'], folder, env);
    const { page } = await browser.page(new URL(daemon.url).host, {
      colorScheme: 'dark',
      viewport: { width: 390, height: 844 },
    });
    await page.goto(daemon.url);
    await page.getByLabel('API key').fill((JSON.parse(stdout) as { key: string }).key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    expect(await page.locator('main').textContent()).toContain('No pipeline is configured');
    await gate.refuse();
    const answer = await page.goto(daemon.url);
    expect(answer?.status()).toBe(503);
    expect(answer?.headers()['retry-after']).toMatch(/^\d+$/);
    expect(await page.locator('main').textContent()).toContain('PostgreSQL');
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await clippedParts(page)).toEqual([]);
    await page.context().close();
  });
});
