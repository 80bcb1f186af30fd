/** In which order measures are shown, and which of them tell at a glance. */
import { measureRow, measureTable } from './rules/measure-table.ts';

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
