/** What an alert rule is made of, its PromQL included, before it becomes YAML. */
import type { LabelsOf, labelValues, MetricName, MetricsOfType } from './catalogue.ts';

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
  /**
   * Alerts while which it is silent, since they tell the same and more, and the labels by which they are about the same.
   * The rule itself keeps silent, and Alertmanager inhibits nothing: an alert that ends while it is inhibited is never
   * told to have ended.
   */
  readonly silentWhile?: { readonly alerts: readonly string[]; readonly on: readonly string[] };
  /** One line for the pager, the same for all alerts of a group: of labels it may use `pipeline` alone. */
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
  /** Where the runbooks are served; null: by the console, where that is known. */
  readonly runbookBaseUrl: string | null;
  /** Null: alerts link to no dashboard. */
  readonly dashboardBaseUrl: string | null;
  /** Where browsers reach recalld itself; null: alerts do not link to it. */
  readonly consoleBaseUrl: string | null;
  /** Labels of the targets by which one deployment differs from another under the same Prometheus. */
  readonly groupLabels: readonly string[];
  /** The label `job` that Prometheus gives to the targets of recalld. */
  readonly scrapeJob: string;
  /** How long an alert on the scores of a run is held, so that one good run among bad ones does not resolve it. */
  readonly holdSeconds: number;
  readonly pipelines: readonly RulePipeline[];
  /** Seconds that the histogram of the latency of live queries tells apart. */
  readonly latencyBuckets: readonly number[];
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

/** A part of PromQL or a time such as `5m`. */
type Expression = string;

/**
 * Keeps deployments apart: what an expression groups or matches by, it groups and matches by these labels too. So that no
 * rule forgets them, rules are written without, and with `by ()` and `on ()` where there is nothing else.
 */
export function apart(expr: Expression, groupLabels: readonly string[]): Expression {
  return expr.replaceAll(/\b(by|on) \(([\w, ]*)\)/g, (_, word: string, labels: string) => {
    const own = labels === '' ? [] : labels.split(', ');
    return `${word} (${[...groupLabels, ...own].join(', ')})`;
  });
}

/** Silent while one of those alerts fires about the same. */
export function unlessTold(expr: Expression, { alerts, on }: NonNullable<AlertRule['silentWhile']>): Expression {
  const firing = `ALERTS{alertname=~${JSON.stringify(alerts.join('|'))}, alertstate="firing"}`;
  return `(\n${expr}\n)\nunless on (${on.join(', ')}) ${firing}`;
}

/** For annotations: puts the selector of the series that the alert is about into a variable. */
export function ofAlert(variable: string, groupLabels: readonly string[], labels: readonly string[]): string {
  const all = [...groupLabels, ...labels];
  const values = all.map((label) => `$labels.${label}`).join(' ');
  return `{{ ${variable} := printf "{${all.map((label) => `${label}=%q`).join(',')}}" ${values} }}`;
}

/** For annotations: what there is to say where such a series exists, as `.`, and where there is none. */
export function asked(variable: string, metric: string, then: string, otherwise = ''): string {
  const or = otherwise === '' ? '' : `{{ else }}${otherwise}`;
  return `{{ with query (print "${metric}" ${variable}) }}${then}${or}{{ end }}`;
}

/** For annotations: `.`, a Unix time, as people write it: `19:15 UTC on 2026-11-20`. */
export const moment = String.raw`{{ . | first | value | humanizeTimestamp | reReplaceAll "^(\\S+) (\\d\\d:\\d\\d).*$" "$2 UTC on $1" }}`;

/**
 * For annotations: when the condition last held. Prometheus leaves the text of an alert as it was while it is only kept
 * firing, and Alertmanager sends it again with its group: without a time it would report a fault that is over.
 */
export const asOf = `{{ with query "time()" }}As of ${moment}.{{ end }}`;

type LabelOf<Name extends MetricName> = keyof LabelsOf<Name> & string;

type ValueOf<Name extends MetricName, Label> = Name extends keyof typeof labelValues
  ? Label extends keyof (typeof labelValues)[Name]
    ? (typeof labelValues)[Name][Label] extends readonly (infer Value)[]
      ? Value
      : string
    : string
  : string;

/** A regular expression that the whole value must match, or must not. */
export type Pattern = { readonly matches: string } | { readonly differsFrom: string };

/** A value, several of which one must hold, or a pattern, by label. */
type Matchers<Name extends MetricName> = {
  readonly [Label in LabelOf<Name>]?: ValueOf<Name, Label> | readonly ValueOf<Name, Label>[] | Pattern;
};

/** What series may be grouped by: the labels of the metric, or the replica that exported it. */
type GroupLabel<Name extends MetricName> = LabelOf<Name> | 'instance';

/** `name{label="value"}` */
export function series<Name extends MetricName>(name: Name, matchers: Matchers<Name> = {}): Expression {
  return selector(name, matchers);
}

/** The gauge, once for any number of replicas: they export equal values. As it is, or as it was `ago`. */
export function maxBy<Name extends MetricsOfType<'gauge'>>(
  labels: readonly GroupLabel<Name>[],
  name: Name,
  matchers: Matchers<Name> = {},
  ago: Expression | null = null,
): Expression {
  const offset = ago === null ? '' : ` offset ${ago}`;
  return `max by (${labels.join(', ')}) (${selector(name, matchers)}${offset})`;
}

/** What was counted by all replicas within a window such as `1h`, or within such a window that ended `ago`. */
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

/** How often a second it was counted by all replicas, over a window such as `5m`. */
export function rateBy<Name extends MetricsOfType<'counter'>>(
  labels: readonly GroupLabel<Name>[],
  name: Name,
  window: Expression,
  matchers: Matchers<Name> = {},
): Expression {
  return `sum by (${labels.join(', ')}) (rate(${selector(name, matchers)}[${window}]))`;
}

/** Observations a second of a histogram over all replicas, `below` a bucket's limit or all of them. */
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

/** A quantile of a histogram over all replicas. */
export function quantileBy<Name extends MetricsOfType<'histogram'>>(
  quantile: number,
  labels: readonly LabelOf<Name>[],
  name: Name,
  window: Expression,
): Expression {
  return `histogram_quantile(${quantile}, sum by (${[...labels, 'le'].join(', ')}) (rate(${name}_bucket[${window}])))`;
}

/**
 * What was counted within a window, more than nothing. A counter with labels appears with its first event, which
 * `increase` cannot see; that it was not there before tells, unless Prometheus itself was not.
 */
export function anyCountedBy<Name extends MetricsOfType<'counter'>>(
  labels: readonly GroupLabel<Name>[],
  name: Name,
  window: Expression,
  matchers: Matchers<Name> = {},
): Expression {
  const counter = selector(name, matchers);
  const appeared = `${counter} unless ${counter} offset ${window} and on () ${selector('recalld_build_info', {})} offset ${window}`;
  return [
    `sum by (${labels.join(', ')}) (${appeared}) > 0`,
    `or ${increaseBy(labels, name, window, matchers)} > 0`,
  ].join('\n');
}

/** `part / whole` where there is any of the whole, and 0 where there is none of the part. */
export function ratio(part: Expression, whole: Expression): Expression {
  return `(${part} or 0 * ${whole}) / (${whole} > 0)`;
}

/** Prometheus 2 keeps the limit of a bucket as it is written, 3 writes `1` as `1.0`. */
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
