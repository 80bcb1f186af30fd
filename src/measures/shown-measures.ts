/** Display order and display groups of measures. */
import { ALL_SEGMENT } from '../core/model.ts';
import { goldenSetOf } from '../golden/rules/golden-set.ts';
import { indexMeasures } from './rules/index-measures.ts';
import { judgedMeasures } from './rules/judged-measures.ts';
import { measureTable } from './rules/measure-table.ts';
import { trafficMeasures } from './rules/traffic-measures.ts';

const order: readonly string[] = Object.keys(measureTable);

/** Sorts in the order of the measure table; measures that are not in the table come last. */
export function inReadingOrder<Measured extends { readonly measure: string }>(measured: readonly Measured[]) {
  const place = ({ measure }: Measured): number => {
    const found = order.indexOf(measure);
    return found < 0 ? order.length : found;
  };
  return measured.toSorted((a, b) => place(a) - place(b));
}

/** Groups of measures by topic, in the order of the overview. */
export const measureGroups = ['Golden', 'Live', 'Coverage', 'Judged', 'Agent', 'Index', 'Store and embedder'] as const;

export type MeasureGroup = (typeof measureGroups)[number];

export function measureGroup(measure: string): MeasureGroup {
  if (measure in judgedMeasures || measure.startsWith('human_')) return 'Judged';
  if (measure in indexMeasures) return 'Index';
  if (/^(episode|rewrite)_/.test(measure)) return 'Agent';
  if (/^(query_density|query_uncovered|density_|repeat_density)/.test(measure)) return 'Coverage';
  if (measure in trafficMeasures) return 'Live';
  return /^(store_|ann_|embedding_|missed_foreign)/.test(measure) ? 'Store and embedder' : 'Golden';
}

/**
 * True for measures of the whole pipeline or of a golden set. Measures of live segments are shown on a separate page.
 */
export function isOverviewSeries({ segment }: { readonly segment: string }): boolean {
  return segment === ALL_SEGMENT || goldenSetOf(segment) !== null;
}
