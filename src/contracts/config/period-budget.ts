/** So many in a length of time, as people write it: `1 per 90d`. */
import { z } from 'zod';
import { durationMs } from './duration.ts';

const form = /^([1-9]\d{0,3}) per ([1-9]\d{0,5}[mhd])$/;

/** A budget such as `1 per 90d`. */
export const periodBudgetSchema = z.string().regex(form, { error: 'must be written like "1 per 365d"' });

/** @param text that its schema has accepted */
export function periodBudget(text: string): { readonly count: number; readonly periodMs: number } {
  const [, count = '1', period = '365d'] = form.exec(text) ?? [];
  return { count: Number(count), periodMs: durationMs(period) };
}
