/**
 * Every recording and alert rule of recalld: the only place that says what calls whom. The rule files, the Kubernetes
 * manifests and the index of the runbooks are generated from here.
 */
import { checksGroup } from '../../checks/alerts.ts';
import { goldenGroup } from '../../golden/alerts.ts';
import { objectivesGroup } from '../../golden/objectives.ts';
import { feedbackGroup, liveGroup } from '../../live/alerts.ts';
import { type RuleGroup, type RuleSettings, series } from '../../metrics/alert-rules.ts';
import { partsGroup } from '../../probes/alerts.ts';
import { itselfGroup } from './recalld-service.ts';

/** What rules assume that are not made for a config. */
export const defaultRuleSettings: RuleSettings = {
  runbookBaseUrl: 'https://runbooks.example.com/recalld',
  dashboardBaseUrl: 'http://localhost:3000',
  consoleBaseUrl: 'http://localhost:8321',
  scrapeJob: 'recalld',
  holdSeconds: 5400,
  pipelines: [],
};

/** The groups of rules for some pipelines, without those that would be empty. */
export function ruleGroups(settings: RuleSettings): readonly RuleGroup[] {
  return [
    goldenGroup(settings),
    checksGroup(settings),
    liveGroup(),
    feedbackGroup(),
    partsGroup(),
    objectivesGroup(settings),
    configuredGroup(settings),
    itselfGroup(settings),
  ].filter(({ recordings, alerts }) => recordings.length + alerts.length > 0);
}

/** Alerts that only a config can give: what it names must be there. */
function configuredGroup({ pipelines }: RuleSettings): RuleGroup {
  const alerts = pipelines.flatMap(({ name, goldenSets }) =>
    goldenSets.map((goldenSet) => ({
      alert: 'RecalldPipelineMissing',
      severity: 'critical' as const,
      expr: `absent(${series('recalld_golden_run_interval_seconds', { pipeline: name, golden_set: goldenSet })})
and on () group(${series('recalld_build_info')})`,
      for: '10m',
      by: ['pipeline', 'golden_set'],
      labels: { pipeline: name, golden_set: goldenSet },
      dashboard: 'health' as const,
      summary: 'No recalld watches {{ $labels.golden_set }} on {{ $labels.pipeline }}.',
      description:
        'recalld runs, but for 10 minutes none of its replicas has known the golden set {{ $labels.golden_set }} of {{ $labels.pipeline }} (absent = {{ $value }}), which these rules were made for.',
    })),
  );
  return { name: 'recalld-configured', recordings: [], alerts };
}
