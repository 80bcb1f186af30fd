import { RecalldError } from '../../core/errors.ts';
import { objectiveProblems } from '../../golden/objectives.ts';
import { longestGapSeconds } from '../../math/schedule/occurrences.ts';
import type { Objective, RulePipeline, RuleSettings } from '../../platform/metrics/alert-rules.ts';
import { defaultRuleSettings, prometheusRule, ruleFile } from '../alerts/rule-file.ts';
import type { Config, PipelineConfig } from '../config/schema.ts';

export type RuleFormat = 'rules' | 'crd';

/** @throws RecalldError config_invalid if the config has an objective that no alert can monitor */
export function createAlertRules(config: Config, format: RuleFormat) {
  const settings = ruleSettings(config);
  const { impossible, omitted } = objectiveProblems(settings);
  if (impossible.length > 0) throw new RecalldError('config_invalid', impossible.join('\n'));
  return {
    document: format === 'crd' ? prometheusRule(settings) : ruleFile(settings),
    /** Sentences that explain to the user what the rules omit, and why. */
    notes: [...omitted, ...missingLinks(config, 'alerts')],
  };
}

/** Returns one sentence per kind of link that the generated files lack. */
export function missingLinks({ alerts }: Config, files: 'alerts' | 'dashboards'): string[] {
  const runbooks = alerts.runbook_base_url === null ? ' or its runbooks' : '';
  const notes: string[] = [];
  if (alerts.console_base_url === null)
    notes.push(`alerts.console_base_url is not set: ${files} do not link to the console${runbooks}.`);
  if (alerts.dashboard_base_url === null && files === 'alerts')
    notes.push('alerts.dashboard_base_url is not set: alerts do not link to a dashboard.');
  return notes;
}

export function ruleSettings(config: Config): RuleSettings {
  return {
    runbookBaseUrl: config.alerts.runbook_base_url,
    dashboardBaseUrl: config.alerts.dashboard_base_url,
    consoleBaseUrl: config.alerts.console_base_url,
    scrapeJob: config.alerts.scrape_job,
    groupLabels: config.alerts.group_labels,
    holdSeconds: holdSeconds(config),
    pipelines: config.pipelines.map(rulePipeline),
    latencyBuckets: config.metrics.latency_buckets,
  };
}

function rulePipeline(pipeline: PipelineConfig): RulePipeline {
  return {
    name: pipeline.name,
    goldenSets: pipeline.golden.filter(({ cron }) => cron !== undefined).map(({ set }) => set),
    objectives: objectivesOf(pipeline.slo),
  };
}

function objectivesOf(slo: PipelineConfig['slo']): Objective[] {
  if (slo === undefined) return [];
  const windowDays = slo.window_days;
  const shares = (['success', 'results'] as const).flatMap((name): Objective[] => {
    const target = slo[name];
    return target === undefined ? [] : [{ slo: name, target, windowDays }];
  });
  if (slo.latency === undefined) return shares;
  const { target, within_seconds: withinSeconds } = slo.latency;
  return [...shares, { slo: 'latency', target, withinSeconds, windowDays }];
}

const MIN_HOLD_SECONDS = 600;
const MAX_HOLD_SECONDS = 21_600;

/**
 * Returns how long an alert on golden scores keeps firing: 1.5 times the longest interval between golden runs, within
 * limits. This covers the wait for the next run, but not for the run after it.
 */
function holdSeconds(config: Config): number {
  const intervals = config.pipelines.flatMap(({ golden }) =>
    golden.flatMap(({ cron, timezone }) =>
      cron === undefined ? [] : [longestGapSeconds({ expression: cron, timezone }, new Date())],
    ),
  );
  if (intervals.length === 0) return defaultRuleSettings.holdSeconds;
  return Math.min(MAX_HOLD_SECONDS, Math.max(MIN_HOLD_SECONDS, 1.5 * Math.max(...intervals)));
}
