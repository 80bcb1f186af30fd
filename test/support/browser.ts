/** Chromium that makes no network requests on its own, with axe loaded into its pages. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';

/** The headless shell starts in half the time that a full browser needs. */
const program = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
  .map((name) => `/usr/bin/${name}`)
  .find((path) => existsSync(path));

/**
 * Describes a suite that needs a browser. Without a browser, the suite is skipped: the runner counts it as skipped, and
 * the message below gives the reason.
 */
export const describeWithBrowser = program === undefined ? describe.skip : describe;

if (program === undefined) {
  if (process.env['CI'] !== undefined) throw new Error('no browser is installed on CI');
  process.stderr.write('\nSKIPPED: tests that need a browser, since there is no chromium in /usr/bin.\n\n');
}

export interface VisitingBrowser {
  /** Opens a page in a separate session; `foreign` lists requests to hosts other than `host`. */
  page(host: string, options?: BrowserContextOptions): Promise<{ readonly page: Page; readonly foreign: string[] }>;
}

/** Provides a browser for the tests in the calling test file or describe block. */
export function useBrowser(): VisitingBrowser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await chromium.launch({
      ...(program === undefined ? {} : { executablePath: program }),
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
  });
  afterAll(async () => {
    await browser?.close();
  });
  return {
    async page(host, options = {}) {
      if (browser === undefined) throw new Error('the browser has not started');
      const context = await browser.newContext(options);
      const foreign: string[] = [];
      const page = await context.newPage();
      page.on('request', (request) => {
        if (new URL(request.url()).host !== host) foreign.push(request.url());
      });
      return { page, foreign };
    },
  };
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Returns the problems that axe finds on the page as shown, each with its rule and the selectors of its elements. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  return page.evaluate(async () => {
    const { axe: inPage } = globalThis as unknown as {
      readonly axe: {
        run(): Promise<{ violations: { id: string; nodes: { target: unknown[] }[] }[] }>;
      };
    };
    const { violations } = await inPage.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => String(target)).join(', ')}`);
  });
}

/**
 * Returns the elements that are cut off, or visible only by scrolling sideways: the page itself, its parts, and chart
 * labels.
 */
export async function clippedParts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const isClipped = ({ clientWidth, scrollWidth }: Element): boolean =>
      clientWidth > 0 && scrollWidth > clientWidth + 1;
    const hides = (element: Element): boolean =>
      getComputedStyle(element).overflowX !== 'visible' &&
      getComputedStyle(element).clipPath === 'none' &&
      !element.matches('input, select');
    const parts = [...document.querySelectorAll('body, body *:not(svg *)')].filter(
      (element) => isClipped(element) && hides(element),
    );
    const whole = isClipped(document.documentElement) ? ['the page'] : [];
    // Chart labels may extend into the margins of their figure, but not beyond.
    const labels = [...document.querySelectorAll('figure svg text')].filter((label) => {
      const figure = label.closest('figure')?.getBoundingClientRect();
      const { left, right, width } = label.getBoundingClientRect();
      return width > 0 && figure !== undefined && (left < figure.left - 1 || right > figure.right + 1);
    });
    return [
      ...whole,
      ...parts.map((part) => `${part.localName}.${part.className} ${part.ariaLabel ?? ''}`),
      ...labels.map((label) => `the label ${label.textContent}`),
    ];
  });
}

/** Returns the visible links, buttons and fields that the Tab key does not reach. */
export async function unreachedByKeyboard(page: Page): Promise<string[]> {
  const actions = await page.evaluate(() => {
    const found = [...document.querySelectorAll('a[href], button, input, select, summary')].filter(
      (element) => element.checkVisibility() && !element.matches('[type=hidden], :disabled'),
    );
    for (const [index, element] of found.entries()) element.setAttribute('data-action', String(index));
    return found.map((element) => element.outerHTML.slice(0, 120));
  });
  const reached = new Set<number>();
  const stops = await page.evaluate(() => document.querySelectorAll('[tabindex="0"]').length);
  for (let presses = 0; presses < actions.length + stops + 5; presses += 1) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => document.activeElement?.getAttribute('data-action') ?? null);
    if (at !== null) reached.add(Number(at));
  }
  return actions.filter((_, index) => !reached.has(index));
}
