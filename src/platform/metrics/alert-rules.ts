/** Types for alert and recording rules, and builders for their PromQL and template expressions. */
import type { LabelOf, labelValues, MetricName, MetricsOfType } from './catalogue.ts';

export type AlertSeverity = 'critical' | 'warning' | 'info' | 'none';

/** Grafana uids of the dashboards that alerts link to. */
export const dashboardUids = {
  health: 'recalld-retrieval-health',
  golden: 'recalld-golden-set',
  runs: 'recalld-golden-runs',
  queries: 'recalld-golden-queries',
  density: 'recalld-density',
  store: 'recalld-store',
  live: 'recalld-live-traffic',
  agents: 'recalld-agents',
  feedback: 'recalld-feedback',
  judged: 'recalld-judged-relevance',
  judge: 'recalld-judge',
  itself: 'recalld-itself',
} as const;

export interface AlertRule {
  readonly alert: string;
  readonly severity: AlertSeverity;
  readonly expr: Expression;
  /** How long the condition must be true before the alert fires, such as `5m`. */
  readonly for?: string;
  /**
   * How long the alert keeps firing after the condition was last true, to avoid flapping. The default is longer than a
   * restart of recalld.
   */
  readonly keepFiringFor?: string;
  /** Names of the labels that each alert has in addition to `labels`. */
  readonly by: readonly string[];
  /** Labels that the rule sets, for example the pipeline in a rule for one pipeline. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly dashboard: keyof typeof dashboardUids;
  /**
   * Alerts that make this alert redundant while they fire, and the labels that must match. The expression of this alert
   * excludes the series for which those alerts fire. Alertmanager's inhibition is not used, because Alertmanager never
   * reports an alert as resolved if the alert ends while it is inhibited.
   */
  readonly silentWhile?: { readonly alerts: readonly string[]; readonly on: readonly string[] };
  /** Title for a lock screen, identical for all alerts in a group. The title may use no label other than `pipeline`. */
  readonly summary: string;
  /** States what is wrong, with numbers, and what to do. */
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
  /** Base URL for runbooks. If null, runbook links point to the console, provided that its URL is known. */
  readonly runbookBaseUrl: string | null;
  /** If null, alerts do not link to a dashboard. */
  readonly dashboardBaseUrl: string | null;
  /** recalld's URL for browsers. If null, alerts and dashboards do not link to the console. */
  readonly consoleBaseUrl: string | null;
  /** Target labels that distinguish deployments monitored by the same Prometheus. */
  readonly groupLabels: readonly string[];
  /** Value of the label `job` of recalld's targets. */
  readonly scrapeJob: string;
  /** How long an alert on golden scores keeps firing, so that one good run among bad runs does not resolve it. */
  readonly holdSeconds: number;
  readonly pipelines: readonly RulePipeline[];
  /** Upper bounds of the histogram buckets for the latency of live queries, in seconds. */
  readonly latencyBuckets: readonly number[];
}

type LinkSettings = Pick<RuleSettings, 'runbookBaseUrl' | 'consoleBaseUrl'>;

/** Returns the URL of a runbook, which the console also serves; null if neither URL is known. */
export function runbookUrl({ runbookBaseUrl, consoleBaseUrl }: LinkSettings, alert: string): string | null {
  if (runbookBaseUrl !== null) return `${withoutSlash(runbookBaseUrl)}/${alert}.md`;
  return consoleBaseUrl === null ? null : `${withoutSlash(consoleBaseUrl)}/runbooks/${alert}`;
}

export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

export interface RulePipeline {
  readonly name: string;
  /** Golden sets with a schedule. */
  readonly goldenSets: readonly string[];
  readonly objectives: readonly Objective[];
}

/** An objective for live queries; `target` is the share of queries that must meet the objective. */
export type Objective =
  | { readonly slo: 'success' | 'results'; readonly target: number; readonly windowDays: number }
  | {
      readonly slo: 'latency';
      readonly target: number;
      readonly withinSeconds: number;
      readonly windowDays: number;
    };

