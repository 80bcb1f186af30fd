/** What every dashboard has: variables, links, the annotations of deployments, a time range. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  type DashboardLink,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  type VariableModel,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { arrange, type Section } from './layout.ts';
import { postgresSource, prometheusSource, sql } from './query.ts';
import type { DashboardSettings } from './settings.ts';

export interface DashboardSpec {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** Beside those of the data sources, the job and the instances. */
  readonly variables: readonly Builder<VariableModel>[];
  readonly sections: readonly Section[];
  readonly hasDeployments: boolean;
  readonly from?: string;
}

const TAG = 'recalld';

/** A dashboard as Grafana imports it. */
export function frame(spec: DashboardSpec, settings: DashboardSettings): Dashboard {
  const builder = new DashboardBuilder(spec.title)
    .uid(spec.uid)
    .description(spec.description)
    .tags([TAG])
    .readonly()
    .timezone('browser')
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: spec.from ?? 'now-24h', to: 'now' })
    .refresh('1m')
    .variables([...sources, ...targets, ...spec.variables])
    .links(links(settings));
  if (spec.hasDeployments) builder.annotation(deployments);
  return { ...builder.build(), panels: arrange(spec.sections) };
}

const sources = [
  new DatasourceVariableBuilder('datasource').label('Prometheus').type(prometheusSource.type),
  new DatasourceVariableBuilder('postgres').label('PostgreSQL').type(postgresSource.type),
];

/** A variable whose values are those of a label, in order. */
export function labelVariable(
  name: string,
  label: string,
  query: string,
  order: VariableSort = VariableSort.AlphabeticalAsc,
): QueryVariableBuilder {
  const variable = new QueryVariableBuilder(name);
  // oxlint-disable-next-line unicorn/no-array-sort -- a setting of the variable, not a list
  variable.sort(order);
  return variable
    .label(label)
    .datasource(prometheusSource)
    .query(query)
    .refresh(VariableRefresh.OnTimeRangeChanged);
}

/** Any number of values of a label, all of them at first. */
export function allOf(variable: QueryVariableBuilder): QueryVariableBuilder {
  return variable.multi(true).includeAll(true).current({ text: 'All', value: '$__all' });
}

const targets = [
  allOf(labelVariable('job', 'Job', 'label_values(recalld_build_info, job)')).allValue('.+'),
  allOf(
    labelVariable('instance', 'Instance', 'label_values(recalld_build_info{job=~"$job"}, instance)'),
  ).allValue('.+'),
];

/** Changes of the chosen pipelines, as PostgreSQL knows them. */
const deployments = new AnnotationQueryBuilder()
  .name('Deployments')
  .datasource(postgresSource)
  .enable(true)
  .iconColor('purple')
  .target(
    sql(`
select occurred_at as "time", kind || ' of ' || pipeline || ': ' || version || coalesce(' (' || note || ')', '') as "text",
  kind || ',' || source as "tags"
from deployments
where $__timeFilter(occurred_at) and pipeline in (\${pipeline:sqlstring})
order by occurred_at`),
  );

function links({ consoleUrl, runbookBaseUrl }: DashboardSettings): Builder<DashboardLink>[] {
  return [
    new DashboardLinkBuilder('Dashboards of recalld')
      .type(DashboardLinkType.Dashboards)
      .tags([TAG])
      .includeVars(true)
      .keepTime(true),
    new DashboardLinkBuilder('Console').type(DashboardLinkType.Link).url(consoleUrl).targetBlank(true),
    new DashboardLinkBuilder('Runbooks')
      .type(DashboardLinkType.Link)
      .url(`${withoutSlash(runbookBaseUrl)}/README.md`)
      .targetBlank(true),
  ];
}

export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
