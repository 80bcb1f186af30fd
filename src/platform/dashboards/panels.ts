/** Panel builders. Each panel has a title, a description, a unit, and a size on the grid of 24 columns. */
import type { Builder, Dataquery } from '@grafana/grafana-foundation-sdk/cog';
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
  type DataSourceRef,
  type DataTransformerConfig,
  type DynamicConfigValue,
  MappingType,
  type Panel,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
  type ValueMappingResult,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { PanelBuilder as HeatmapBuilder } from '@grafana/grafana-foundation-sdk/heatmap';
import { PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as StateTimelineBuilder } from '@grafana/grafana-foundation-sdk/statetimeline';
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as TimeSeriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import { axisEnds, bandStyle, lineStyles, outcomeStyles } from './graph-styles.ts';
import { latest, maxBy, type PromQuery, postgresSource, prometheusSource, ranges, sql } from './promql.ts';

/** Verdicts as numbers, so that one series can show them; a worse verdict has a higher number. */
export const verdictNumbers = { ok: 0, warning: 1, no_data: 2, critical: 3 } as const;

export const verdictTexts = valueTexts({
  '0': { text: 'ok', color: 'green', index: 0 },
  '1': { text: 'warning', color: 'yellow', index: 1 },
  '2': { text: 'no data', color: 'orange', index: 2 },
  '3': { text: 'critical', color: 'red', index: 3 },
});

/** Colors of the verdicts as stored in PostgreSQL. */
export const verdictColors = valueTexts({
  ok: { color: 'green', index: 0 },
  no_change: { color: 'green', index: 1 },
  improvement: { color: 'blue', index: 2 },
  inconclusive: { color: 'yellow', index: 3 },
  warning: { color: 'yellow', index: 4 },
  no_data: { color: 'orange', index: 5 },
  critical: { color: 'red', index: 6 },
  regression: { color: 'red', index: 7 },
});

/** Colors of alert severities. */
export const severityColors = valueTexts({
  critical: { color: 'red', index: 0 },
  warning: { color: 'yellow', index: 1 },
  none: { color: 'transparent', index: 2 },
});

function valueTexts(options: Readonly<Record<string, ValueMappingResult>>): readonly ValueMapping[] {
  return [{ type: MappingType.ValueToText, options }];
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

interface AnyBuilder {
  title(title: string): this;
  description(description: string): this;
  datasource(source: DataSourceRef): this;
  targets(targets: Builder<Dataquery>[]): this;
  unit(unit: string): this;
  span(width: number): this;
  height(height: number): this;
}

/** Sets the properties that all kinds of panels have. */
function begin<Kind extends AnyBuilder>(
  panel: Kind,
  spec: Common & { readonly unit: string; readonly targets: Builder<Dataquery>[] },
): Kind {
  return panel
    .title(spec.title)
    .description(spec.description)
    .datasource(prometheusSource)
    .targets(spec.targets)
    .unit(spec.unit)
    .span(spec.width)
    .height(spec.height ?? 8);
}

export interface Step {
  /** Minimum value for the color; null for the lowest step. */
  readonly from: number | null;
  readonly color: 'green' | 'yellow' | 'orange' | 'red' | 'blue' | 'text';
}

/** Returns a graph panel with the age of the timestamp that a gauge exports. */
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

/** Returns a graph panel: values over time, with bounds as a band and thresholds as dashed lines. */
export function graph(
  spec: Measured & {
    readonly min?: number;
    readonly max?: number;
    readonly isStacked?: boolean;
    /** True if the series are outcomes, such as `ok` and `error`, whose colors depend on their meaning. */
    readonly hasOutcomes?: boolean;
    /**
     * True to show the legend as a table beside the graph, with the highest latest value first. Suits graphs with many
     * series.
     */
    readonly hasSideLegend?: boolean;
    /** True for a logarithmic axis. Suits values that span several powers of ten. */
    readonly isLog?: boolean;
    /** Name of a variable; the panel is repeated for each of its values. */
    readonly repeat?: string;
  },
): Builder<Panel> {
  const panel = begin(new TimeSeriesBuilder(), { ...spec, targets: ranges(spec.queries) })
    // A stacked area has no line, because the line of a series without values would cover the line below it.
    .lineWidth(spec.isStacked === true ? 0 : 2)
    .fillOpacity(spec.isStacked === true ? 60 : 0)
    .showPoints(VisibilityMode.Auto)
    .legend(legendOf(spec.hasSideLegend === true))
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi));
  for (const { name, properties } of bandStyle) panel.overrideByName(name, properties);
  for (const { pattern, properties } of [...lineStyles, ...(spec.hasOutcomes === true ? outcomeStyles : [])])
    panel.overrideByRegexp(pattern, properties);
  if (spec.isStacked === true) panel.stacking(new StackingConfigBuilder().mode(StackingMode.Normal));
  if (spec.isLog === true)
    panel.scaleDistribution(new ScaleDistributionConfigBuilder().type(ScaleDistribution.Log).log(10));
  if (spec.min !== undefined) panel.min(spec.min);
  if (spec.max !== undefined) panel.max(spec.max);
  const end = axisEnds[spec.unit];
  if (spec.min === 0 && spec.max === undefined && end !== undefined) panel.axisSoftMax(end);
  if (spec.repeat !== undefined) panel.repeat(spec.repeat).repeatDirection('h').maxPerRow(2);
  return panel;
}

