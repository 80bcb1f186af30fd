/** All recording and alert rules, as a Prometheus rule file and as a PrometheusRule for the Prometheus Operator. */

import { checksGroup } from '../../checks/edge/alerts.ts';
import { goldenGroup } from '../../golden/edge/alerts.ts';
import { objectivesGroup } from '../../golden/objectives.ts';
import { probesGroup } from '../../index/probes/alerts.ts';
import { indexGroup } from '../../index/truth/edge/alerts.ts';
import { judgingGroup } from '../../judging/edge/alerts.ts';
import { feedbackGroup, liveGroup } from '../../live/edge/alerts.ts';
import { measuresGroup } from '../../measures/alerts.ts';
import {
  type AlertRule,
  asOf,
  dashboardUids,
  ifSeries,
  maxBy,
  type RecordingRule,
  type RuleGroup,
  type RuleSettings,
  runbookUrl,
  selectorVariable,
  series,
  unlessFiring,
  withGroupLabels,
  withoutSlash,
} from '../../platform/metrics/alert-rules.ts';
import { metricCatalogue } from '../../platform/metrics/catalogue.ts';
import { recalldServiceGroup } from './recalld-service.ts';

interface RuleDocument {
  readonly groups: readonly { readonly name: string; readonly rules: readonly object[] }[];
}

export function ruleFile(settings: RuleSettings): RuleDocument {
  return {
    groups: ruleGroups(settings).map(({ name, recordings, alerts }) => ({
      name,
      rules: [
        ...recordings.map((recording) => recordingRule(recording, settings)),
        ...alerts.map((alert) => alertRule(alert, settings)),
      ],
    })),
  };
}

export function prometheusRule(settings: RuleSettings): object {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'recalld', labels: { 'app.kubernetes.io/name': 'recalld' } },
    spec: ruleFile(settings),
  };
}

/**
 * How long alerts keep firing after their series end. A restart is shorter, so it resolves no alert, although one
 * failed scrape ends every series.
 */
const RESTART = '5m';

function recordingRule({ record, expr, labels }: RecordingRule, { groupLabels }: RuleSettings): object {
  return { record, expr: withGroupLabels(expr, groupLabels), ...(labels === undefined ? {} : { labels }) };
}

/** Excludes pipelines that a user silenced. Alerts on recalld itself are never silenced. */
function unlessSilenced(expr: string): string {
  return `(\n${expr}\n)\nunless on (pipeline) ${maxBy(['pipeline'], 'recalld_silenced')} == 1`;
}

function alertRule(rule: AlertRule, settings: RuleSettings): object {
  const { silentWhile } = rule;
  const firing = silentWhile === undefined ? rule.expr : unlessFiring(rule.expr, silentWhile);
  return {
    alert: rule.alert,
    expr: withGroupLabels(isOfPipeline(rule) ? unlessSilenced(firing) : firing, settings.groupLabels),
    ...(rule.for === undefined ? {} : { for: rule.for }),
    keep_firing_for: rule.keepFiringFor ?? RESTART,
    labels: { severity: rule.severity, ...rule.labels },
    annotations: {
      summary: rule.summary,
      description: `${rule.description} ${asOf}`,
      ...links(rule, settings),
      ...(isOfPipeline(rule) ? { diagnosis: diagnosis(settings) } : {}),
    },
  };
}

/** True for alerts on a pipeline; false for alerts about recalld itself, which no single pipeline causes. */
function isOfPipeline({ by, dashboard }: AlertRule): boolean {
  return by.includes('pipeline') && dashboard !== 'itself';
}

/** Returns an alert template that shows the likely cause known at the time when the alert is sent or re-sent. */
function diagnosis({ groupLabels }: RuleSettings): string {
  const cause =
    'Likely cause: {{ . | first | label "cause" | reReplaceAll "_" " " }} ({{ . | first | label "confidence" }} confidence).';
  return `${selectorVariable('$of', groupLabels, ['pipeline'])}${ifSeries('$of', 'recalld_diagnosis_info', cause, 'Cause not yet known.')}`;
}

