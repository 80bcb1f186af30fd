/** Tests an on-call engineer's tasks in the console, and the speed and size of the console pages. */
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeWithBrowser, useBrowser } from '../support/browser.ts';
import type { WatchedService } from './watched-service.ts';

/** Maximum number of clicks for a task, which starts at the status page. */
const MAX_CLICKS = 3;
const MAX_BYTES = 500_000;
/** Maximum time to first contentful paint on an idle machine with two cores. */
const MAX_PAINT_MS = 300;
/** Factor by which other suites on the CI machine may slow down even the best of three loads. */
const SLOWDOWN = 6;
const LOADS = 3;

/** A user who starts at the status page, and whose clicks are counted. */
async function aVisitor(browser: ReturnType<typeof useBrowser>, url: string) {
  const { page } = await browser.page(new URL(url).host);
  await page.goto(url);
  let clicks = 0;
  return {
    page,
    card: page.getByRole('region', { name: 'docs' }),
    click: async (target: Locator): Promise<void> => {
      clicks += 1;
      expect(clicks, 'clicks from the status page').toBeLessThanOrEqual(MAX_CLICKS);
      await target.click();
    },
  };
}

async function firstPaintMs(page: Page, address: string): Promise<number> {
  await page.goto(address);
  const painted = await page.waitForFunction(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null,
  );
  return (await painted.jsonValue()) ?? Number.POSITIVE_INFINITY;
}

export function describeTasks(watched: () => WatchedService): void {
  describeWithBrowser('an engineer on call', () => {
    const browser = useBrowser();
    const visit = () => aVisitor(browser, watched().daemon.url);

    it('sees without a click which pipeline fails, what broke, since when, and what to do', async () => {
      const { page, card } = await visit();
      expect(await page.locator('.tally').textContent()).toMatch(/1 (Critical|Warning)/);
      const text = (await card.textContent()) ?? '';
      expect(text).toMatch(/nDCG@10 on faq down by 0\.\d+, limit 0\.02 since/);
      expect(text).toMatch(/since \d{4}-\d\d-\d\d \d\d:\d\d .* ago/);
      expect(text).toContain('Likely cause: a faulty deployment');
      expect(text).toContain('What to do: Roll back the deployment');
      await page.context().close();
    });

    it('sees the start of the incident and the deployments around it on one time axis', async () => {
      const { page, card, click } = await visit();
      await click(card.getByRole('link', { name: 'docs', exact: true }));
      expect(await page.getByRole('img', { name: /^Incidents: (critical|warning) for / }).count()).toBe(1);
      expect(await page.getByRole('img', { name: /^Deployments: index v8 / }).count()).toBe(1);
      const axes = await page
        .locator('svg[data-from]')
        .evaluateAll((plots) => plots.map((plot) => plot.getAttribute('data-until')));
      expect(axes.length).toBeGreaterThan(5);
      expect(new Set(axes).size).toBe(1);
      await page.context().close();
    });

    it('reads the value under the cursor in every chart, and zooms into a dragged range', async () => {
      const { page, card, click } = await visit();
      await click(card.getByRole('link', { name: 'docs', exact: true }));
      const chart = page.locator('figure.chart .plot > svg').first();
      await chart.scrollIntoViewIfNeeded();
      const box = await chart.boundingBox();
      if (box === null) throw new Error('the chart is not shown');
      const y = box.y + box.height / 2;
      await page.mouse.move(box.x + box.width * 0.9, y);
      expect(await page.locator('.cursor.shown').count()).toBeGreaterThan(4);
      expect(await page.locator('.under-cursor').first().textContent()).toMatch(
        /^\d{4}-\d\d-\d\d \d\d:\d\d: (0\.\d+|1) \(/,
      );
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.5, y);
      await page.mouse.up();
      await page.waitForURL(/from=.*until=/);
      expect(await page.getByRole('heading', { level: 2, name: 'Timeline' }).count()).toBe(1);
      await page.context().close();
    });

    it('finds three queries that show the problem, and opens one', async () => {
      const { page, card, click } = await visit();
      await click(card.getByRole('link', { name: 'Queries that show the problem' }));
      const rows = page.getByRole('region', { name: 'Most regressed queries' }).getByRole('row');
      const queries = await rows.filter({ hasText: 'question' }).count();
      expect(queries).toBeGreaterThanOrEqual(3);
      await click(rows.filter({ hasText: 'question' }).first().getByRole('link').first());
      expect(page.url()).toMatch(/\/runs\/[^/]+\/queries\//);
      await page.context().close();
    });

    it('shares an incident by its URL, and opens its runbook', async () => {
      const { page, card, click } = await visit();
      await click(card.getByRole('link', { name: 'Incident', exact: true }));
      expect(page.url()).toMatch(/\/incidents\/\d+/);
      const shared = page.url();
      const other = await browser.page(new URL(shared).host);
      await other.page.goto(shared);
      expect(await other.page.locator('main').textContent()).toContain('a faulty deployment');
      await other.page.context().close();
      await page.goBack();
      await click(card.getByRole('link', { name: 'Runbook' }));
      expect(page.url()).toMatch(/\/runbooks\/Recalld\w+/);
      expect(await page.locator('main').textContent()).not.toContain('There is no runbook');
      await page.context().close();
    });

    it('loads every page in less than 500 kB, with a first paint within 1.8 s on a busy machine', async () => {
      const { daemon, runs } = watched();
      const { page } = await browser.page(new URL(daemon.url).host);
      const run = `/runs/${runs.at(-1)}`;
      const pipeline = ['', '/golden', '/density', '/traffic', '/index', '/judge', '/experiments'];
      const paths = ['/', '/checks', '/deployments', run, ...pipeline.map((one) => `/pipelines/docs${one}`)];
      for (const path of paths) {
        const address = `${daemon.url}${path}`;
        const bytes = (await (await page.request.get(address)).body()).length;
        expect(bytes, path).toBeLessThan(MAX_BYTES);
        let best = Number.POSITIVE_INFINITY;
        for (let load = 0; load < LOADS; load += 1) best = Math.min(best, await firstPaintMs(page, address));
        expect(best, `first paint of ${path}`).toBeLessThan(MAX_PAINT_MS * SLOWDOWN);
      }
      await page.context().close();
    }, 120_000);
  });
}