/** Formats a duration for Prometheus, in whole seconds, minutes or hours. */
export function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole % 3600 === 0) return `${whole / 3600}h`;
  return whole % 60 === 0 ? `${whole / 60}m` : `${whole}s`;
}

/** A PromQL expression or part of one, or a duration such as `5m`. */
type Expression = string;

/**
 * Adds the group labels to every `by` and `on` in an expression, so that deployments stay separate. A rule lists only
 * its other labels (`by ()` or `on ()` if it has no others), so no rule can omit the group labels.
 */
export function withGroupLabels(expr: Expression, groupLabels: readonly string[]): Expression {
  return expr.replaceAll(/\b(by|on) \(([\w, ]*)\)/g, (_, word: string, labels: string) => {
    const own = labels === '' ? [] : labels.split(', ');
    return `${word} (${[...groupLabels, ...own].join(', ')})`;
  });
}

/** Excludes series for which one of the alerts is firing. */
export function unlessFiring(expr: Expression, { alerts, on }: NonNullable<AlertRule['silentWhile']>): Expression {
  const firing = `ALERTS{alertname=~${JSON.stringify(alerts.join('|'))}, alertstate="firing"}`;
  return `(\n${expr}\n)\nunless on (${on.join(', ')}) ${firing}`;
}

/** For annotations: assigns the alert's label selector to a variable. */
export function selectorVariable(variable: string, groupLabels: readonly string[], labels: readonly string[]): string {
  const all = [...groupLabels, ...labels];
  const values = all.map((label) => `$labels.${label}`).join(' ');
  return `{{ ${variable} := printf "{${all.map((label) => `${label}=%q`).join(',')}}" ${values} }}`;
}

/** For annotations: if the series exists, shows `then` with the query result as `.`; if not, shows `otherwise`. */
export function ifSeries(variable: string, metric: string, then: string, otherwise = ''): string {
  const or = otherwise === '' ? '' : `{{ else }}${otherwise}`;
  return `{{ with query (print "${metric}" ${variable}) }}${then}${or}{{ end }}`;
}

/** For annotations: formats `.`, a Unix time, as `19:15 UTC on 2026-11-20`. */
export const utcTime = String.raw`{{ . | first | value | humanizeTimestamp | reReplaceAll "^(\\S+) (\\d\\d:\\d\\d).*$" "$2 UTC on $1" }}`;

/**
 * For annotations: states when the condition was last true. While an alert fires only because of `keep_firing_for`,
 * Prometheus does not update the alert's text, but Alertmanager may send the text again. Without a time, the repeated
 * text would report an ended fault as if it were current.
 */
export const asOf = `{{ with query "time()" }}As of ${utcTime}.{{ end }}`;

type ValueOf<Name extends MetricName, Label> = Name extends keyof typeof labelValues
  ? Label extends keyof (typeof labelValues)[Name]
    ? (typeof labelValues)[Name][Label] extends readonly (infer Value)[]
      ? Value
      : string
    : string
  : string;

/** A regular expression that the whole value must, or must not, match. */
export type Pattern = { readonly matches: string } | { readonly differsFrom: string };

/** Conditions, keyed by label: one value, a list of allowed values, or a pattern. */
type Matchers<Name extends MetricName> = {
  readonly [Label in LabelOf<Name>]?: ValueOf<Name, Label> | readonly ValueOf<Name, Label>[] | Pattern;
};

/** Labels of the metric, or of the replica that exported it. */
type GroupLabel<Name extends MetricName> = LabelOf<Name> | 'instance';

/** `name{label="value"}` */
export function series<Name extends MetricName>(name: Name, matchers: Matchers<Name> = {}): Expression {
  return selector(name, matchers);
}

/**
 * Maximum of a gauge over all replicas, which export equal values. `ago`: how long before the evaluation the gauge is
 * read.
 */
export function maxBy<Name extends MetricsOfType<'gauge'>>(
  labels: readonly GroupLabel<Name>[],
  name: Name,
  matchers: Matchers<Name> = {},
  ago: Expression | null = null,
): Expression {
  const offset = ago === null ? '' : ` offset ${ago}`;
  return `max by (${labels.join(', ')}) (${selector(name, matchers)}${offset})`;
}

