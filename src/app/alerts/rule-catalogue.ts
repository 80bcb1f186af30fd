/**
 * Every recording and alert rule of recalld: the only place that says what calls whom. The rule files, the Kubernetes
 * manifests and the index of the runbooks are generated from here.
 */
import { checksGroup } from '../../checks/alerts.ts';
import { goldenGroup } from '../../golden/alerts.ts';
import { objectivesGroup } from '../../golden/objectives.ts';
import { feedbackGroup, liveGroup } from '../../live/alerts.ts';
import type { RuleGroup, RuleSettings } from '../../metrics/alert-rules.ts';
import { partsGroup } from '../../probes/alerts.ts';
import { configuredGroup } from './configured-rules.ts';
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
