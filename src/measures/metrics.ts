/** Catalog entries for the gauges that the measure table defines. */
import { boundedGauges, type MetricDefinition, type StoredGauge, storedGauge } from '../platform/metrics/definition.ts';
import type { MeasureGauge } from './rules/measure-row.ts';
import { measureTable } from './rules/measure-table.ts';

type Rows = typeof measureTable;
type Gauge = Extract<Rows[keyof Rows], MeasureGauge>;
type NamesOf<One extends Gauge> = One['bounds'] extends false
  ? One['gauge']
  : `${One['gauge']}${'' | '_ci_low' | '_ci_high'}`;

type GaugeName = { [Name in Gauge['gauge']]: NamesOf<Extract<Gauge, { readonly gauge: Name }>> }[Gauge['gauge']];
type LabelsOf<Name> = Extract<
  Gauge,
  { readonly gauge: Name extends `${infer Value}_ci_${string}` ? Value : Name }
>['labels'];

function metricsOf({ gauge: name, help, labels, bounds }: MeasureGauge): Record<string, MetricDefinition> {
  if (bounds === false) return { [name]: storedGauge(help, labels) };
  return boundedGauges({ [name]: help }, labels, bounds === true ? undefined : bounds);
}

export const measureMetrics = Object.assign(
  {},
  ...Object.values(measureTable).map((row) => ('gauge' in row ? metricsOf(row) : {})),
) as { readonly [Name in GaugeName]: StoredGauge<LabelsOf<Name>> };
