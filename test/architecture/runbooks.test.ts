import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { documentedAlerts, runbooksPage } from '../../docs/build/runbooks-page.ts';
import { metricCatalogue } from '../../src/platform/metrics/catalogue.ts';

const folder = path.resolve(import.meta.dirname, '../../docs/runbooks');
const alerts = documentedAlerts();
const MAX_WORDS = 250;
const pageOf = (alert: string): string => readFileSync(path.join(folder, `${alert}.md`), 'utf8');

describe('the runbooks', () => {
  it('have one page for each alert and no others', () => {
    const pages = readdirSync(folder).filter((file) => file !== 'README.md');
    expect(pages.toSorted()).toEqual(alerts.map(({ alert }) => `${alert}.md`).toSorted());
  });

  it('list every alert in their index', () => {
    for (const { alert } of alerts) expect(runbooksPage().text).toContain(`[${alert}](${alert}.md)`);
  });
});

describe('a runbook', () => {
  it.each(alerts)(
    '$alert has at most 250 words, on meaning, confirmation, causes, fix and when to ignore the alert',
    ({ alert }) => {
      expect(pageOf(alert).trim().split(/\s+/).length).toBeLessThanOrEqual(MAX_WORDS);
      expect(pageOf(alert).match(/^#+ .*$/gm)).toEqual([
        `# ${alert}`,
        '## What it means',
        '## Confirm',
        '## Likely causes, in order',
        '## What to do',
        '## When to ignore',
      ]);
      expect(pageOf(alert)).toMatch(/```(sh|promql)\n/);
      expect(pageOf(alert)).toMatch(/^1\. \*\*.+\*\* \S/m);
    },
  );

  it.each(alerts)('$alert names the metrics of its rule, and no unknown metrics', ({ alert, expr }) => {
    const text = pageOf(alert);
    const named = [...text.matchAll(/(?<!:)\brecalld_[a-z0-9_]+\b/g)].map(([name]) => name.replace(/_bucket$/, ''));
    expect(named.filter((name) => !(name in metricCatalogue))).toEqual([]);
    const watched = [...expr.matchAll(/(?<!:)\brecalld_[a-z0-9_]+/g)].map(([name]) =>
      name.replace(/_(bucket|count)$/, ''),
    );
    expect(watched.filter((name) => !named.includes(name))).toEqual([]);
  });
});
