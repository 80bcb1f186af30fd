/** Builds dashboards: layout, variables, links, deployment annotations and time range. */
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
import { capitalized } from '../../core/format.ts';
import { runbookUrl } from '../metrics/alert-rules.ts';
import { type DashboardSettings, postgresSource, prometheusSource, sql } from './promql.ts';

/** Selects all pipelines that have metrics. No `allValue` is set, because SQL queries need the pipeline names. */
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

/** Variable for the cutoff k; the largest value is listed first. */
export function cutoff(): QueryVariableBuilder {
  const query = 'label_values(recalld_golden_ndcg{job=~"$job", pipeline=~"$pipeline", golden_set=~"$golden_set"}, k)';
  return labelVariable('k', 'Cutoff', query, VariableSort.NumericalDesc);
}

/** Returns a variable for the segments of a metric; its default is `all`. */
export function segmentOf(selector: string): QueryVariableBuilder {
  return labelVariable('segment', 'Segment', `label_values(${selector}, segment)`).current({
    text: 'all',
    value: 'all',
  });
}

/** Number of columns in the Grafana grid. */
const GRID = 24;

interface Section {
  readonly title: string;
  /** Text that panels without data show, such as what must be configured; default: "No data". */
  readonly noData?: string;
  readonly panels: readonly Builder<Panel>[];
}

/** Number of sections that are open by default. Grafana queries a collapsed section only when it is opened. */
const OPEN_SECTIONS = 2;

/**
 * Places panels from left to right in the given order and starts a new line when the next panel does not fit. Omits
 * sections without panels. The ids of rows and panels are their numbers, from 1, in this order. Links to panels
 * therefore stay valid as long as the order does not change.
 */
export function arrange(sections: readonly Section[]): (Panel | RowPanel)[] {
  const placed: (Panel | RowPanel)[] = [];
  let ids = 0;
  let top = 0;
  for (const [index, { title, panels, noData }] of sections.filter((section) => section.panels.length > 0).entries()) {
    const isOpen = index < OPEN_SECTIONS;
    const row = new RowBuilder(title).collapsed(!isOpen).gridPos({ x: 0, y: top, w: GRID, h: 1 }).build();
    const rowTop = top;
    const inside: Panel[] = [];
    placed.push({ ...row, id: (ids += 1), panels: isOpen ? [] : inside });
    top += 1;
    let left = 0;
    let tallest = 0;
    for (const panel of panels.map((builder) => withNoData(builder.build(), noData))) {
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
    // A collapsed section takes up one grid line; when it is opened, Grafana moves the sections below it down.
    top = isOpen ? top + tallest : rowTop + 1;
  }
  return placed;
}

/**
 * Sets the text that a panel without data shows. Skips tables, because Grafana would also show the text in every empty
 * cell.
 */
function withNoData(panel: Panel, noData: string | undefined): Panel {
  const { fieldConfig } = panel;
  if (noData === undefined || panel.type === 'table' || fieldConfig === undefined) return panel;
  return { ...panel, fieldConfig: { ...fieldConfig, defaults: { noValue: noData, ...fieldConfig.defaults } } };
}

export interface DashboardSpec {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** Variables other than data sources, job and instances. */
  readonly variables: readonly Builder<VariableModel>[];
  readonly sections: readonly Section[];
  readonly hasDeployments: boolean;
  readonly from?: string;
}

const TAG = 'recalld';

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

/**
 * Labels that Kubernetes adds to targets. If the targets lack one of these labels, its variable matches every target.
 */
const placeLabels = ['cluster', 'namespace'] as const;

/** Returns the target labels that have a variable, other than job and instance. */
function placesOf({ groupLabels }: DashboardSettings): readonly string[] {
  return [...new Set([...placeLabels, ...groupLabels])].filter((label) => label !== 'job');
}

/** Adds the labels of the chosen deployment to every selector that filters by the chosen job. */
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

/** Returns a variable whose options are the sorted values of a label. */
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

/** Makes a variable multi-select; by default, all values are selected. */
export function allOf(variable: QueryVariableBuilder): QueryVariableBuilder {
  return variable.multi(true).includeAll(true).current({ text: 'All', value: '$__all' });
}

/** Variables that select one deployment, so that no panel mixes two, and its instances. */
function targets(settings: DashboardSettings): QueryVariableBuilder[] {
  const labels = [...placesOf(settings), 'job'];
  const apart = labels.map((label, index) => {
    const before = labels.slice(0, index).map((one) => `${one}=~"$${one}"`);
    const known = `recalld_build_info${before.length === 0 ? '' : `{${before.join(', ')}}`}`;
    const title = capitalized(label);
    const variable = labelVariable(label, title, `label_values(${known}, ${label})`);
    return settings.groupLabels.includes(label) ? variable : allOf(variable).allValue('.*');
  });
  const instances = labelVariable('instance', 'Instance', 'label_values(recalld_build_info{job=~"$job"}, instance)');
  return [...apart, allOf(instances).allValue('.+')];
}

/** Annotations for deployments of the chosen pipelines, from PostgreSQL. */
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
    new DashboardLinkBuilder('recalld dashboards')
      .type(DashboardLinkType.Dashboards)
      .tags([TAG])
      .includeVars(true)
      .keepTime(true),
    ...linkTo('Console', settings.consoleBaseUrl),
    ...linkTo('Runbooks', runbooks),
  ];
}

function linkTo(title: string, url: string | null): Builder<DashboardLink>[] {
  return url === null ? [] : [new DashboardLinkBuilder(title).type(DashboardLinkType.Link).url(url).targetBlank(true)];
}
