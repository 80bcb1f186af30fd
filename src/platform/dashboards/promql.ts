/**
 * The PromQL of panels, and where dashboards lead to. Every expression keeps to the chosen job, instances, pipelines
 * and golden sets, and names of metrics and labels are checked against the catalogue by the compiler.
 */
import type { Builder, Dataquery } from '@grafana/grafana-foundation-sdk/cog';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import {
  type LabelsOf,
  type MetricName,
  type MetricsOfType,
  metricCatalogue,
  type StoredMetric,
} from '../metrics/catalogue.ts';

/** The variables of a dashboard that hold its data sources. */
export const prometheusSource = { type: 'prometheus', uid: '${datasource}' } as const;
export const postgresSource = { type: 'grafana-postgresql-datasource', uid: '${postgres}' } as const;

export interface PromQuery {
  readonly expr: string;
  /** Name of the series, with its labels in double braces. */
  readonly legend?: string;
}

/** Values over time, lettered in order. */
export function ranges(queries: readonly PromQuery[]): Builder<Dataquery>[] {
  return queries.map((query, index) => prometheusQuery(query, index).range());
}

/** The latest values. */
export function latest(queries: readonly PromQuery[]): Builder<Dataquery>[] {
  return queries.map((query, index) => prometheusQuery(query, index).instant());
}

/** The latest values as rows with a column per label. */
export function latestRows(queries: readonly PromQuery[]): Builder<Dataquery>[] {
  return queries.map((query, index) => prometheusQuery(query, index).instant().format(PromQueryFormat.Table));
}

/** Buckets of a histogram over time. */
export function heatmapOf(expr: string): Builder<Dataquery> {
  return prometheusQuery({ expr, legend: '{{le}}' }, 0).range().format(PromQueryFormat.Heatmap);
}

function prometheusQuery({ expr, legend = '__auto' }: PromQuery, index: number): DataqueryBuilder {
  return new DataqueryBuilder()
    .refId(String.fromCodePoint(65 + index))
    .datasource(prometheusSource)
    .expr(expr)
    .legendFormat(legend);
}

interface SqlQuery extends Dataquery {
  readonly refId: string;
  readonly rawSql: string;
}

/** Rows of PostgreSQL; the macros and variables in the text are those of Grafana. */
export function sql(text: string): Builder<SqlQuery> {
  return {
    build: () => ({
      refId: 'A',
      datasource: postgresSource,
      editorMode: 'code',
      format: 'table',
      rawQuery: true,
      rawSql: text.trim(),
      _implementsDataqueryVariant() {},
    }),
  };
}

type LabelOf<Name extends MetricName> = keyof LabelsOf<Name> & string;

/** A value that a label has, or a pattern that it matches. */
type Wanted = string | { readonly like: string };

/** What labels must have; one that is undefined may have any value. */
type Conditions = Readonly<Record<string, Wanted | undefined>>;

type Where<Name extends MetricName> = { readonly [Label in LabelOf<Name>]?: Wanted };

/** Labels by which a panel keeps to what its dashboard was opened for. */
const chosenLabels = ['pipeline', 'golden_set'] as const;

/** The gauge once for any number of replicas: they export equal values. */
export function maxBy<Name extends MetricsOfType<'gauge'>>(
  by: readonly LabelOf<Name>[],
  name: Name,
  where: Where<Name> = {},
): string {
  return maxOf(by, name, where);
}

/** As `maxBy`, of a gauge whose name is not known to the compiler. */
export function maxOf(by: readonly string[], name: MetricName, where: Conditions): string {
  return `max ${grouped(by)}(${selector(name, '', where)})`;
}

/** How often a second it was counted by all replicas. */
export function rateBy<Name extends MetricsOfType<'counter'>>(
  by: readonly LabelOf<Name>[],
  name: Name,
  where: Where<Name> = {},
): string {
  return `sum ${grouped(by)}(rate(${selector(name, '', where)}[$__rate_interval]))`;
}

/** How many of them were counted, by all replicas, between two points of a graph. */
export function increaseBy<Name extends MetricsOfType<'counter'>>(by: readonly LabelOf<Name>[], name: Name): string {
  return `sum ${grouped(by)}(increase(${selector(name, '', {})}[$__rate_interval]))`;
}

/** How many of them were counted in the database between two points of a graph: every replica says the same. */
export function storedIncreaseBy<Name extends MetricsOfType<'counter'> & StoredMetric>(
  by: readonly LabelOf<Name>[],
  name: Name,
): string {
  return `max ${grouped(by)}(increase(${selector(name, '', {})}[$__rate_interval]))`;
}

/** A quantile of a histogram over all replicas. */
export function quantileBy<Name extends MetricsOfType<'histogram'>>(
  quantile: number,
  by: readonly LabelOf<Name>[],
  name: Name,
): string {
  const buckets = `sum ${grouped([...by, 'le'])}(rate(${selector(name, '_bucket', {})}[$__rate_interval]))`;
  return `histogram_quantile(${quantile}, ${buckets})`;
}

/** The observations of a histogram by bucket, for a heat map. */
export function bucketsOf(name: MetricsOfType<'histogram'>): string {
  return `sum by (le) (increase(${selector(name, '_bucket', {})}[$__rate_interval]))`;
}

/** 0, as the value `none` of a label, while there is nothing: a counter with labels appears with its first event. */
export function orNone(expression: string, label: string): string {
  return `${expression} or on () label_replace(vector(0), "${label}", "none", "", "")`;
}

/** A metric of the process that is not of the catalogue, such as those of Node.js. */
export function processMetric(name: string): string {
  return `max by (instance) (${name}{${ofTarget}})`;
}

const ofTarget = 'job=~"$job", instance=~"$instance"';

/** `name{job=~"$job", instance=~"$instance", …}` */
export function selector(name: MetricName, suffix: string, where: Conditions): string {
  const labels: readonly string[] = metricCatalogue[name].labels;
  const chosen = chosenLabels
    .filter((label) => labels.includes(label) && where[label] === undefined)
    .map((label) => `${label}=~"$${label}"`);
  const wanted = Object.entries(where).flatMap(([label, value]) => {
    if (value === undefined) return [];
    return typeof value === 'string' ? [`${label}="${value}"`] : [`${label}=~"${value.like}"`];
  });
  return `${name}${suffix}{${[ofTarget, ...chosen, ...wanted].join(', ')}}`;
}

function grouped(by: readonly string[]): string {
  return by.length === 0 ? '' : `by (${by.join(', ')}) `;
}

/** Where dashboards lead to, and what they keep apart. */
export interface DashboardSettings {
  /** Where docs/runbooks is served; null: by the console, where that is known. */
  readonly runbookBaseUrl: string | null;
  /** Where the console of recalld answers; null: dashboards do not link to it. */
  readonly consoleUrl: string | null;
  /** Labels of the targets by which one deployment differs from another: one of each is looked at at a time. */
  readonly groupLabels: readonly string[];
}

/** What dashboards assume that are not made for a config. */
export const defaultDashboardSettings: DashboardSettings = {
  runbookBaseUrl: null,
  consoleUrl: null,
  groupLabels: ['job'],
};

/** The page of an alert, whose name stands in the place of `alert`; null where nothing serves runbooks. */
export function runbookUrl({ runbookBaseUrl, consoleUrl }: DashboardSettings, alert: string): string | null {
  if (runbookBaseUrl !== null) return `${withoutSlash(runbookBaseUrl)}/${alert}.md`;
  return consoleUrl === null ? null : `${withoutSlash(consoleUrl)}/runbooks/${alert}`;
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
