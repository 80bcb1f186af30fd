/**
 * Faults cause pages, and fixes resolve them, through a real Prometheus and Alertmanager. Each page is sent only once,
 * even if the daemon, Prometheus or Alertmanager is killed.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AlertingStack, startAlertingStack } from '../support/alerting-stack.ts';
import { documents } from '../support/fault-server.ts';
import { anInstallation, type Installation, type InstalledDaemon } from '../support/installation.ts';
import { missing } from '../support/missing.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Broken, type Fault, faults, QUERIES, startFaults } from './alerting-faults.ts';
import { aGoldenCsv } from './golden-files.ts';

interface World {
  readonly faults: Broken;
  /**
   * Calls `change` while no golden run is in progress, because a change during a run would cause different failures.
   */
  readonly betweenRuns: (change: () => void) => Promise<void>;
  readonly installation: Installation;
  readonly stack: AlertingStack;
  /** Waits until the daemon reports that every check passes. */
  readonly isWell: () => Promise<void>;
  /**
   * Kills the daemon (`kill -9`) while no golden run is in progress, because the lease of an interrupted run outlasts
   * this test.
   */
  readonly kill: () => Promise<void>;
  readonly start: (...args: readonly string[]) => Promise<void>;
}

/** Starts the services, the daemon and the alerting stack, and waits until every check passes. */
async function aWorld(chosen: readonly Fault[]): Promise<World> {
  const broken = await startFaults(chosen, onTestFinished);
  const installation = await anInstallation({ 'recalld.yaml': broken.config, 'faq.csv': aGoldenCsv(QUERIES) });
  const { recalld, serve, query } = installation;
  expect(await recalld('golden import faq.csv --set faq')).toMatchObject({ code: 0 });
  const rules = await recalld('rules');
  expect(rules).toMatchObject({ code: 0 });
  const { run_id: run } = await installation.json<{ run_id: string }>('golden run --pipeline fallen --set faq --wait');
  expect(await recalld(`baselines pin ${run}`)).toMatchObject({ code: 0 });

  let daemon: InstalledDaemon = await serve();
  const stack = await startAlertingStack(daemon.url, rules.stdout);
  const isWell = async () => {
    const ok = /recalld_check_state\{[^}]*state="ok"\} 1/g;
    await waitFor(async () => [...(await daemon.metrics()).matchAll(ok)].length === chosen.length);
  };
  await isWell();
  const isBetweenRuns = async () => {
    await waitFor(async () => (await query(`select 1 from golden_runs where status = 'running'`)).length === 0);
  };
  let isOver = false;
  const traffic = (async () => {
    while (!isOver) {
      const queries = Array.from({ length: 20 }, () => broken.liveQueries()).flat();
      // The service keeps sending while the daemon is down.
      if (queries.length > 0) await daemon.post('/v1/queries', queries).catch(() => undefined);
      await delay(500);
    }
  })();
  onTestFinished(async () => {
    isOver = true;
    await traffic;
  });
  return {
    faults: broken,
    installation,
    stack,
    isWell,
    async betweenRuns(change) {
      await isBetweenRuns();
      change();
    },
    async kill() {
      await isBetweenRuns();
      daemon.child.kill('SIGKILL');
      await daemon.finished;
    },
    async start(...args) {
      daemon = await serve(...args);
      await stack.scrape(daemon.url);
    },
  };
}

/** Returns the actions of all pages with this summary, in chronological order. */
function pagesOf(stack: AlertingStack, summary: string): string[] {
  return stack
    .pages()
    .filter((page) => page.summary === summary)
    .map(({ action }) => action);
}

function chatsOf(stack: AlertingStack, summary: string): string[] {
  return stack
    .chats()
    .filter(({ title }) => title.endsWith(`: ${summary}`))
    .map(({ title }) => title.split(':')[0] ?? '');
}

const EMPTY = 'empty: a critical check fails';

async function expectPages(stack: AlertingStack, summary: string, actions: readonly string[]): Promise<void> {
  await waitFor(() => {
    expect(pagesOf(stack, summary)).toEqual(actions);
    return true;
  });
}

/** Returns the summaries of the pages that have not been resolved. */
function openPages(stack: AlertingStack): string[] {
  const last = new Map(stack.pages().map(({ key, summary, action }) => [key, { summary, action }]));
  return [...last.values()].flatMap(({ summary, action }) => (action === 'resolve' ? [] : [summary]));
}

/** Two faults, for tests that do not need all faults. */
const few = faults.filter(({ pipeline }) => pipeline === 'empty' || pipeline === 'fallen');
const pagers = faults.flatMap(({ page }) => page ?? []);
const chatted = faults.flatMap(({ page, chat }) => [page ?? [], chat ?? []].flat());

