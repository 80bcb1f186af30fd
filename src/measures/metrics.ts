/** Catalog entries for the gauges that the measure table defines. */
import { boundedGauges, type MetricDefinition, type StoredGauge, storedGauge } from '../platform/metrics/definition.ts';
import type { MeasureGauge } from './rules/measure-row.ts';
import { measureTable } from './rules/measure-table.ts';

type Rows = typeof measureTable;
type Gauge = Extract<Rows[keyof Rows], { readonly gauge: MeasureGauge }>['gauge'];
type NamesOf<One extends Gauge> = One['bounds'] extends false
  ? One['name']
  : `${One['name']}${'' | '_ci_low' | '_ci_high'}`;

type GaugeName = { [Name in Gauge['name']]: NamesOf<Extract<Gauge, { readonly name: Name }>> }[Gauge['name']];
type LabelsOf<Name> = Extract<
  Gauge,
  { readonly name: Name extends `${infer Value}_ci_${string}` ? Value : Name }
>['labels'];

function metricsOf({ name, help, labels, bounds }: MeasureGauge): Record<string, MetricDefinition> {
  if (bounds === false) return { [name]: storedGauge(help, labels) };
  return boundedGauges({ [name]: help }, labels, bounds === true ? undefined : bounds);
}

export const measureMetrics = Object.assign(
  {},
  ...Object.values(measureTable).map((row) => ('gauge' in row ? metricsOf(row.gauge) : {})),
) as { readonly [Name in GaugeName]: StoredGauge<LabelsOf<Name>> };