function legendOf(isBeside: boolean): VizLegendOptionsBuilder {
  const legend = new VizLegendOptionsBuilder().showLegend(true);
  if (!isBeside) return legend.displayMode(LegendDisplayMode.List).placement(LegendPlacement.Bottom);
  return legend
    .displayMode(LegendDisplayMode.Table)
    .placement(LegendPlacement.Right)
    .calcs(['lastNotNull'])
    .sortBy('Last *')
    .sortDesc(true);
}

/** Returns a panel with the latest value, in large type and in the color of its step. */
export function stat(
  spec: Measured & {
    readonly steps?: readonly Step[];
    readonly decimals?: number;
    /** True to show the name of the value even if there is only one value. */
    readonly isNamed?: true;
    readonly mappings?: readonly ValueMapping[];
  },
): Builder<Panel> {
  const panel = begin(new StatBuilder(), { height: 4, ...spec, targets: latest(spec.queries) })
    .thresholds(steps(spec.steps ?? [{ from: null, color: 'text' }]))
    .colorMode(spec.steps === undefined ? BigValueColorMode.None : BigValueColorMode.Background)
    .graphMode(BigValueGraphMode.None)
    .textMode(spec.isNamed === true ? BigValueTextMode.ValueAndName : BigValueTextMode.Auto)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']));
  if (spec.decimals !== undefined) panel.decimals(spec.decimals);
  if (spec.mappings !== undefined) panel.mappings([...spec.mappings]);
  return panel;
}

/** Returns a panel with states over time: one bar per series. */
export function stateTimeline(spec: Measured & { readonly mappings: readonly ValueMapping[] }): Builder<Panel> {
  return begin(new StateTimelineBuilder(), { ...spec, targets: ranges(spec.queries) })
    .mappings([...spec.mappings])
    .mergeValues(true)
    .showValue(VisibilityMode.Auto);
}

export function heatmap(spec: Common & { readonly unit: string; readonly expr: string }): Builder<Panel> {
  const buckets = ranges([{ expr: spec.expr, legend: '{{le}}' }]).map((query) => query.format(PromQueryFormat.Heatmap));
  return begin(new HeatmapBuilder(), { ...spec, targets: buckets });
}

export interface Column {
  readonly name: string;
  /** Width in pixels; columns without a width share the rest. */
  readonly width?: number;
  /** True if long text wraps to the next line. */
  readonly isWrapped?: true;
  readonly unit?: string;
  readonly mappings?: readonly ValueMapping[];
  readonly links?: readonly DashboardLink[];
}

interface Rows extends Common {
  /** Styles for the columns that are not plain text. */
  readonly columns?: readonly Column[];
}

/** Returns a table panel with the latest Prometheus values: one row per set of labels. */
export function metricTable(
  spec: Rows & {
    readonly queries: readonly PromQuery[];
    /** Column titles, keyed by label, in order; other columns are hidden. */
    readonly show: Readonly<Record<string, string>>;
    /** Text shown in a table without rows. Grafana also shows this text in empty cells. */
    readonly noData?: string;
  },
): Builder<Panel> {
  const panel = table(spec)
    .datasource(prometheusSource)
    .targets(latest(spec.queries).map((query) => query.format(PromQueryFormat.Table)))
    .transformations([...(spec.queries.length > 1 ? [merge] : []), organize(spec.show)]);
  return spec.noData === undefined ? panel : panel.noValue(spec.noData);
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

function columnStyle({ width, isWrapped, unit, mappings, links }: Column): DynamicConfigValue[] {
  return [
    ...(width === undefined ? [] : [{ id: 'custom.width', value: width }]),
    ...(isWrapped === undefined ? [] : [{ id: 'custom.wrapText', value: true }]),
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

/** Returns a panel with the age of the data that the dashboard shows. */
export function snapshotAge(width: number): Builder<Panel> {
  return stat({
    title: 'Age of the snapshot',
    description:
      'Age of the database rows from which recalld exports stored values, such as golden scores. The age grows while the database does not respond.',
    unit: 's',
    decimals: 0,
    width,
    steps: [
      { from: null, color: 'green' },
      { from: 120, color: 'yellow' },
      { from: 600, color: 'red' },
    ],
    queries: [{ expr: maxBy([], 'recalld_snapshot_age_seconds') }],
  });
}
