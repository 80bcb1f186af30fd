/** The daemon starts, measures, exports to Prometheus, survives kills, and leaves no process or file behind. */
import { spawnSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunSummaryJson } from '../../src/golden/run-summary-schema.ts';
import { documents, slow, startFaultServer } from '../support/fault-server.ts';
import { anInstallation, type Installation } from '../support/installation.ts';
import {
  aFolder,
  descendantsOf,
  isAlive,
  logLines,
  runAsBuilt,
  runRecalld,
  seriesValue,
  startRecalld,
} from '../support/recalld.ts';
import { waitFor } from '../support/wait-for.ts';
import { aConfig, aGoldenCsv, rightAnswer } from './golden-files.ts';

runAsBuilt();

const IMPORT = 'golden import faq.csv --set faq';
const NDCG = 'recalld_golden_ndcg{pipeline="docs",golden_set="faq",segment="all",k="10"}';

async function aRetriever() {
  const server = await startFaultServer(documents(rightAnswer));
  onTestFinished(() => server.close());
  return server;
}

/** Returns an installation with an imported golden set. */
async function aReadyInstallation(config: string, queries = 20): Promise<Installation> {
  const installed = await anInstallation({ 'recalld.yaml': config, 'faq.csv': aGoldenCsv(queries) });
  expect(await installed.recalld(IMPORT)).toMatchObject({ code: 0 });
  return installed;
}

async function get(url: string): Promise<{ status: number; type: string | null; body: string }> {
  const response = await fetch(url);
  return { status: response.status, type: response.headers.get('content-type'), body: await response.text() };
}

const listRuns = ({ json }: Installation) => json<RunSummaryJson[]>('runs list --limit 1000');

describe('the daemon', () => {
  it('creates nothing in a folder without a config, and states the fix', async () => {
    const folder = await aFolder();
    const { code, stderr } = await runRecalld(['serve'], folder, { RECALLD_SERVER_PORT: '0' });
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('set --config') });
    expect(await readdir(folder)).toEqual([]);
  });

  it('starts without a config file, logs that the config comes from the environment, and leaves no process behind', async () => {
    const folder = await aFolder();
    const env = { RECALLD_SERVER_PORT: '0', RECALLD_STORAGE_DATA_DIR: '.recalld' };
    const daemon = await startRecalld(['serve'], folder, env);
    const family = descendantsOf(daemon.pid);
    expect(family.length).toBeGreaterThan(0);
    expect(await get(`${daemon.url}/livez`)).toMatchObject({ status: 200 });
    expect(JSON.parse((await get(`${daemon.url}/readyz`)).body)).toEqual({
      ready: true,
      not_ready: [],
      degraded: [],
    });
    expect(await get(`${daemon.url}/nothing`)).toMatchObject({
      status: 404,
      type: expect.stringContaining('application/problem+json'),
    });
    const { code, stderr, stdout } = await daemon.stop();
    expect(code).toBe(0);
    expect(stdout).toBe('');
    expect(stderr).toContain('the config is read from the environment');
    expect(logLines(stderr).filter((line) => line['level'] === 'error' || line['level'] === 'warn')).toEqual([]);
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(family.filter(isAlive)).toEqual([]);
  });

  it('runs an overdue golden set at startup, and exports the result to Prometheus, also after a restart', async () => {
    const retriever = await aRetriever();
    const installed = await aReadyInstallation(
      aConfig({
        url: retriever.url,
        golden: 'cron: "0 0 1 1 *", gains: [dcg]',
        checks: '[{measure: ndcg@10, below: 0.8}]',
      }),
    );
    const daemon = await installed.serve();
    const check = 'ndcg@10 below 0.8 on faq';
    const stateOf = (page: string, state: string) =>
      seriesValue(page, `recalld_check_state{pipeline="docs",check="${check}",state="${state}"}`);
    // No daemon ran at the latest scheduled time, so the set runs at startup, and the check is evaluated afterwards.
    const metrics = await waitFor(async () => {
      const page = await daemon.metrics();
      return seriesValue(page, NDCG) !== undefined && stateOf(page, 'ok') === 1 ? page : undefined;
    });
    expect(seriesValue(metrics, NDCG)).toBe(1);
    expect(seriesValue(metrics, NDCG.replace('ndcg', 'dcg_ci_low'))).toBe(1);
    expect(seriesValue(metrics, 'recalld_golden_queries{pipeline="docs",golden_set="faq",outcome="ok"}')).toBe(20);
    expect(seriesValue(metrics, `recalld_threshold{pipeline="docs",check="${check}",severity="critical"}`)).toBe(0.8);
    expect(stateOf(metrics, 'critical')).toBe(0);
    expect(metrics).not.toMatch(/\bnan\b/i);
    const lint = spawnSync('promtool', ['check', 'metrics'], { input: metrics, encoding: 'utf8' });
    if (lint.error === undefined) expect(`${lint.stdout}${lint.stderr}`).toBe('');
    await daemon.stop();

    const asked = retriever.requests.length;
    const again = await installed.serve();
    expect(seriesValue(await again.metrics(), NDCG)).toBe(1);
    await again.stop();
    expect(retriever.requests.length).toBe(asked);
    expect(await listRuns(installed)).toHaveLength(1);
  });

  it('finishes a run that kill -9 interrupted, repeats few queries, and counts each query once', async () => {
    const retriever = await aRetriever();
    retriever.respondWith(slow(40, documents(rightAnswer)));
    const queries = 300;
    const config = aConfig({ url: retriever.url, golden: 'cron: "0 0 1 1 *"' });
    const installed = await aReadyInstallation(config, queries);
    const first = await installed.serve();
    await waitFor(() => retriever.requests.length > queries / 3);
    first.child.kill('SIGKILL');
    await first.finished;

    retriever.respondWith(documents(rightAnswer));
    const second = await installed.serve();
    const ended = await waitFor(async () => (await listRuns(installed)).find((run) => run.status !== 'running'));
    await second.stop();
    expect(ended).toMatchObject({ status: 'completed', queries: { total: queries, ok: queries } });
    expect(ended?.metrics['ndcg@10']).toMatchObject({ mean: 1, n: queries });
    expect(await listRuns(installed)).toHaveLength(1);
    // Queries whose results were not stored before the kill are sent again. Results are stored every half second, so
    // these queries are few.
    expect(retriever.requests.length).toBeLessThan(queries * 1.5);
  });

  it('leaves no process behind if Ctrl-C is pressed twice', async () => {
    const daemon = await startRecalld(['serve'], await aFolder({ 'recalld.yaml': 'server: {port: 0}' }));
    const family = descendantsOf(daemon.pid);
    daemon.child.kill('SIGINT');
    daemon.child.kill('SIGINT');
    const { stderr } = await daemon.finished;
    expect(stderr).not.toMatch(/^ {4}at /m);
    await waitFor(() => family.every((pid) => !isAlive(pid)));
  });

  it('refuses a second daemon in the same folder, but lets commands use its database', async () => {
    const retriever = await aRetriever();
    const folder = await aFolder({
      'recalld.yaml': aConfig({ url: retriever.url }),
      'faq.csv': aGoldenCsv(20),
    });
    // If no daemon is running, a command starts the database itself.
    expect(await runRecalld(IMPORT.split(' '), folder)).toMatchObject({ code: 0 });
    const daemon = await startRecalld(['serve'], folder);
    const second = await runRecalld(['serve'], folder);
    expect(second.code).toBe(2);
    expect(second.stderr).toContain(`${daemon.pid}`);
    expect(second.stderr).toContain('.recalld');
    const queued = await runRecalld(
      ['golden', 'run', '--pipeline', 'docs', '--set', 'faq', '--no-wait', '--json'],
      folder,
    );
    expect(queued.code, queued.stderr).toBe(0);
    const { run_id: runId } = JSON.parse(queued.stdout) as { run_id: string };
    await waitFor(async () => {
      const { stdout } = await runRecalld(['runs', 'list', '--json'], folder);
      const [run] = JSON.parse(stdout) as RunSummaryJson[];
      return run?.run_id === runId && run.status === 'completed';
    });
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });

  it('names its address if another process uses it', async () => {
    const retriever = await aRetriever();
    const port = new URL(retriever.url).port;
    const { spawn } = await anInstallation({}, { env: { RECALLD_SERVER_PORT: port } });
    const { code, stderr } = await spawn('serve').finished;
    expect(code).toBe(2);
    expect(stderr).toContain(
      `recalld: 127.0.0.1:${port} is in use by another process; set server.port to a free port, or to 0 for any free port.`,
    );
  });
});

