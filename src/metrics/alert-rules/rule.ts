/** What a rule is made of, before it becomes YAML. */
import type { Expression } from './promql.ts';

export type AlertSeverity = 'critical' | 'warning' | 'info' | 'none';

/** Dashboards that alerts link to, by the uid that Grafana knows them by. */
export const dashboardUids = {
  health: 'recalld-retrieval-health',
  golden: 'recalld-golden-set',
  density: 'recalld-density',
  live: 'recalld-live-traffic',
  itself: 'recalld-itself',
} as const;

export interface AlertRule {
  readonly alert: string;
  readonly severity: AlertSeverity;
  readonly expr: Expression;
  /** How long it must hold before it fires, such as `5m`. */
  readonly for?: string;
  /** How long it fires on after it last held, against flapping; left out, as long as recalld may take to restart. */
  readonly keepFiringFor?: string;
  /** Labels that each alert of the rule carries, beside those that the rule sets. */
  readonly by: readonly string[];
  /** Set by the rule, as when it is made for one pipeline. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly dashboard: keyof typeof dashboardUids;
  /** One line for the pager; may use the labels of `by`. */
  readonly summary: string;
  /** What holds, with numbers. */
  readonly description: string;
}

export interface RecordingRule {
  readonly record: string;
  readonly expr: Expression;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface RuleGroup {
  readonly name: string;
  readonly recordings: readonly RecordingRule[];
  readonly alerts: readonly AlertRule[];
}

export interface RuleSettings {
  readonly runbookBaseUrl: string;
  readonly dashboardBaseUrl: string;
  /** Where browsers reach recalld itself. */
  readonly consoleBaseUrl: string;
  /** The label `job` that Prometheus gives to the targets of recalld. */
  readonly scrapeJob: string;
  /** How long an alert on the scores of a run is held, so that one good run among bad ones does not resolve it. */
  readonly holdSeconds: number;
  readonly pipelines: readonly RulePipeline[];
}

export interface RulePipeline {
  readonly name: string;
  /** Golden sets that run by schedule. */
  readonly goldenSets: readonly string[];
  readonly objectives: readonly Objective[];
}

/** What share of live queries shall be good. */
export type Objective =
  | { readonly slo: 'success' | 'results'; readonly target: number; readonly windowDays: number }
  | {
      readonly slo: 'latency';
      readonly target: number;
      readonly withinSeconds: number;
      readonly windowDays: number;
    };

/** A duration as Prometheus writes it, in whole seconds, minutes or hours. */
export function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole % 3600 === 0) return `${whole / 3600}h`;
  return whole % 60 === 0 ? `${whole / 60}m` : `${whole}s`;
}