/** Increase over all replicas within a window such as `1h`. `ago`: how long before the evaluation the window ends. */
export function increaseBy<Name extends MetricsOfType<'counter'>>(
  labels: readonly GroupLabel<Name>[],
  name: Name,
  window: Expression,
  matchers: Matchers<Name> = {},
  ago: Expression | null = null,
): Expression {
  const offset = ago === null ? '' : ` offset ${ago}`;
  return `sum by (${labels.join(', ')}) (increase(${selector(name, matchers)}[${window}]${offset}))`;
}

/** Rate per second over all replicas, in a window such as `5m`. */
export function rateBy<Name extends MetricsOfType<'counter'>>(
  labels: readonly GroupLabel<Name>[],
  name: Name,
  window: Expression,
  matchers: Matchers<Name> = {},
): Expression {
  return `sum by (${labels.join(', ')}) (rate(${selector(name, matchers)}[${window}]))`;
}

/**
 * Rate of histogram observations per second, over all replicas: all observations, or only those up to the limit of a
 * bucket.
 */
export function observedBy<Name extends MetricsOfType<'histogram'>>(
  labels: readonly LabelOf<Name>[],
  name: Name,
  window: Expression,
  matchers: Matchers<Name>,
  below: number | null,
): Expression {
  const chosen =
    below === null
      ? selector(`${name}_count`, matchers)
      : selector(`${name}_bucket`, { ...matchers, le: limitOf(below) });
  return `sum by (${labels.join(', ')}) (rate(${chosen}[${window}]))`;
}

/** Histogram quantile over all replicas. */
export function quantileBy<Name extends MetricsOfType<'histogram'>>(
  quantile: number,
  labels: readonly GroupLabel<Name>[],
  name: Name,
  window: Expression,
): Expression {
  return `histogram_quantile(${quantile}, sum by (${[...labels, 'le'].join(', ')}) (rate(${name}_bucket[${window}])))`;
}

/**
 * Positive increase of a counter within a window. A counter with labels does not exist before its first event, so
 * `increase` does not count that event. The counter's absence before the window reveals that first event, unless
 * Prometheus was not scraping recalld at that time. The counter's maximum within the window also counts events before a
 * restart, which sets the counter to 0.
 */
export function anyCountedBy<Name extends MetricsOfType<'counter'>>(
  labels: readonly GroupLabel<Name>[],
  name: Name,
  window: Expression,
  matchers: Matchers<Name> = {},
): Expression {
  const counter = selector(name, matchers);
  const appeared = `max_over_time(${counter}[${window}]) unless ${counter} offset ${window} and on () ${selector('recalld_build_info', {})} offset ${window}`;
  return [
    `sum by (${labels.join(', ')}) (${appeared}) > 0`,
    `or ${increaseBy(labels, name, window, matchers)} > 0`,
  ].join('\n');
}

/** `part / whole` if the whole is positive; a missing part counts as 0. */
export function ratio(part: Expression, whole: Expression): Expression {
  return `(${part} or 0 * ${whole}) / (${whole} > 0)`;
}

/** Prometheus 2 keeps a bucket's limit as written; Prometheus 3 writes `1` as `1.0`. */
function limitOf(below: number): string | Pattern {
  return Number.isInteger(below) ? { matches: String.raw`${below}(\.0)?` } : String(below);
}

function selector(name: string, matchers: Readonly<Record<string, unknown>>): Expression {
  const conditions = Object.entries(matchers).map(([label, wanted]) => condition(label, wanted));
  return conditions.length === 0 ? name : `${name}{${conditions.join(', ')}}`;
}

function condition(label: string, wanted: unknown): string {
  if (typeof wanted === 'string') return `${label}=${JSON.stringify(wanted)}`;
  if (Array.isArray(wanted)) return `${label}=~${JSON.stringify(wanted.join('|'))}`;
  const pattern = wanted as Pattern;
  return 'matches' in pattern
    ? `${label}=~${JSON.stringify(pattern.matches)}`
    : `${label}!~${JSON.stringify(pattern.differsFrom)}`;
}
