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
      'One page per alert: what it means, how to confirm it, its likely causes in order, what to do, when to ignore it. `critical` wakes somebody, `warning` waits for the morning, `info` is for who looks.',
      'In the commands, put the pipeline and the golden set of the alert in the place of `docs` and `faq`, and the id of a run, as `recalld runs list` shows it, in the place of `RUN` and `BASELINE`. The queries in PromQL are for the Prometheus that fired.',
      table(['Alert', 'Severity', 'Fires after', 'Says'], rows),
    ],
  );
}
