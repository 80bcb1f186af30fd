/**
 * Every recording and alert rule of recalld: the only place that says what calls whom. The rule files, the Kubernetes
 * manifests and the index of the runbooks are generated from here.
 */
import { checksGroup } from '../../checks/alerts.ts';
import { goldenGroup } from '../../golden/alerts.ts';
import { objectivesGroup } from '../../golden/objectives.ts';
import { indexGroup } from '../../index-truth/alerts.ts';
import { judgingGroup } from '../../judging/alerts.ts';
import { feedbackGroup, liveGroup } from '../../live/alerts.ts';
import { type RuleGroup, type RuleSettings, series } from '../../metrics/alert-rules.ts';
import { metricCatalogue } from '../../metrics/catalogue.ts';
import { partsGroup } from '../../probes/alerts.ts';
import { recalldServiceGroup } from './recalld-service.ts';

/** What rules assume that are not made for a config. */
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

/** The groups of rules for some pipelines, without those that would be empty. */
export function ruleGroups(settings: RuleSettings): readonly RuleGroup[] {
  return [
    goldenGroup(settings),
    checksGroup(settings),
    liveGroup(),
    feedbackGroup(),
    partsGroup(),
    indexGroup(),
    judgingGroup(settings),
    objectivesGroup(settings),
    configuredGroup(settings),
    recalldServiceGroup(settings),
  ].filter(({ recordings, alerts }) => recordings.length + alerts.length > 0);
}

/** Gives series labels that annotations may use. */
function named(labels: Readonly<Record<string, string>>, expr: string): string {
  return Object.entries(labels).reduce(
    (inner, [label, value]) => `label_replace(${inner}, "${label}", ${JSON.stringify(value)}, "", "")`,
    expr,
  );
}

/** The summary of each alert rule, by its name. */
export function alertSummaries(): ReadonlyMap<string, string> {
  const alerts = ruleGroups(defaultRuleSettings).flatMap((group) => group.alerts);
  return new Map(alerts.map(({ alert, summary }) => [alert, summary]));
}

/** Alerts that only a config can give: what it names must be there, in every deployment of its job. */
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
      summary: 'No recalld watches a golden set of {{ $labels.pipeline }}.',
      description:
        'recalld runs, but for 10 minutes none of its replicas has known the golden set {{ $labels.golden_set }} of {{ $labels.pipeline }}, which these rules were made for.',
    })),
  );
  return { name: 'recalld-configured', recordings: [], alerts };
}
