/** Graphs of gauges, each with its confidence bounds and its normal range. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { type MetricName, metricCatalogue } from '../metrics/catalogue.ts';
import type { MetricDefinition } from '../metrics/definition.ts';
import { withBand } from './graph-styles.ts';
import { graph } from './panels.ts';
import { maxBy, maxOf, type PromQuery } from './promql.ts';

export interface GaugeGraph {
  readonly metric: string;
  readonly title: string;
  readonly unit: string;
  readonly width?: number;
  readonly min?: number;
  readonly max?: number;
  readonly isLog?: true;
  /** The watched measure whose normal range is drawn if the panel has only one series. */
  readonly normalOf?: string;
  /** Name of a measure. The thresholds of the checks on this measure are drawn as dashed lines. */
  readonly checked?: string;
  /** A value that is drawn as a threshold: a number, or a gauge with the labels of the panel's only series. */
  readonly limit?: number | MetricName;
  /**
   * Lowest value on the graph. Lower values are drawn at this value; otherwise, a logarithmic axis would span many
   * powers of ten.
   */
  readonly floor?: number;
  /** Description of the panel, in place of the metric's help text. */
  readonly description?: string;
  /** How to read the panel, in addition to its description. */
  readonly note?: string;
  /** Labels that do not divide the graph into series, such as a constant label. */
  readonly without?: readonly string[];
  /**
   * True to draw the bounds as lines. In a panel with several series, a band would join the bounds of different series.
   */
  readonly hasBoundLines?: true;
  /** Label values to match, in addition to the chosen pipeline and segment. */
  readonly where?: Readonly<Record<string, string>>;
}

/** Series names for labels whose values are unclear without the label. */
const legends: Readonly<Record<string, string>> = { k: 'k = {{k}}' };

/** Labels whose dashboard variable selects a single value. */
const chosen: Readonly<Record<string, string>> = { pipeline: '$pipeline', segment: '$segment' };

/**
 * Draws a graph of each gauge, with one series per combination of the labels that are neither selected nor fixed. Draws
 * bounds as a band if there is only one series. Omits metrics that this version does not export.
 */
export function gaugeGraphs(specs: readonly GaugeGraph[]): Builder<Panel>[] {
  return specs.flatMap((spec) => (isExported(spec.metric) ? [gaugeGraph(spec, spec.metric)] : []));
}

function gaugeGraph(spec: GaugeGraph, metric: MetricName): Builder<Panel> {
  const definition: MetricDefinition = metricCatalogue[metric];
  const { title, unit, width = 8, min, max, isLog = false } = spec;
  const where: Readonly<Record<string, string>> = {
    ...Object.fromEntries(Object.entries(chosen).filter(([label]) => definition.labels.includes(label))),
    ...spec.where,
  };
  const by = definition.labels.filter((label) => where[label] === undefined && spec.without?.includes(label) !== true);
  const [low, high] = [`${metric}_ci_low`, `${metric}_ci_high`];
  const shown = maxOf(by, metric, where);
  const value = {
    expr: spec.floor === undefined ? shown : `clamp_min(${shown}, ${spec.floor})`,
    legend: by.length === 0 ? spec.title : by.map((label) => legends[label] ?? `{{${label}}}`).join(', '),
  };
  const bounds = isExported(low) && isExported(high) ? [maxOf(by, low, where), maxOf(by, high, where)] : [];
  const [lower, upper] = bounds;
  const isBanded = by.length === 0 && lower !== undefined && upper !== undefined;
  const lines = ['lower bound', 'upper bound'].flatMap((side, place) => {
    const expr = spec.hasBoundLines === true ? bounds[place] : undefined;
    return expr === undefined ? [] : [{ expr, legend: `${value.legend}, ${side}` }];
  });
  const normal = by.length === 0 && spec.normalOf !== undefined ? normalRange(spec.normalOf) : [];
  const thresholds = [
    ...(spec.checked === undefined ? [] : [checkThresholds(spec.checked, unit)]),
    ...(spec.limit === undefined ? [] : [limitLine(spec.limit, metric, where)]),
  ];
  const queries = [...(isBanded ? withBand(value, lower, upper) : [value, ...lines]), ...normal, ...thresholds];
  return graph({
    title,
    description: [
      spec.description ?? definition.help,
      ...(isBanded ? ['Shown with the 95 % confidence interval.'] : []),
      ...(normal.length > 0 ? ['Dotted lines: normal range.'] : []),
      ...(thresholds.length > 0 ? ['Dashed lines: thresholds.'] : []),
      spec.note ?? '',
    ]
      .join(' ')
      .trim(),
    unit,
    width,
    queries,
    isLog,
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
  });
}

/** Thresholds of the checks on a measure of live traffic, in all segments. */
function checkThresholds(measure: string, unit: string): PromQuery {
  const metric = unit === 's' ? 'recalld_threshold_seconds' : 'recalld_threshold';
  const check = { like: `${measure} (above|below) [^ ]+` };
  return {
    expr: maxBy(['check', 'severity'], metric, { pipeline: '$pipeline', check }),
    legend: 'threshold: {{check}} ({{severity}})',
  };
}

/** A numeric limit is drawn only while the metric has a value, so that a panel without data shows its no-data text. */
function limitLine(limit: number | MetricName, metric: MetricName, where: Readonly<Record<string, string>>): PromQuery {
  const expr = typeof limit === 'number' ? `0 * ${maxOf([], metric, where)} + ${limit}` : maxOf([], limit, where);
  return { expr, legend: 'threshold' };
}

function normalRange(measure: string): PromQuery[] {
  return (['low', 'high'] as const).map((bound) => ({
    expr: maxOf([], 'recalld_normal_range', { pipeline: '$pipeline', segment: '$segment', measure, bound }),
    legend: `normal ${bound}`,
  }));
}

function isExported(name: string): name is MetricName {
  return Object.hasOwn(metricCatalogue, name);
}
