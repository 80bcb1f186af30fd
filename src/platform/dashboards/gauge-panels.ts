/** Graphs of gauges, with their bounds and their normal range. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { type MetricName, metricCatalogue } from '../metrics/catalogue.ts';
import type { MetricDefinition } from '../metrics/definition.ts';
import { graph, withBand } from './panels.ts';
import { maxOf, type PromQuery } from './promql.ts';

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
  /** Description of the panel, in place of the metric's help text. */
  readonly description?: string;
  /** How to read the panel, in addition to its description. */
  readonly note?: string;
  /** Labels that do not divide the graph into series, such as a constant label. */
  readonly without?: readonly string[];
  /**
   * Draws bounds as lines, because the panel may have several series, and a band would join bounds of different series.
   */
  readonly hasBoundLines?: true;
  /** Label values to match, in addition to the chosen pipeline and segment. */
  readonly where?: Readonly<Record<string, string>>;
}

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
  const where: Readonly<Record<string, string>> = {
    ...Object.fromEntries(Object.entries(chosen).filter(([label]) => definition.labels.includes(label))),
    ...spec.where,
  };
  const by = definition.labels.filter((label) => where[label] === undefined && spec.without?.includes(label) !== true);
  const [low, high] = [`${metric}_ci_low`, `${metric}_ci_high`];
  const value = {
    expr: maxOf(by, metric, where),
    legend: by.length === 0 ? spec.title : by.map((label) => `{{${label}}}`).join(', '),
  };
  const bounds = isExported(low) && isExported(high) ? [maxOf(by, low, where), maxOf(by, high, where)] : [];
  const [lower, upper] = bounds;
  const isBanded = by.length === 0 && lower !== undefined && upper !== undefined;
  const lines = ['lower bound', 'upper bound'].flatMap((side, place) => {
    const expr = spec.hasBoundLines === true ? bounds[place] : undefined;
    return expr === undefined ? [] : [{ expr, legend: `${value.legend}, ${side}` }];
  });
  const normal = by.length === 0 && spec.normalOf !== undefined ? normalRange(spec.normalOf) : [];
  const queries = [...(isBanded ? withBand(value, lower, upper) : [value, ...lines]), ...normal];
  const { title, unit, width = 8, min, max, isLog = false } = spec;
  return graph({
    title,
    description: [
      spec.description ?? definition.help,
      ...(isBanded ? ['Shown with the 95 % confidence interval.'] : []),
      ...(normal.length > 0 ? ['Dotted lines: normal range.'] : []),
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

function normalRange(measure: string): PromQuery[] {
  return (['low', 'high'] as const).map((bound) => ({
    expr: maxOf([], 'recalld_normal_range', { pipeline: '$pipeline', segment: '$segment', measure, bound }),
    legend: `normal ${bound}`,
  }));
}

function isExported(name: string): name is MetricName {
  return Object.hasOwn(metricCatalogue, name);
}
