/** docs/runbooks/README.md: every alert, with its severity and its page. */
import { defaultRuleSettings, ruleGroups } from '../../src/app/alerts/rule-file.ts';
import type { AlertRule, RulePipeline } from '../../src/platform/metrics/alert-rules.ts';
import { generatedPage, type Page, table } from './page.ts';

/** A pipeline with all that a config may ask for, so that no alert is left out. */
const everything: RulePipeline = {
  name: 'docs',
  goldenSets: ['faq'],
  objectives: [{ slo: 'success', target: 0.99, windowDays: 30 }],
};

/** Each alert once, in order. */
export function documentedAlerts(): readonly AlertRule[] {
  const alerts = ruleGroups({ ...defaultRuleSettings, pipelines: [everything] }).flatMap((group) => group.alerts);
  return [...new Map(alerts.map((alert) => [alert.alert, alert])).values()];
}

export function runbooksPage(): Page {
  const rows = documentedAlerts().map(({ alert, severity, for: wait, summary }) => [
    `[${alert}](${alert}.md)`,
    severity,
    wait ?? 'at once',
    summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '*$1*'),
  ]);
  return generatedPage(
    'docs/runbooks/README.md',
    ['src/app/alerts'],
    [
      '# Runbooks',
      'One page per alert: its meaning, how to confirm it, likely causes in order, what to do, and when to ignore it. `critical` pages, `warning` opens a ticket, `info` only appears in dashboards.',
      'In the commands, replace `docs` and `faq` by the pipeline and golden set of the alert, and `RUN` and `BASELINE` by run ids from `recalld runs list`. Run PromQL queries in the Prometheus that fired.',
      table(['Alert', 'Severity', 'Fires after', 'Says'], rows),
    ],
  );
}
