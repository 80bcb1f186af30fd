/** Styles of series in graphs: bounds, thresholds, normal ranges and outcomes. */
import type { DynamicConfigValue } from '@grafana/grafana-foundation-sdk/dashboard';
import type { PromQuery } from './promql.ts';

/** Names of the series that are styled as bounds and thresholds. */
const LOW = '95 % lower bound';
const HIGH = '95 % upper bound';

const hidden = { id: 'custom.hideFrom', value: { legend: true, tooltip: false, viz: false } };

/** Fills the area between the upper and lower bounds, without lines. */
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

interface StyleByPattern {
  /** A regular expression that matches names of series. */
  readonly pattern: string;
  readonly properties: DynamicConfigValue[];
}

function fixed(color: string): DynamicConfigValue {
  return { id: 'color', value: { mode: 'fixed', fixedColor: color } };
}

const normalStyle: DynamicConfigValue[] = [
  { id: 'custom.lineStyle', value: { fill: 'dot', dash: [2, 6] } },
  { id: 'custom.lineWidth', value: 1 },
  fixed('green'),
];

const thresholdStyle: DynamicConfigValue[] = [
  { id: 'custom.lineStyle', value: { fill: 'dash', dash: [10, 10] } },
  { id: 'custom.lineWidth', value: 1 },
  fixed('red'),
];

/** Styles of the lines that are drawn in addition to the values; a later style overrides an earlier one. */
export const lineStyles: readonly StyleByPattern[] = [
  { pattern: '/^threshold/', properties: thresholdStyle },
  { pattern: String.raw`/^threshold.*\(warning\)$/`, properties: [fixed('orange')] },
  { pattern: '/^normal /', properties: normalStyle },
];

/** Colors by meaning for graphs of outcomes, because the default palette may draw failures in green. */
export const outcomeStyles: readonly StyleByPattern[] = [
  { pattern: '/^(ok|completed|positive|sent|.*, positive)$/', properties: [fixed('green')] },
  { pattern: '/^(empty|cancelled|running|neutral|.*, neutral)$/', properties: [fixed('blue')] },
  { pattern: '/^(timeout|void)$/', properties: [fixed('orange')] },
  { pattern: '/^(error|failed|negative|.*, negative)$/', properties: [fixed('red')] },
  { pattern: '/^(dead|given_up)$/', properties: [fixed('dark-red')] },
];

/**
 * Minimum upper end of an axis that starts at 0, by unit. Without a minimum, Grafana draws a series of zeros on an axis
 * up to 100, which is 10000 % for shares. Units that are not listed have no minimum.
 */
export const axisEnds: Readonly<Record<string, number>> = {
  percentunit: 0.01,
  short: 1,
  none: 0.1,
  ops: 0.01,
  reqps: 0.01,
  currencyUSD: 0.01,
};

/**
 * Returns the queries for a value and its bounds. Each expression must return one series, because Grafana finds the two
 * edges of the band by series name.
 */
export function withBand(value: PromQuery, low: string, high: string): PromQuery[] {
  return [value, { expr: low, legend: LOW }, { expr: high, legend: HIGH }];
}
