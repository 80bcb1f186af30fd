/** Graphs that are made of what the catalogue says of a gauge: its labels, its bounds, its help. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { type MetricName, metricCatalogue } from '../metrics/catalogue.ts';
import type { MetricDefinition } from '../metrics/definition.ts';
import { graph, withBand } from './panels.ts';
import { maxOf } from './promql.ts';

export interface GaugeGraph {
  readonly metric: string;
  readonly title: string;
  readonly unit: string;
  readonly width?: number;
  readonly min?: number;
  readonly max?: number;
  /** How to read it, beside what the catalogue says. */
  readonly note?: string;
  /** Labels whose values have no series of their own, such as one that is the same everywhere. */
  readonly without?: readonly string[];
  /** Draws the bounds as lines of their own where there may be several series, which a band would join. */
  readonly hasBoundLines?: true;
  /** Values of labels beside the chosen segment. */
  readonly where?: Readonly<Record<string, string>>;
}

/** Labels that the dashboard chooses one value of. */
const chosen: Readonly<Record<string, string>> = { pipeline: '$pipeline', segment: '$segment' };

/**
 * The graph of a gauge with one series for each value of the labels that are neither chosen nor given, and with its
 * bounds as a band where there is just one series. Nothing for a metric that this version does not export.
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
  const queries = isBanded ? withBand(value, lower, upper) : [value, ...lines];
  const { title, unit, width = 8, min, max } = spec;
  return graph({
    title,
    description: [definition.help, ...(isBanded ? ['With its 95 % confidence interval.'] : []), spec.note ?? '']
      .join(' ')
      .trim(),
    unit,
    width,
    queries,
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
  });
}

function isExported(name: string): name is MetricName {
  return Object.hasOwn(metricCatalogue, name);
}