/** Returns the links whose base URL is configured. */
function links(rule: AlertRule, settings: RuleSettings): Readonly<Record<string, string>> {
  const console = settings.consoleBaseUrl && withoutSlash(settings.consoleBaseUrl);
  const dashboards = settings.dashboardBaseUrl && withoutSlash(settings.dashboardBaseUrl);
  const found = {
    runbook_url: runbookUrl(settings, rule.alert),
    dashboard_url: dashboards && `${dashboards}${dashboardPath(rule, settings)}`,
    console_url: console && (isOfPipeline(rule) ? `${console}/pipelines/{{ $labels.pipeline }}` : `${console}/`),
  };
  return Object.fromEntries(Object.entries(found).flatMap(([name, url]) => (url === null ? [] : [[name, url]])));
}

/**
 * Returns the path of a dashboard whose variables are set to the alert's labels. Pipeline and set names need no
 * escaping.
 */
function dashboardPath(rule: AlertRule, { groupLabels }: RuleSettings): string {
  const named = (['pipeline', 'golden_set'] as const).filter((label) => rule.by.includes(label));
  const variables = [...(rule.by.length === 0 ? [] : groupLabels), ...named].map(
    (label) => `var-${label}={{ $labels.${label} }}`,
  );
  const query = variables.length === 0 ? '' : `?${variables.join('&')}`;
  return `/d/${dashboardUids[rule.dashboard]}${query}`;
}

/** Settings for rules that are generated without a config. */
export const defaultRuleSettings: RuleSettings = {
  runbookBaseUrl: null,
  dashboardBaseUrl: null,
  consoleBaseUrl: null,
  scrapeJob: 'recalld',
  groupLabels: ['job'],
  holdSeconds: 5400,
  pipelines: [],
  latencyBuckets: metricCatalogue.recalld_query_latency_seconds.buckets,
};

export function ruleGroups(settings: RuleSettings): readonly RuleGroup[] {
  return [
    goldenGroup(settings),
    checksGroup(settings),
    liveGroup(),
    feedbackGroup(),
    measuresGroup(settings),
    probesGroup(),
    indexGroup(),
    judgingGroup(settings),
    objectivesGroup(settings),
    configuredGroup(settings),
    recalldServiceGroup(settings),
  ].filter(({ recordings, alerts }) => recordings.length + alerts.length > 0);
}

/** Adds labels to a series, for use in annotations. */
function named(labels: Readonly<Record<string, string>>, expr: string): string {
  return Object.entries(labels).reduce(
    (inner, [label, value]) => `label_replace(${inner}, "${label}", ${JSON.stringify(value)}, "", "")`,
    expr,
  );
}

function configuredGroup({ pipelines, scrapeJob }: RuleSettings): RuleGroup {
  const alerts = pipelines.flatMap(({ name, goldenSets }) =>
    goldenSets.map((goldenSet) => ({
      alert: 'RecalldPipelineMissing',
      severity: 'critical' as const,
      expr: named(
        { pipeline: name, golden_set: goldenSet },
        `group by () (recalld_build_info{job=${JSON.stringify(scrapeJob)}})
unless on () group by () (${series('recalld_golden_run_interval_seconds', { pipeline: name, golden_set: goldenSet })})`,
      ),
      for: '10m',
      by: ['pipeline', 'golden_set'],
      labels: { pipeline: name, golden_set: goldenSet },
      dashboard: 'health' as const,
      summary: "{{ $labels.pipeline }}: a golden set is missing from recalld's config",
      description:
        'For 10 minutes, recalld has been running with a config that lacks the golden set {{ $labels.golden_set }} of {{ $labels.pipeline }}, for which these alert rules were generated. Add the golden set to the config, or regenerate the rules.',
    })),
  );
  return { name: 'recalld-configured', recordings: [], alerts };
}
