import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { documentedAlerts, runbooksPage } from '../../docs/build/runbooks-page.ts';
import { metricCatalogue } from '../../src/platform/metrics/catalogue.ts';

const folder = path.resolve(import.meta.dirname, '../../docs/runbooks');
const alerts = documentedAlerts();
const pageOf = (alert: string): string => readFileSync(path.join(folder, `${alert}.md`), 'utf8');

describe('the runbooks', () => {
  it('have a page for every alert and none besides', () => {
    const pages = readdirSync(folder).filter((file) => file !== 'README.md');
    expect(pages.toSorted()).toEqual(alerts.map(({ alert }) => `${alert}.md`).toSorted());
  });

  it('have every alert in their index', () => {
    for (const { alert } of alerts) expect(runbooksPage().text).toContain(`[${alert}](${alert}.md)`);
  });
});

describe('a runbook', () => {
  it.each(alerts)('$alert says what is wanted at three in the morning, in this order', ({ alert }) => {
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
  });

  it.each(alerts)('$alert names the metrics of its rule, and only metrics that there are', ({ alert, expr }) => {
    const text = pageOf(alert);
    const named = [...text.matchAll(/(?<!:)\brecalld_[a-z0-9_]+\b/g)].map(([name]) => name.replace(/_bucket$/, ''));
    expect(named.filter((name) => !(name in metricCatalogue))).toEqual([]);
    const watched = [...expr.matchAll(/(?<!:)\brecalld_[a-z0-9_]+/g)].map(([name]) =>
      name.replace(/_(bucket|count)$/, ''),
    );
    expect(watched.filter((name) => !named.includes(name))).toEqual([]);
  });
});
