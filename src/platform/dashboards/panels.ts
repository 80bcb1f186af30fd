/** Panel builders. Each panel has a title, a description, a unit, and a size on the grid of 24 columns. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  BigValueColorMode,
  BigValueGraphMode,
  BigValueTextMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  ScaleDistribution,
  ScaleDistributionConfigBuilder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  type DashboardLink,
  type DataTransformerConfig,
  type DynamicConfigValue,
  MappingType,
  type Panel,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { PanelBuilder as HeatmapBuilder } from '@grafana/grafana-foundation-sdk/heatmap';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as StateTimelineBuilder } from '@grafana/grafana-foundation-sdk/statetimeline';
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as TimeSeriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import {
  heatmapOf,
  latest,
  latestRows,
  maxBy,
  type PromQuery,
  postgresSource,
  prometheusSource,
  ranges,
  sql,
} from './promql.ts';

/** Verdicts as numbers, so that one series can show them; a worse verdict has a higher number. */
export const verdictNumbers = { ok: 0, warning: 1, no_data: 2, critical: 3 } as const;

export const verdictTexts: readonly ValueMapping[] = [
  {
    type: MappingType.ValueToText,
    options: {
      '0': { text: 'ok', color: 'green', index: 0 },
      '1': { text: 'warning', color: 'yellow', index: 1 },
      '2': { text: 'no data', color: 'orange', index: 2 },
      '3': { text: 'critical', color: 'red', index: 3 },
    },
  },
];

/** Colors of the verdicts as stored in PostgreSQL. */
export const verdictColors: readonly ValueMapping[] = [
  {
    type: MappingType.ValueToText,
    options: {
      ok: { color: 'green', index: 0 },
      no_change: { color: 'green', index: 1 },
      improvement: { color: 'blue', index: 2 },
      inconclusive: { color: 'yellow', index: 3 },
      warning: { color: 'yellow', index: 4 },
      no_data: { color: 'orange', index: 5 },
      critical: { color: 'red', index: 6 },
      regression: { color: 'red', index: 7 },
    },
  },
];

/** Names of the series that are styled as bounds and thresholds. */
const LOW = '95 % lower bound';
const HIGH = '95 % upper bound';

const hidden = { id: 'custom.hideFrom', value: { legend: true, tooltip: false, viz: false } };

/** Fills the area between the upper and the lower bound, without lines. */
const bandStyle: readonly { readonly name: string; readonly properties: DynamicConfigValue[] }[] = [
  { name: LOW, properties: [{ id: 'custom.lineWidth', value: 0 }, hidden] },
  {
    name: HIGH,
    properties: [
      { id: 'custom.lineWidth', value: 0 },
      { id: 'custom.fillBelowTo', value: LOW },
      { id: 'custom.fillOpacity', value: 18 },
      hidden,
    ],
  },
];

const NORMAL_NAMES = '/^normal /';

const normalStyle: DynamicConfigValue[] = [
  { id: 'custom.lineStyle', value: { fill: 'dot', dash: [2, 6] } },
  { id: 'custom.lineWidth', value: 1 },
  { id: 'color', value: { mode: 'fixed', fixedColor: 'green' } },
];

const THRESHOLD_NAMES = '/^threshold/';

const thresholdStyle: DynamicConfigValue[] = [
  { id: 'custom.lineStyle', value: { fill: 'dash', dash: [10, 10] } },
  { id: 'custom.lineWidth', value: 1 },
  { id: 'color', value: { mode: 'fixed', fixedColor: 'red' } },
];

/** A value with its bounds. Each expression must return one series, since a band joins series by name. */
export function withBand(value: PromQuery, low: string, high: string): PromQuery[] {
  return [value, { expr: low, legend: LOW }, { expr: high, legend: HIGH }];
}

interface Common {
  readonly title: string;
  readonly description: string;
  readonly width: number;
  readonly height?: number;
}

interface Measured extends Common {
  /** Grafana unit id. */
  readonly unit: string;
  readonly queries: readonly PromQuery[];
}

export interface Step {
  /** Minimum value to which the color applies; null for the lowest step. */
  readonly from: number | null;
  readonly color: 'green' | 'yellow' | 'orange' | 'red' | 'blue' | 'text';
}

/** Graph of the time since the timestamp in a gauge. */
export function ageGraph({
  metric,
  by = [],
  legend = 'age',
  ...common
}: Common & {
  readonly metric: Parameters<typeof maxBy>[1];
  readonly by?: Parameters<typeof maxBy>[0];
  readonly legend?: string;
}): Builder<Panel> {
  return graph({ ...common, unit: 's', min: 0, queries: [{ expr: `time() - ${maxBy(by, metric)}`, legend }] });
}

/** Values over time, with bounds as a band and thresholds as dashed lines. */
export function graph(
  spec: Measured & {
    readonly min?: number;
    readonly max?: number;
    readonly isStacked?: boolean;
    /** True if the axis is logarithmic, which suits values that span several powers of ten. */
    readonly isLog?: boolean;
    /** Name of a variable; the panel is repeated for each of its values. */
    readonly repeat?: string;
  },
): Builder<Panel> {
  const panel = new TimeSeriesBuilder()
    .title(spec.title)
    .description(spec.description)
    .datasource(prometheusSource)
    .targets(ranges(spec.queries))
    .unit(spec.unit)
    .span(spec.width)
    .height(spec.height ?? 8)
    .lineWidth(2)
    .fillOpacity(spec.isStacked === true ? 30 : 0)
    .showPoints(VisibilityMode.Auto)
    .legend(
      new VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi));
  for (const { name, properties } of bandStyle) panel.overrideByName(name, properties);
  panel.overrideByRegexp(THRESHOLD_NAMES, thresholdStyle);
  panel.overrideByRegexp(NORMAL_NAMES, normalStyle);
  if (spec.isStacked === true) panel.stacking(new StackingConfigBuilder().mode(StackingMode.Normal));
  if (spec.isLog === true)
    panel.scaleDistribution(new ScaleDistributionConfigBuilder().type(ScaleDistribution.Log).log(10));
  if (spec.min !== undefined) panel.min(spec.min);
  if (spec.max !== undefined) panel.max(spec.max);
  if (spec.repeat !== undefined) panel.repeat(spec.repeat).repeatDirection('h').maxPerRow(2);
  return panel;
}

