/** docs/runbooks/README.md: every alert with its title, the first paragraph of its runbook, and its actions. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { defaultRuleSettings, ruleGroups } from '../../src/app/alerts/rule-file.ts';
import type { AlertRule, RulePipeline } from '../../src/platform/metrics/alert-rules.ts';
import { generatedPage, type Page, table } from './page.ts';

/** A pipeline with every optional part, so that the rules contain every alert. */
const everything: RulePipeline = {
  name: 'docs',
  goldenSets: ['faq'],
  objectives: [{ slo: 'success', target: 0.99, windowDays: 30 }],
};

/** Returns each alert once, in the order of the rules. */
export function documentedAlerts(): readonly AlertRule[] {
  const alerts = ruleGroups({ ...defaultRuleSettings, pipelines: [everything] }).flatMap((group) => group.alerts);
  return [...new Map(alerts.map((alert) => [alert.alert, alert])).values()];
}

export function runbooksPage(): Page {
  const rows = documentedAlerts().map(({ alert, severity, for: wait, summary }) => {
    const { meaning, action } = runbookOf(alert);
    return [
      `[${alert}](${alert}.md)`,
      `${severity}, ${wait === undefined ? 'immediately' : `after ${wait}`}`,
      summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '*$1*'),
      meaning,
      action,
    ];
  });
  return generatedPage(
    'docs/runbooks/README.md',
    ['src/app/alerts', 'docs/runbooks'],
    [
      '# Runbooks',
      'Each alert has a runbook that explains what the alert means, how to confirm it, its likely causes in order, what to do, and when to ignore it. `critical` alerts page the person on call, `warning` alerts can wait for working hours, and `info` alerts appear only on dashboards.',
      'In the commands, replace `docs` and `faq` with the pipeline and golden set of the alert, and `RUN` and `BASELINE` with run ids from `recalld runs list`. Run the PromQL queries on the Prometheus server that evaluates the alert rules.',
      table(['Alert', 'Severity', 'Title', 'First line', 'Action'], rows),
    ],
  );
}

const folder = path.resolve(import.meta.dirname, '../runbooks');

/** Reads the first paragraph and the actions of a runbook. */
function runbookOf(alert: string): { readonly meaning: string; readonly action: string } {
  const text = readFileSync(path.join(folder, `${alert}.md`), 'utf8');
  const [, meaning = ''] = /## What it means\n\n([\s\S]+?)\n\n/.exec(text) ?? [];
  const [, section = ''] = /## What to do\n\n([\s\S]+?)\n\n## /.exec(text) ?? [];
  const numbered = [...section.matchAll(/^\d+\. (.+)$/gm)].map(([, step = '']) => step);
  return {
    meaning: meaning.replaceAll(/\s+/g, ' '),
    action: numbered.length > 0 ? numbered.join(' ') : section.replaceAll(/\s+/g, ' '),
  };
}
