/**
 * Every recording and alert rule of recalld: the only place that says what calls whom. The rule files, the Kubernetes
 * manifests and the index of the runbooks are generated from here.
 */
import { checksGroup } from './checks.ts';
import { configuredGroup } from './configured.ts';
import { goldenGroup } from './golden.ts';
import { itselfGroup } from './itself.ts';
import { feedbackGroup, liveGroup } from './live.ts';
import { objectivesGroup } from './objectives.ts';
import { partsGroup } from './parts.ts';
import type { RuleGroup, RuleSettings } from './rule.ts';

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
