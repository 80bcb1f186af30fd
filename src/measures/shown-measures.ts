/** How the values of measures are written on pages, in which order, and which of them tell at a glance. */

import { compact, count, duration, score } from '../core/format.ts';
import { percent } from '../core/text/spelling.ts';
import type { MeasureScale } from './rules/measure-row.ts';
import { measureRow, measureTable } from './rules/measure-table.ts';

const shows: Record<MeasureScale, (value: number) => string> = {
  count,
  share: (value) => percent(value),
  score,
  seconds: duration,
  other: compact,
};

export function shownMeasure(measure: string) {
  const { title, note, scale } = measureRow(measure);
  return {
    title,
    /** One line for people who see it for the first time; empty for a measure that nobody wrote one for. */
    note,
    show: shows[scale],
  };
}

const order: readonly string[] = Object.keys(measureTable);

/** In the order of the words; what has no entry comes last. */
export function inReadingOrder<Measured extends { readonly measure: string }>(
  measured: readonly Measured[],
): Measured[] {
  const place = ({ measure }: Measured): number => {
    const found = order.indexOf(measure);
    return found < 0 ? order.length : found;
  };
  return measured.toSorted((a, b) => place(a) - place(b));
}

/** Whether it tells at a glance how a pipeline is; the rest stands on its own page. */
export function isGlanceMeasure(measure: string): boolean {
  return measureRow(measure).isGlance === true;
}
