/** The console in a real browser: every page in light and dark mode, on a desktop and a phone, and every action. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import {
  accessibilityProblems,
  clippedParts,
  describeWithBrowser,
  unreachedByKeyboard,
  useBrowser,
} from '../support/browser.ts';
import { queryDatabase } from '../support/database.ts';
import { startJobs } from '../support/installation.ts';
import { embeddedConnection, runRecalld } from '../support/recalld.ts';
import { waitFor } from '../support/wait-for.ts';
import type { WatchedService } from './watched-service.ts';
import { describeTasks } from './watched-tasks.ts';

const ways = {
  'light on a desk': { colorScheme: 'light', viewport: { width: 1360, height: 900 } },
  'dark on a phone': { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
} as const;

/** The pages' script reacts only to the pointer, so the style sheet alone determines what each mode shows. */
async function lookInEachWay(page: Page, shown: string): Promise<void> {
  for (const [way, { colorScheme, viewport }] of Object.entries(ways)) {
    // With reduced motion, colors change at once, without a transition.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize(viewport);
    expect({ shown, way, problems: await accessibilityProblems(page) }).toEqual({ shown, way, problems: [] });
    expect({ shown, way, clipped: await clippedParts(page) }).toEqual({ shown, way, clipped: [] });
  }
}