/** The latest value, in large type and in the color of its step. */
export function stat(
  spec: Measured & {
    readonly steps?: readonly Step[];
    readonly decimals?: number;
    readonly mappings?: readonly ValueMapping[];
  },
): Builder<Panel> {
  const panel = new StatBuilder()
    .title(spec.title)
    .description(spec.description)
    .datasource(prometheusSource)
    .targets(latest(spec.queries))
    .unit(spec.unit)
    .span(spec.width)
    .height(spec.height ?? 4)
    .thresholds(steps(spec.steps ?? [{ from: null, color: 'text' }]))
    .colorMode(spec.steps === undefined ? BigValueColorMode.None : BigValueColorMode.Background)
    .graphMode(BigValueGraphMode.None)
    .textMode(BigValueTextMode.Auto)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']));
  if (spec.decimals !== undefined) panel.decimals(spec.decimals);
  if (spec.mappings !== undefined) panel.mappings([...spec.mappings]);
  return panel;
}

/** States over time, with one bar per series. */
export function stateTimeline(spec: Measured & { readonly mappings: readonly ValueMapping[] }): Builder<Panel> {
  return new StateTimelineBuilder()
    .title(spec.title)
    .description(spec.description)
    .datasource(prometheusSource)
    .targets(ranges(spec.queries))
    .unit(spec.unit)
    .span(spec.width)
    .height(spec.height ?? 8)
    .mappings([...spec.mappings])
    .mergeValues(true)
    .showValue(VisibilityMode.Auto);
}

export function heatmap(spec: Common & { readonly unit: string; readonly expr: string }): Builder<Panel> {
  return new HeatmapBuilder()
    .title(spec.title)
    .description(spec.description)
    .datasource(prometheusSource)
    .withTarget(heatmapOf(spec.expr))
    .unit(spec.unit)
    .span(spec.width)
    .height(spec.height ?? 8);
}

export interface Column {
  readonly name: string;
  readonly unit?: string;
  readonly mappings?: readonly ValueMapping[];
  readonly links?: readonly DashboardLink[];
}

interface Rows extends Common {
  /** Styles for the columns that are not plain text. */
  readonly columns?: readonly Column[];
}

/** A table of the latest Prometheus values, with one row per set of labels. */
export function metricTable(
  spec: Rows & {
    readonly queries: readonly PromQuery[];
    /** Column titles, keyed by label, in order; other columns are hidden. */
    readonly show: Readonly<Record<string, string>>;
  },
): Builder<Panel> {
  return table(spec)
    .datasource(prometheusSource)
    .targets(latestRows(spec.queries))
    .transformations([...(spec.queries.length > 1 ? [merge] : []), organize(spec.show)]);
}

export function sqlTable(spec: Rows & { readonly sql: string }): Builder<Panel> {
  return table(spec).datasource(postgresSource).withTarget(sql(spec.sql));
}

function table(spec: Rows): TableBuilder {
  const panel = new TableBuilder()
    .title(spec.title)
    .description(spec.description)
    .span(spec.width)
    .height(spec.height ?? 8)
    .unit('none')
    .filterable(true);
  for (const column of spec.columns ?? []) panel.overrideByName(column.name, columnStyle(column));
  return panel;
}

function columnStyle({ unit, mappings, links }: Column): DynamicConfigValue[] {
  return [
    ...(unit === undefined ? [] : [{ id: 'unit', value: unit }]),
    ...(mappings === undefined
      ? []
      : [
          { id: 'mappings', value: mappings },
          { id: 'custom.cellOptions', value: { type: 'color-background' } },
        ]),
    ...(links === undefined ? [] : [{ id: 'links', value: links }]),
  ];
}

const merge: DataTransformerConfig = { id: 'merge', options: {} };

function organize(show: Readonly<Record<string, string>>): DataTransformerConfig {
  const names = Object.keys(show);
  return {
    id: 'organize',
    options: {
      includeByName: Object.fromEntries(names.map((name) => [name, true])),
      indexByName: Object.fromEntries(names.map((name, index) => [name, index])),
      renameByName: show,
    },
  };
}

function steps(list: readonly Step[]): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder()
    .mode(ThresholdsMode.Absolute)
    .steps(list.map(({ from, color }) => ({ value: from, color })));
}

/** Age of the data that the dashboard shows. */
export function snapshotAge(width: number): Builder<Panel> {
  return stat({
    title: 'Age of the snapshot',
    description:
      'Age of the database rows from which stored gauges are made. It grows while the database does not respond.',
    unit: 's',
    width,
    steps: [
      { from: null, color: 'green' },
      { from: 120, color: 'yellow' },
      { from: 600, color: 'red' },
    ],
    queries: [{ expr: maxBy([], 'recalld_snapshot_age_seconds') }],
  });
}