const isMissing = missing('prometheus') || missing('prometheus-alertmanager');

describe.skipIf(isMissing)('the pager', () => {
  it('receives one page per fault and one resolution, even if the daemon is killed in between', async () => {
    const { faults: services, stack, installation, betweenRuns, kill, start } = await aWorld(faults);
    expect(stack.pages()).toEqual([]);

    await betweenRuns(services.break);
    await waitFor(() => {
      for (const summary of pagers) expect([summary, ...pagesOf(stack, summary)]).toEqual([summary, 'trigger']);
      for (const summary of chatted) expect([summary, ...chatsOf(stack, summary)]).toEqual([summary, 'firing']);
      return true;
    });
    for (const { pipeline, page, chat, says } of faults) {
      const sent = stack.pages().find(({ summary }) => summary === page);
      const said = stack.chats().find(({ title }) => title === `firing: ${page ?? chat}`);
      if (page !== null) expect(sent?.details['description']).toMatch(says);
      expect(said?.text).toMatch(says);
      for (const link of [said?.link, ...(page === null ? [] : [sent?.link, sent?.details['console']])])
        expect(link).toBe(`https://recalld.internal/pipelines/${pipeline}`);
      expect(said?.text).toContain('<https://recalld.internal/runbooks/Recalld');
      expect(said?.text).toMatch(/^(?:Cause not yet known|Likely cause: .*)\.$/m);
    }

    await kill();
    await start();
    const runs = async () =>
      Number((await installation.query<{ n: string }>('select count(*) as n from golden_runs'))[0]?.n ?? 0);
    const before = await runs();
    await waitFor(async () => (await runs()) >= before + 3 * faults.length);
    expect(
      stack
        .pages()
        .map(({ action, summary }) => `${action}: ${summary}`)
        .toSorted(),
    ).toEqual(pagers.map((summary) => `trigger: ${summary}`).toSorted());

    await betweenRuns(services.mend);
    await waitFor(() => {
      for (const summary of pagers)
        expect([summary, ...pagesOf(stack, summary)]).toEqual([summary, 'trigger', 'resolve']);
      for (const summary of chatted)
        expect([summary, ...chatsOf(stack, summary)]).toEqual([summary, 'firing', 'resolved']);
      return true;
    });
    expect(stack.pages().filter(({ summary }) => !pagers.includes(summary))).toEqual([]);
    expect(stack.pages()).toHaveLength(2 * pagers.length);
    // If this machine is busy, other notifications may report that recalld is late, but none may report a retriever
    // fault.
    const others = stack.chats().filter(({ title }) => !chatted.some((summary) => title.endsWith(`: ${summary}`)));
    expect(
      others
        .map(({ title }) => title)
        .filter((title) => !/ recalld|take longer than their interval|scores are out of date/.test(title)),
    ).toEqual([]);
    // Each page was resolved under the key under which it was opened.
    expect(new Set(stack.pages().map(({ key }) => key)).size).toBe(pagers.length);
  }, 400_000);

  it('receives a resolution for a fault fixed while the daemon was down, and a page if no scheduler starts golden runs', async () => {
    const { faults: services, stack, betweenRuns, kill, start } = await aWorld(few);
    await betweenRuns(() => services.servers.get('empty')?.respondWith(documents([])));
    await expectPages(stack, EMPTY, ['trigger']);
    await kill();
    services.mend();
    const absent = 'recalld: no replica can be scraped';
    await expectPages(stack, absent, ['trigger']);
    await start('--roles', 'api,worker');
    await expectPages(stack, absent, ['trigger', 'resolve']);
    const idle = 'fallen: golden runs are overdue';
    await expectPages(stack, idle, ['trigger']);
    await kill();
    await start();
    await expectPages(stack, idle, ['trigger', 'resolve']);
    await expectPages(stack, EMPTY, ['trigger', 'resolve']);
    await waitFor(() => openPages(stack).length === 0);
    expect(openPages(stack)).toEqual([]);
  }, 400_000);

  it.each(['prometheus', 'alertmanager'] as const)(
    'receives a resolution for a fault that was fixed while %s was down',
    async (part) => {
      const { faults: services, stack, betweenRuns, isWell } = await aWorld(few);
      await betweenRuns(() => services.servers.get('empty')?.respondWith(documents([])));
      await expectPages(stack, EMPTY, ['trigger']);
      await stack[part].kill();
      await betweenRuns(services.mend);
      await isWell();
      await stack[part].restart();
      await expectPages(stack, EMPTY, ['trigger', 'resolve']);
      await waitFor(() => openPages(stack).length === 0);
      expect(openPages(stack)).toEqual([]);
    },
    400_000,
  );
});
