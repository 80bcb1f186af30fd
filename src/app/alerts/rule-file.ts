/** Rules -> the documents that Prometheus and its Kubernetes operator read, to be written as YAML. */

import { type AlertRule, dashboardUids, type RecordingRule, type RuleSettings } from '../../metrics/alert-rules.ts';
import { ruleGroups } from './rule-catalogue.ts';

interface RuleDocument {
  readonly groups: readonly { readonly name: string; readonly rules: readonly object[] }[];
}

/** A rule file of Prometheus. */
export function ruleFile(settings: RuleSettings): RuleDocument {
  return {
    groups: ruleGroups(settings).map(({ name, recordings, alerts }) => ({
      name,
      rules: [...recordings.map(recordingRule), ...alerts.map((alert) => alertRule(alert, settings))],
    })),
  };
}

/** The same rules as a manifest of the Prometheus Operator. */
export function prometheusRule(settings: RuleSettings): object {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'recalld', labels: { 'app.kubernetes.io/name': 'recalld' } },
    spec: ruleFile(settings),
  };
}

/** A scrape that fails ends every series at once; an alert shall outlive a restart. */
const RESTART = '5m';

function recordingRule({ record, expr, labels }: RecordingRule): object {
  return { record, expr, ...(labels === undefined ? {} : { labels }) };
}

function alertRule(rule: AlertRule, settings: RuleSettings): object {
  return {
    alert: rule.alert,
    expr: rule.expr,
    ...(rule.for === undefined ? {} : { for: rule.for }),
    keep_firing_for: rule.keepFiringFor ?? RESTART,
    labels: { severity: rule.severity, ...rule.labels },
    annotations: {
      summary: rule.summary,
      description: rule.description,
      runbook_url: `${withoutSlash(settings.runbookBaseUrl)}/${rule.alert}.md`,
      dashboard_url: dashboardUrl(rule, settings),
      ...pipelineAnnotations(rule, settings),
    },
  };
}

/** What is likely behind it, as it is when the alert fires or is sent again, and where one sees the evidence. */
const diagnosis =
  '{{ with printf "recalld_diagnosis_info{pipeline=%q}" $labels.pipeline | query }}' +
  'Likely cause: {{ . | first | label "cause" | reReplaceAll "_" " " }} ({{ . | first | label "confidence" }} confidence).' +
  '{{ else }}Not diagnosed.{{ end }}';

/** Of alerts on what recalld watches; those on recalld itself have no cause in a pipeline. */
function pipelineAnnotations(rule: AlertRule, settings: RuleSettings): object {
  if (!rule.by.includes('pipeline') || rule.dashboard === 'itself') return {};
  return {
    diagnosis,
    console_url: `${withoutSlash(settings.consoleBaseUrl)}/pipelines/{{ $labels.pipeline }}`,
  };
}

/** Opens at what the alert is about. Names of pipelines and sets need no escaping in a URL. */
function dashboardUrl(rule: AlertRule, settings: RuleSettings): string {
  const variables = (['pipeline', 'golden_set'] as const)
    .filter((label) => rule.by.includes(label))
    .map((label) => `var-${label}={{ $labels.${label} }}`);
  const query = variables.length === 0 ? '' : `?${variables.join('&')}`;
  return `${withoutSlash(settings.dashboardBaseUrl)}/d/${dashboardUids[rule.dashboard]}${query}`;
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
