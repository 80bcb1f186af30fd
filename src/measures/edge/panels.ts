/** Dashboard panels for stored measures. Title, unit and note come from the measure table. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { type GaugeGraph, gaugeGraphs } from '../../platform/dashboards/gauge-panels.ts';
import type { Measure, MeasureScale } from '../rules/measure-row.ts';
import { measureTable } from '../rules/measure-table.ts';

/**
 * The name of a gauge, or a gauge with properties that override the properties of its row in the measure table. A gauge
 * without a row in the table must define its title and unit here.
 */
export type MeasurePanel = string | (Partial<GaugeGraph> & Pick<GaugeGraph, 'metric'>);

/** Returns a panel for a count, such as a number of queries or sessions. */
export const countPanel = (metric: string, title: string) => ({ metric, title, unit: 'short', min: 0 }) as const;

/** Grafana unit names. */
const units: Readonly<Record<MeasureScale, string>> = {
  count: 'short',
  share: 'percentunit',
  score: 'none',
  seconds: 's',
  other: 'none',
};

const rows = new Map(
  Object.entries<Measure>(measureTable).flatMap(([measure, row]) =>
    row.gauge === undefined ? [] : [[row.gauge, { ...row, measure }]],
  ),
);

/** @param shared defaults for all panels */
export function measureGraphs(panels: readonly MeasurePanel[], shared: Partial<GaugeGraph> = {}): Builder<Panel>[] {
  return gaugeGraphs(
    panels.map((panel) => ({ ...shared, ...specOf(typeof panel === 'string' ? { metric: panel } : panel) })),
  );
}

function specOf(own: Exclude<MeasurePanel, string>): GaugeGraph {
  const row = rows.get(own.metric);
  const { title = row?.title, unit = row === undefined ? undefined : units[row.scale] } = own;
  if (title === undefined || unit === undefined)
    throw new Error(`${own.metric} has no row in the measure table; give its panel a title and a unit`);
  const isSegmented = row?.labels.includes('segment') === true;
  return {
    // Without a note, the panel shows the metric's help text.
    ...(row === undefined || row.note === '' ? {} : { description: row.note }),
    // Unless one segment is selected, the panel shows several series, each with a normal range of its own.
    ...(isSegmented && row.isWatched === true ? { normalOf: row.measure } : {}),
    ...(isSegmented ? { checked: row.measure } : {}),
    ...own,
    title,
    unit,
  };
}