/** Tests all pages; some of the tests pin baselines and write notes. */
export function describePages(watched: () => WatchedService): void {
  describeWithBrowser('the pages of a daemon that requires no key', () => {
    const browser = useBrowser();
    let service: WatchedService;
    let host: string;
    let incident: string;

    beforeAll(async () => {
      service = watched();
      host = new URL(service.daemon.url).host;
      for (const statement of [topicSql, eventSql]) await queryDatabase(embeddedConnection(service.folder), statement);
      await startJobs(embeddedConnection(service.folder), ['evaluate-checks']);
      for (const asked of ['/v1/incidents', '/v1/checks/transitions']) {
        await waitFor(async () => {
          const answer = await fetch(`${service.daemon.url}${asked}?pipeline=docs`);
          return ((await answer.json()) as { items: unknown[] }).items.length > 0;
        });
      }
      const found = await fetch(`${service.daemon.url}/v1/incidents?pipeline=docs`);
      const { items } = (await found.json()) as { items: { id: string; closed_at: string | null }[] };
      incident = items.find(({ closed_at: closedAt }) => closedAt === null)?.id ?? '';
    }, 360_000);

    describeTasks(() => service);

    const paths = (): readonly (readonly [string, string])[] => {
      const run = `/runs/${service.runs.at(-1)}`;
      return [
        ['/', 'Likely cause: a faulty deployment'],
        ['/?range=7d', 'Queries that show the problem'],
        ['/?filter=nothing', 'No pipeline has "nothing" in its name'],
        ['/pipelines/docs', 'Latest measures'],
        ['/pipelines/docs/golden', 'Scores of faq at 10'],
        ['/pipelines/docs/golden/faq/labels', 'Search the store now'],
        ['/pipelines/docs/density?range=7d', 'crypto wallet'],
        ['/pipelines/docs/traffic?range=6h', 'Positive, by segment'],
        ['/pipelines/docs/traffic?range=24h', 'Final results in top documents'],
        ['/checks?pipeline=docs', 'Firing'],
        ['/checks?from=2026-01-01T00:00&until=2026-01-02T00:00', 'No check changed its verdict in this period'],
        ['/checks?pipeline=docs&check=gone', 'The check "gone" is no longer configured'],
        ['/deployments', 'ef 40'],
        [`/incidents/${incident}`, 'Failing measure'],
        ['/pipelines/docs/judge', 'No judge is configured for this pipeline.'],
        ['/pipelines/docs/experiments', 'neither shadows nor variants'],
        [run, 'Query by query'],
        [`${run}?view=regressed`, 'question 1'],
        [`${run}?view=newly_empty`, 'question 39'],
        [`${run}?view=stale`, 'question 38'],
        [`${run}?view=failed`, 'No query failed.'],
        [`${run}?from=2026-01-01T00:00&until=2026-01-02T00:00`, 'No run completed in this period'],
        [`${run}?view=regressed&against=${service.runs[1]}`, 'No query scores lower'],
        ['/pipelines/nowhere', 'The config has no pipeline "nowhere"'],
        ['/runs/none', 'There is no golden run none'],
        ['/nowhere', 'There is no page /nowhere'],
      ];
    };

    it('are accessible in light mode on a desktop and in dark mode on a phone, with nothing cut off', async () => {
      const { page, foreign } = await browser.page(host);
      const look = (shown: string) => lookInEachWay(page, shown);
      for (const [shown, words] of paths()) {
        await page.goto(`${service.daemon.url}${shown}`);
        expect(await page.locator('main').textContent(), shown).toContain(words);
        const sentences = await page.locator('.reasons, .diagnosis').allTextContents();
        expect(sentences.join(' '), 'words, not names of the code').not.toMatch(/_(ratio|median|vectors|failed)/);
        await look(shown);
      }
      await page.goto(`${service.daemon.url}/runs/${service.runs.at(-1)}?view=regressed`);
      await page.getByRole('region', { name: 'Most regressed' }).getByRole('link').first().click();
      await look('a query');
      await page.goto(`${service.daemon.url}/pipelines/docs/golden/faq/labels`);
      await page.getByRole('button', { name: 'Search the store now' }).click();
      await look('proposals for labels');
      expect(foreign).toEqual([]);
      await page.context().close();
    }, 600_000);

    it('have only actions that the keyboard can reach', async () => {
      const { page } = await browser.page(host);
      const shown = paths().filter(([, words]) => !words.startsWith('There is no'));
      for (const [address] of shown) {
        await page.goto(`${service.daemon.url}${address}`);
        expect({ address, unreached: await unreachedByKeyboard(page) }).toEqual({ address, unreached: [] });
      }
      await page.context().close();
    });

    it('include a report file that is accessible in light mode on a desktop and in dark mode on a phone', async () => {
      const { folder } = service;
      const file = path.join(folder, 'report.html');
      const since = new Date(Date.now() - 86_400_000).toISOString();
      const args = ['report', '--pipeline', 'docs', '--from', since, '--out', file];
      expect(await runRecalld(args, folder)).toMatchObject({ code: 0 });
      const { page, foreign } = await browser.page('');
      await page.goto(pathToFileURL(file).href);
      expect(await page.locator('main').textContent()).toContain('Incidents and their causes');
      await lookInEachWay(page, 'the report');
      expect(foreign).toEqual([]);
      await page.context().close();
    });

    it('lead from the status to the likely cause and its evidence', async () => {
      const { page } = await browser.page(host, { javaScriptEnabled: false });
      await page.goto(service.daemon.url);
      const card = page.getByRole('region', { name: 'docs' });
      expect(await card.locator('svg[role=img]').count()).toBe(4);
      const diagnosisText = await card.getByRole('group', { name: 'Diagnosis of docs' }).textContent();
      expect(diagnosisText).toContain('a faulty deployment');
      expect(diagnosisText).toMatch(/(high|medium|low) confidence, \d+ %/);
      expect(diagnosisText).toContain('What to do: Roll back the deployment');
      await card.getByRole('link', { name: 'Deployments', exact: true }).click();
      expect(await page.locator('main').textContent()).toContain('ef 40');
      await page.goBack();
      await card.getByRole('link', { name: 'Queries that show the problem' }).click();
      expect(page.url()).toContain(`against=${service.runs[0]}`);
      const lost = page.getByRole('region', { name: 'Most regressed queries' });
      expect(await lost.getByRole('row').count()).toBeGreaterThan(5);
      const diagnosis = page.getByRole('group', { name: 'Diagnosis of docs' });
      expect(await diagnosis.textContent()).toContain('Against it: ');
      await page.context().close();
    });

    it('show when the verdict of a check changed, for the period in the URL', async () => {
      const { page } = await browser.page(host, { javaScriptEnabled: false });
      await page.goto(`${service.daemon.url}/checks?pipeline=docs`);
      await page.getByRole('link', { name: 'stale labels above 0.02 on faq' }).first().click();
      await page.getByRole('link', { name: 'last 7 days' }).click();
      const shared = new URL(page.url()).searchParams;
      expect(Object.fromEntries(shared)).toEqual({
        pipeline: 'docs',
        check: 'stale labels above 0.02 on faq',
        range: '7d',
      });
      const history = page.getByRole('region', { name: 'Changes of verdicts' });
      expect(await history.getByRole('row').count()).toBe(2);
      const change = await history.getByRole('row').last().textContent();
      expect(change).toContain('3 of 40 judged documents');
      expect(change).toContain('Warning');
      expect(change).toContain('so far');
      expect(await page.getByRole('img', { name: /stale labels above 0.02 on faq: warning for/ }).count()).toBe(1);
      await history.getByRole('link', { name: /^Measurements around/ }).click();
      expect(page.url()).toContain('/pipelines/docs/golden?set=faq&from=');
      await page.context().close();
    });

    it('respond to an unknown path with a page for browsers and a problem document for programs', async () => {
      const ask = async (at: string, accept: string) => {
        const { status, headers } = await fetch(`${service.daemon.url}${at}`, { headers: { accept } });
        return [status, headers.get('content-type')?.split(';')[0]];
      };
      expect(await ask('/nowhere', 'text/html')).toEqual([404, 'text/html']);
      expect(await ask('/nowhere', '*/*')).toEqual([404, 'application/problem+json']);
      expect(await ask('/v1/nowhere', 'text/html')).toEqual([404, 'application/problem+json']);
      expect(await ask('/pipelines/nowhere', 'text/html')).toEqual([404, 'text/html']);
    });

    it('lead from the alert to the ranks of one query through links alone, without JavaScript', async () => {
      const { page } = await browser.page(host, { javaScriptEnabled: false });
      await page.goto(`${service.daemon.url}/?range=6h`);
      await page.getByRole('link', { name: 'docs' }).click();
      await page.getByRole('link', { name: 'Golden runs' }).click();
      expect(page.url()).toContain('range=6h');
      await page.locator(`[aria-labelledby="runs"] a[href^="/runs/${service.runs.at(-1)}"]`).click();
      await page.getByRole('link', { name: 'Most regressed', exact: true }).click();
      await page.getByRole('row').filter({ hasText: 'question 4' }).getByRole('link').first().click();
      const now = page.getByRole('region', { name: 'Documents now' });
      expect(await now.getByRole('row').filter({ hasText: 'd4' }).last().textContent()).toContain('▼ from 1');
      expect(await page.getByRole('region', { name: 'Documents before' }).textContent()).toContain('relevant, 1');
      await page.context().close();
    });

    it('let users acknowledge an incident, add a note to it, and mark its cause as wrong', async () => {
      const { page } = await browser.page(host);
      await page.goto(`${service.daemon.url}/incidents/${incident}`);
      expect(await page.locator('h1').textContent()).toMatch(/^A faulty deployment: /);
      const shown = page.getByRole('region', { name: 'Golden queries affected by the incident' });
      expect(await shown.getByRole('row').count()).toBe(4);
      expect(await shown.textContent()).toContain('1 \u2192 ');
      await page.getByRole('button', { name: 'Acknowledge' }).click();
      expect(await page.getByRole('status').textContent()).toContain('acknowledged');
      expect(await page.getByRole('button', { name: 'Acknowledge' }).count()).toBe(0);
      await page.getByText('Add a note').click();
      await page.getByRole('textbox', { name: 'Note on this incident' }).fill('rolling back <b>v8</b>');
      await page.getByRole('button', { name: 'Save note' }).click();
      expect(await page.locator('.notes').textContent()).toContain('rolling back <b>v8</b>');
      await page.getByText('Was this the cause?').click();
      await page.getByLabel('If not, what was the cause?').selectOption('ranking');
      await page.getByRole('button', { name: 'It was not' }).click();
      const main = await page.locator('main').textContent();
      expect(main).toContain('marked as wrong');
      expect(main).toContain('Actual cause: the order of results changed');
      const known = await fetch(`${service.daemon.url}/v1/incidents/reliability?pipeline=docs`);
      const { items } = (await known.json()) as { items: { marked: number; right: number }[] };
      expect(items.map(({ marked, right }) => [marked, right])).toContainEqual([1, 0]);
      await page.context().close();
    });

    it('let users pin a baseline and add notes to runs and deployments', async () => {
      const { page } = await browser.page(host);
      const run = service.runs[1] ?? '';
      await page.goto(`${service.daemon.url}/runs/${run}`);
      await page.getByText('Pin as baseline').click();
      await page.getByLabel('Why (optional)').fill('accepted after review');
      await page.getByRole('button', { name: 'Pin this run' }).click();
      expect(await page.getByRole('status').textContent()).toContain('pinned baseline');
      expect(await page.locator('main').textContent()).toContain('This run is the pinned baseline');

      await page.getByText('Add a note').click();
      await page.getByRole('textbox', { name: 'Note on this run' }).fill('<b>re-chunked</b> overnight');
      await page.getByRole('button', { name: 'Save note' }).click();
      expect(await page.locator('.notes').textContent()).toContain('<b>re-chunked</b> overnight');

      await page.goto(`${service.daemon.url}/deployments`);
      await page.getByLabel('Add a note on the index deployment v8').click();
      await page.getByRole('textbox', { name: 'Note on the index deployment v8' }).fill('rolled back at noon');
      await page.getByRole('button', { name: 'Save note' }).first().click();
      expect(await page.locator('.notes').textContent()).toContain('rolled back at noon');
      await page.context().close();
    });

    it('have restrictive security headers, and a style sheet that browsers can cache', async () => {
      const { headers } = await fetch(service.daemon.url);
      expect(headers.get('content-security-policy')).toContain(
        "default-src 'none'; style-src 'self'; script-src 'self';",
      );
      expect(headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict/);
      expect(await (await fetch(service.daemon.url)).text()).not.toMatch(
        /<script(?! type="module" src="\/pages\.js\?v=)|style="| on[a-z]+=/,
      );
      const sheet = await fetch(`${service.daemon.url}/style.css`);
      const again = await fetch(`${service.daemon.url}/style.css`, {
        // Browsers send this header; without it, fetch requests a response that bypasses caches.
        headers: { 'if-none-match': sheet.headers.get('etag') ?? '', 'cache-control': 'max-age=0' },
      });
      expect([sheet.status, again.status]).toEqual([200, 304]);
    });

    it('refuse a form from another site, a form without its token, and a request for an unknown host name', async () => {
      const send = async (headers: Record<string, string>) => {
        const response = await fetch(`${service.daemon.url}/actions/annotate`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
          body: `subject=run&id=${service.runs[0]}&text=hello`,
          redirect: 'manual',
        });
        return [response.status, /<p class="callout"[^>]*>([^<]*)/.exec(await response.text())?.[1]];
      };
      expect((await send({ origin: 'https://elsewhere.example' }))[0]).toBe(403);
      expect(await send({ origin: 'http://127.0.0.1:9' })).toMatchObject([
        403,
        expect.stringContaining('was not sent from a recalld page'),
      ]);
      expect(await send({})).toMatchObject([403, expect.stringContaining('was not sent from a recalld page')]);
      expect(await send({ origin: service.daemon.url })).toMatchObject([
        403,
        expect.stringContaining('older than your session'),
      ]);
      // Uses the browser, because Node's fetch does not let a caller set the Host header.
      const { page } = await browser.page(host);
      const response = await page.request.get(service.daemon.url, { headers: { host: 'evil.example' } });
      expect(response.status()).toBe(403);
      await page.context().close();
    });
  });
}

/** A topic as it would be after weeks of live queries. */
const topicSql = `
  insert into uncovered_topics (id, pipeline, state, label, centroid, cause, first_seen, last_seen, sessions, traffic_share,
    share_low, share_high, excess_points, density, adjusted_p, dominant_region, examples, nearest, segments)
  values ('t1', 'docs', 'open', '{crypto,wallet}', decode('0000000000000000', 'hex'), 'new_demand', now() - interval '1 hour',
    now(), 42, 0.08, 0.06, 0.1, 6.4, 0.4, 0.0003, 2, '{today0,today1}', '[["d1", 0.6]]', '[["course=even", 0.7]]')`;

/** A query density alert whose sentence has the maximum length. */
const eventSql = `
  insert into density_events (pipeline, kind, occurred_at, sentence, details)
  values ('docs', 'page', now() - interval '3 hours', 'Query density of docs fell to 0.80 (95 % 0.74 to 0.86) over all traffic, where 1 is as in the baseline, with evidence 3.2 times what pages somebody. 4 of 60 chunks that baseline queries found are gone from the store.', '{}')`;
