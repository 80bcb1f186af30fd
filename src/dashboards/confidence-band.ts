/** How bounds and thresholds are drawn: by the names that their series have in every graph. */
import type { DynamicConfigValue } from '@grafana/grafana-foundation-sdk/dashboard';
import type { PromQuery } from './query.ts';

const LOW = '95 % lower bound';
const HIGH = '95 % upper bound';

const hidden = { id: 'custom.hideFrom', value: { legend: true, tooltip: false, viz: false } };

/** The upper bound is filled down to the lower one, and neither has a line. */
export const bandStyle: readonly { readonly name: string; readonly properties: DynamicConfigValue[] }[] = [
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

/** Names of the series that are thresholds. */
export const THRESHOLD_NAMES = '/^threshold/';

export const thresholdStyle: DynamicConfigValue[] = [
  { id: 'custom.lineStyle', value: { fill: 'dash', dash: [10, 10] } },
  { id: 'custom.lineWidth', value: 1 },
  { id: 'color', value: { mode: 'fixed', fixedColor: 'red' } },
];

/** A value with its bounds; the expressions must give one series each, since a band joins series by name. */
export function withBand(value: PromQuery, low: string, high: string): PromQuery[] {
  return [value, { expr: low, legend: LOW }, { expr: high, legend: HIGH }];
}
