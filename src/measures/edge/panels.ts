/** Panels of stored measures: title, unit and note are those of their rows in the measure table. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { type GaugeGraph, gaugeGraphs } from '../../platform/dashboards/panels.ts';
import type { Measure, MeasureScale } from '../rules/measure-row.ts';
import { measureTable } from '../rules/measure-table.ts';

/** A gauge by its name, with what its row does not say; a gauge of no measure says everything itself. */
export type MeasurePanel = string | (Partial<GaugeGraph> & Pick<GaugeGraph, 'metric'>);

/** As Grafana names them. */
const units: Readonly<Record<MeasureScale, string>> = {
  count: 'short',
  share: 'percentunit',
  score: 'none',
  seconds: 's',
  other: 'none',
};

const rows = new Map(
  Object.values<Measure>(measureTable).flatMap((row) => (row.gauge === undefined ? [] : [[row.gauge.name, row]])),
);

/** @param shared by all of them */
export function measureGraphs(panels: readonly MeasurePanel[], shared: Partial<GaugeGraph> = {}): Builder<Panel>[] {
  return gaugeGraphs(
    panels.map((panel) => ({ ...shared, ...specOf(typeof panel === 'string' ? { metric: panel } : panel) })),
  );
}

function specOf(own: Exclude<MeasurePanel, string>): GaugeGraph {
  const row = rows.get(own.metric);
  const { title = row?.title, unit = row === undefined ? undefined : units[row.scale] } = own;
  if (title === undefined || unit === undefined) throw new Error(`${own.metric} is the gauge of no measure`);
  return { note: row?.note ?? '', ...own, title, unit };
}
