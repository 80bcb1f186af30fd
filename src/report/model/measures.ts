/** Content for stored measures, with titles, units and explanations from the measure table. */
import { ALL_SEGMENT } from '../../core/model.ts';
import type { LatestMeasurement } from '../../measures/measurements.ts';
import { gapWords, measureRow } from '../../measures/rules/measure-table.ts';
import type { TrendChart, TrendPoint } from './charts.ts';
import type { Column, Content } from './content.ts';
import { age, bounded, missing } from './show.ts';

export interface LatestOf {
  readonly latest: Pick<LatestMeasurement, 'measure' | 'segment' | 'newest' | 'gap'>;
  readonly isTooOld: boolean;
}

/** The latest value, or the reason why there is none. */
export function latestValue({ latest: { measure, newest, gap }, isTooOld }: LatestOf): Content {
  if (gap !== null) return missing(`none: ${gapWords(gap.reason)}`);
  if (isTooOld || newest === null) return missing('withheld');
  return [newest.details['is_at_least'] === true && 'at least ', bounded(newest, measureRow(measure).scale)];
}

export function latestSize({ latest: { newest, gap }, isTooOld }: LatestOf): Content {
  return gap === null && !isTooOld && newest?.n;
}

export function latestAge({ latest: { newest, gap }, isTooOld }: LatestOf): Content {
  const last = gap ?? newest;
  return last !== null && age(last.measuredAt, isTooOld);
}

export const segmentColumn: Column<LatestOf> = [
  'Segment',
  ({ latest: { segment } }) => (segment === ALL_SEGMENT ? '' : segment),
  'minor',
];

export function measureChart(
  measure: string,
  points: readonly TrendPoint[],
  rest: Partial<TrendChart> & { readonly empty: string },
): TrendChart {
  const { title, scale } = measureRow(measure);
  return { kind: 'trend', id: `trend-${measure}`, title, series: [{ name: title, points }], unit: scale, ...rest };
}
