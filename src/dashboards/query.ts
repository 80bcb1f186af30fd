/** What panels ask: PromQL of Prometheus, SQL of PostgreSQL. */
import type { Builder, Dataquery } from '@grafana/grafana-foundation-sdk/cog';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';

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

export interface SqlQuery extends Dataquery {
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