describe('two daemons on one PostgreSQL server', () => {
  it('refuse to start before `recalld migrate`, and then share one run per scheduled time', async () => {
    const retriever = await aRetriever();
    const config = aConfig({ url: retriever.url, golden: 'cron: "* * * * * *"' });
    const files = { 'recalld.yaml': config, 'faq.csv': aGoldenCsv(5) };
    const installed = await anInstallation(files, { database: 'empty' });
    const { recalld, serve, spawn } = installed;

    const early = await spawn('serve').finished;
    expect(early.code).toBe(2);
    expect(early.stderr).toMatch(
      /^recalld: The database needs \d+ migrations; run `recalld migrate`, then start again\.$/m,
    );
    expect(await recalld('migrate')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Applied'),
    });
    expect(await recalld(IMPORT)).toMatchObject({ code: 0 });

    const daemons = await Promise.all([serve(), serve()]);
    await waitFor(async () => (await listRuns(installed)).filter((run) => run.status === 'completed').length >= 5);
    for (const daemon of daemons) expect(await daemon.stop()).toMatchObject({ code: 0 });

    const [{ runs, ticks, answers } = { runs: 0, ticks: -1, answers: -1 }] = await installed.query<{
      runs: number;
      ticks: number;
      answers: number;
    }>(
      `select count(*)::integer as runs, count(distinct scheduled_for)::integer as ticks,
              (select count(*)::integer from golden_run_answers) as answers from golden_runs`,
    );
    expect(ticks).toBe(runs);
    // Although two daemons were running, each query of a run was sent only once. The last run may have been deferred
    // before all of its queries were sent.
    expect(answers).toBeLessThanOrEqual(runs * 5);
    expect(retriever.requests.length).toBeLessThanOrEqual(runs * 5);
  });
});
