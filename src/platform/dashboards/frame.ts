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
  type Panel,
  QueryVariableBuilder,
  RowBuilder,
  type RowPanel,
  type VariableModel,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { type DashboardSettings, postgresSource, prometheusSource, runbookUrl, sql } from './promql.ts';

/** Every pipeline of which there is any metric. No value stands for all, since SQL needs their names. */
const pipelines = 'label_values({__name__=~"recalld_.+", job=~"$job"}, pipeline)';
const sets =
  'label_values(recalld_golden_run_last_attempt_timestamp_seconds{job=~"$job", pipeline=~"$pipeline"}, golden_set)';

export function onePipeline(): QueryVariableBuilder {
  return labelVariable('pipeline', 'Pipeline', pipelines);
}

export function manyPipelines(): QueryVariableBuilder {
  return allOf(onePipeline());
}

export function oneGoldenSet(): QueryVariableBuilder {
  return labelVariable('golden_set', 'Golden set', sets);
}

export function manyGoldenSets(): QueryVariableBuilder {
  return allOf(oneGoldenSet());
}

/** The largest cut-off comes first. */
export function cutoff(): QueryVariableBuilder {
  const query = 'label_values(recalld_golden_ndcg{job=~"$job", pipeline=~"$pipeline", golden_set=~"$golden_set"}, k)';
  return labelVariable('k', 'Cut-off', query, VariableSort.NumericalDesc);
}

/** Segments of a metric, `all` at first. */
export function segmentOf(selector: string): QueryVariableBuilder {
  return labelVariable('segment', 'Segment', `label_values(${selector}, segment)`).current({
    text: 'all',
    value: 'all',
  });
}

/** Columns of the grid of Grafana. */
const GRID = 24;

interface Section {
  readonly title: string;
  readonly panels: readonly Builder<Panel>[];
}

/** Sections that are open at first: what one looks at daily. Those below are asked for when they are opened. */
const OPEN_SECTIONS = 2;

/**
 * Places panels from left to right in the order given, and in a new line where the next does not fit. Sections without
 * panels are left out. Ids count from 1, so that links to single panels hold while the order does.
 */
export function arrange(sections: readonly Section[]): (Panel | RowPanel)[] {
  const placed: (Panel | RowPanel)[] = [];
  let ids = 0;
  let top = 0;
  for (const [index, { title, panels }] of sections.filter((section) => section.panels.length > 0).entries()) {
    const isOpen = index < OPEN_SECTIONS;
    const row = new RowBuilder(title).collapsed(!isOpen).gridPos({ x: 0, y: top, w: GRID, h: 1 }).build();
    const rowTop = top;
    const inside: Panel[] = [];
    placed.push({ ...row, id: (ids += 1), panels: isOpen ? [] : inside });
    top += 1;
    let left = 0;
    let tallest = 0;
    for (const panel of panels.map((builder) => builder.build())) {
      const { w, h } = panel.gridPos ?? { w: GRID, h: 8 };
      if (left + w > GRID) {
        top += tallest;
        left = 0;
        tallest = 0;
      }
      (isOpen ? placed : inside).push({ ...panel, id: (ids += 1), gridPos: { x: left, y: top, w, h } });
      left += w;
      tallest = Math.max(tallest, h);
    }
    // A closed row takes one line, and what is below it moves down when it is opened.
    top = isOpen ? top + tallest : rowTop + 1;
  }
  return placed;
}

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
    .variables([...sources, ...targets(settings), ...spec.variables])
    .links(links(settings));
  if (spec.hasDeployments) builder.annotation(deployments);
  return ofDeployment({ ...builder.build(), panels: arrange(spec.sections) }, settings);
}

/** What Kubernetes tells targets apart by; where nothing sets them, every value is chosen and none is asked for. */
const placeLabels = ['cluster', 'namespace'] as const;

/** Labels of targets that a dashboard has a variable for, beside job and instance. */
function placesOf({ groupLabels }: DashboardSettings): readonly string[] {
  return [...new Set([...placeLabels, ...groupLabels])].filter((label) => label !== 'job');
}

/** What keeps to the chosen job keeps to the other labels of the chosen deployment too. */
function ofDeployment(dashboard: Dashboard, settings: DashboardSettings): Dashboard {
  const others = placesOf(settings).map((label) => `${label}=~"$${label}", `);
  const apart = (_: string, value: unknown): unknown =>
    typeof value === 'string' ? value.replaceAll('job=~"$job"', `${others.join('')}job=~"$job"`) : value;
  return JSON.parse(JSON.stringify(dashboard), apart) as Dashboard;
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
  return variable.label(label).datasource(prometheusSource).query(query).refresh(VariableRefresh.OnTimeRangeChanged);
}

/** Any number of values of a label, all of them at first. */
export function allOf(variable: QueryVariableBuilder): QueryVariableBuilder {
  return variable.multi(true).includeAll(true).current({ text: 'All', value: '$__all' });
}

/** One deployment at a time by the labels that tell them apart, so that no panel mixes two; of it all instances. */
function targets(settings: DashboardSettings): QueryVariableBuilder[] {
  const labels = [...placesOf(settings), 'job'];
  const apart = labels.map((label, index) => {
    const before = labels.slice(0, index).map((one) => `${one}=~"$${one}"`);
    const known = `recalld_build_info${before.length === 0 ? '' : `{${before.join(', ')}}`}`;
    const title = `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
    const variable = labelVariable(label, title, `label_values(${known}, ${label})`);
    return settings.groupLabels.includes(label) ? variable : allOf(variable).allValue('.*');
  });
  const instances = labelVariable('instance', 'Instance', 'label_values(recalld_build_info{job=~"$job"}, instance)');
  return [...apart, allOf(instances).allValue('.+')];
}

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

function links(settings: DashboardSettings): Builder<DashboardLink>[] {
  const runbooks = runbookUrl(settings, 'README');
  return [
    new DashboardLinkBuilder('Dashboards of recalld')
      .type(DashboardLinkType.Dashboards)
      .tags([TAG])
      .includeVars(true)
      .keepTime(true),
    ...linkTo('Console', settings.consoleUrl),
    ...linkTo('Runbooks', runbooks),
  ];
}

function linkTo(title: string, url: string | null): Builder<DashboardLink>[] {
  return url === null ? [] : [new DashboardLinkBuilder(title).type(DashboardLinkType.Link).url(url).targetBlank(true)];
}
