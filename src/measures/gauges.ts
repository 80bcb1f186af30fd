/** Stored measurements -> samples of the gauges of their measures. */
import type { GaugeSample } from '../metrics/meter.ts';
import type { LatestMeasurement } from './measurements.ts';
import { gaugeOf } from './rules/measure-table.ts';

/** What is stored of all measures, read once for all who show them. */
export interface MeasuredRows {
  readonly measurements: readonly LatestMeasurement[];
}

/** The value and its bounds, under what the measure table exports them as; nothing for a measure that is no gauge. */
export function valueSamples({
  pipeline,
  segment,
  measure,
  newest,
}: Pick<LatestMeasurement, 'pipeline' | 'segment' | 'measure' | 'newest'>): GaugeSample[] {
  const gauge = gaugeOf(measure);
  if (gauge === null || newest === null) return [];
  const known = { pipeline, segment, k: String(newest.details['k']) };
  const labels = Object.fromEntries(gauge.labels.map((label) => [label, known[label]]));
  return boundedSamples(gauge.name as GaugeSample['name'], labels, newest);
}

/** A gauge with its bounds `_ci_low` and `_ci_high`, which are left out where there are none. */
export function boundedSamples(
  name: GaugeSample['name'],
  labels: GaugeSample['labels'],
  { value, ciLow, ciHigh }: { readonly value: number; readonly ciLow: number | null; readonly ciHigh: number | null },
): GaugeSample[] {
  const bound = (side: 'low' | 'high', of: number | null): GaugeSample[] =>
    of === null ? [] : [{ name: `${name}_ci_${side}` as GaugeSample['name'], labels, value: of }];
  return [{ name, labels, value }, ...bound('low', ciLow), ...bound('high', ciHigh)];
}
