/** The order in which measures are shown, and which of them the overview shows. */
import { measureRow, measureTable } from './rules/measure-table.ts';

const order: readonly string[] = Object.keys(measureTable);

/** Sorts in the order of the measure table; measures that are not in the table come last. */
export function inReadingOrder<Measured extends { readonly measure: string }>(
  measured: readonly Measured[],
): Measured[] {
  const place = ({ measure }: Measured): number => {
    const found = order.indexOf(measure);
    return found < 0 ? order.length : found;
  };
  return measured.toSorted((a, b) => place(a) - place(b));
}

export function isGlanceMeasure(measure: string): boolean {
  return measureRow(measure).isGlance === true;
}
