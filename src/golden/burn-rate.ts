/**
 * Burn rates: how many times faster than allowed the error budget of an objective is spent, over a long and a short
 * window at once (Google SRE Workbook, chapter 5, "Multiwindow, Multi-Burn-Rate Alerts").
 */
import type { AlertSeverity } from '../metrics/alert-rules.ts';

export interface BurnRate {
  /** Times the allowed speed. */
  readonly factor: number;
  readonly short: string;
  readonly long: string;
  readonly severity: Extract<AlertSeverity, 'critical' | 'warning'>;
}

/** Share of the budget that may be spent within the long window before somebody is called. */
const pairs = [
  { budgetShare: 0.02, short: '5m', long: '1h', longHours: 1, severity: 'critical' },
  { budgetShare: 0.05, short: '30m', long: '6h', longHours: 6, severity: 'critical' },
  { budgetShare: 0.1, short: '2h', long: '1d', longHours: 24, severity: 'warning' },
  { budgetShare: 0.1, short: '6h', long: '3d', longHours: 72, severity: 'warning' },
] as const;

export interface BurnRates {
  readonly possible: readonly BurnRate[];
  /** One sentence for each pair of windows that could never fire. */
  readonly refused: readonly string[];
}

/**
 * The pairs of windows that can fire for an objective. At most all queries are bad, which spends the budget
 * 1 / (1 - target) times too fast, so that a pair whose factor x (1 - target) is 1 or more would never fire.
 *
 * @param target share of good queries, in (0, 1)
 * @param windowDays days that the budget is for
 */
export function burnRates(target: number, windowDays: number): BurnRates {
  const possible: BurnRate[] = [];
  const refused: string[] = [];
  for (const { budgetShare, short, long, longHours, severity } of pairs) {
    const factor = round((budgetShare * windowDays * 24) / longHours);
    const ratio = round(factor * (1 - target));
    if (ratio < 1) possible.push({ factor, short, long, severity });
    else {
      const needed = Math.ceil((1 - 1 / factor) * 1000) / 10;
      refused.push(
        `An objective of ${target} allows no burn rate of ${factor} over ${long}: it would take ${round(ratio * 100)} % of bad queries, and there are never more than 100 %. It takes an objective above ${needed} %.`,
      );
    }
  }
  return { possible, refused };
}

/** Without the last digits of binary fractions, such as 14.399999999999999. */
function round(value: number): number {
  return Number(value.toPrecision(10));
}
