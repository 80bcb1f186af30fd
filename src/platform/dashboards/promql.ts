/**
 * PromQL for panels. Every expression filters by the selected job, instances, pipelines and golden sets. The compiler
 * checks metric and label names against the metric catalog.
 */
import type { Builder, Dataquery } from '@grafana/grafana-foundation-sdk/cog';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import type { RuleSettings } from '../metrics/alert-rules.ts';
import {
  type LabelOf,
  type MetricName,
  type MetricsOfType,
  metricCatalogue,
  type StoredMetric,
} from '../metrics/catalogue.ts';

/** Dashboard variables that select the data sources. */
export const prometheusSource = { type: 'prometheus', uid: '${datasource}' } as const;
export const postgresSource = { type: 'grafana-postgresql-datasource', uid: '${postgres}' } as const;

export interface PromQuery {
  readonly expr: string;
  /** Series name; labels are in double braces. */
  readonly legend?: string;
}

/** Builds range queries with letters as ids. */
export function ranges(queries: readonly PromQuery[]): DataqueryBuilder[] {
  return prometheusQueries(queries).map((query) => query.range());
}

export function latest(queries: readonly PromQuery[]): DataqueryBuilder[] {
  return prometheusQueries(queries).map((query) => query.instant());
}

function prometheusQueries(queries: readonly PromQuery[]): DataqueryBuilder[] {
  return queries.map(({ expr, legend = '__auto' }, index) =>
    new DataqueryBuilder()
      .refId(String.fromCodePoint(65 + index))
      .datasource(prometheusSource)
      .expr(expr)
      .legendFormat(legend),
  );
}

interface SqlQuery extends Dataquery {
  readonly refId: string;
  readonly rawSql: string;
}

/** Builds a PostgreSQL query whose text may contain Grafana macros and variables. */
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

/** A dashboard shows one deployment at a time: the one with the selected group labels. */
export type DashboardSettings = Pick<RuleSettings, 'runbookBaseUrl' | 'consoleBaseUrl' | 'groupLabels'>;

/** A label value, or a pattern that the value must match. */
type Wanted = string | { readonly like: string };

/** Conditions, keyed by label; undefined matches any value. */
type Conditions = Readonly<Record<string, Wanted | undefined>>;

type Where<Name extends MetricName> = { readonly [Label in LabelOf<Name>]?: Wanted };

/** Labels that panels filter by, using the dashboard's variables. */
const chosenLabels = ['pipeline', 'golden_set'] as const;

/** Returns an expression with one series for all replicas, because all replicas export equal values. */
export function maxBy<Name extends MetricsOfType<'gauge'>>(
  by: readonly LabelOf<Name>[],
  name: Name,
  where: Where<Name> = {},
): string {
  return maxOf(by, name, where);
}

/** Like `maxBy`, for a gauge whose name is unknown at compile time. */
export function maxOf(by: readonly string[], name: MetricName, where: Conditions): string {
  return `max ${grouped(by)}(${selector(name, '', where)})`;
}

type CounterExpression<Metric extends MetricsOfType<'counter'>> = <Name extends Metric>(
  by: readonly LabelOf<Name>[],
  name: Name,
  where?: Where<Name>,
) => string;

function overReplicas(
  aggregate: 'sum' | 'max',
  change: 'rate' | 'increase',
): CounterExpression<MetricsOfType<'counter'>> {
  return (by, name, where = {}) =>
    `${aggregate} ${grouped(by)}(${change}(${selector(name, '', where)}[$__rate_interval]))`;
}

/** Returns an expression for the rate per second, summed over all replicas. */
export const rateBy = overReplicas('sum', 'rate');

/** Returns an expression for the increase since the previous point on the graph, summed over all replicas. */
export const increaseBy = overReplicas('sum', 'increase');

/** Like `increaseBy`, for a counter that is stored in the database. Every replica exports the same value. */
export const storedIncreaseBy: CounterExpression<MetricsOfType<'counter'> & StoredMetric> = overReplicas(
  'max',
  'increase',
);

/** Returns an expression for a quantile of a histogram over all replicas. */
export function quantileBy<Name extends MetricsOfType<'histogram'>>(
  quantile: number,
  by: readonly LabelOf<Name>[],
  name: Name,
): string {
  const buckets = `sum ${grouped([...by, 'le'])}(rate(${selector(name, '_bucket', {})}[$__rate_interval]))`;
  return `histogram_quantile(${quantile}, ${buckets})`;
}

/** Returns an expression for the number of histogram observations per bucket, for a heat map. */
export function bucketsOf(name: MetricsOfType<'histogram'>): string {
  return `sum by (le) (increase(${selector(name, '_bucket', {})}[$__rate_interval]))`;
}

/**
 * Adds 0 with the label value `none` if there are no series, because a counter with labels has no series until its
 * first event.
 */
export function orNone(expression: string, label: string): string {
  return `${expression} or on () label_replace(vector(0), "${label}", "none", "", "")`;
}

/** Returns an expression for a process metric outside the metric catalog, such as a Node.js metric. */
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
