/** What a check came to, and the shift of its threshold when a golden set takes over a new version. */
import type { Severity, Verdict } from '../../model.ts';

/** By how much a check is judged differently from what the config says. */
export interface CheckShift {
  /** Added to the threshold of the mean, or to the least fall of a regression (then <= 0). */
  readonly mean: number;
  /** Added to the threshold of the upper bound; never above `mean`. Regressions have no use for it. */
  readonly upper: number;
}

export const NO_SHIFT: CheckShift = { mean: 0, upper: 0 };

/** Shifts by the name of the check. */
export type CheckShifts = Readonly<Record<string, CheckShift>>;

/** Several rotations one after the other move a threshold by the sum of what each did. */
export function addShifts(rotations: readonly CheckShifts[]): CheckShifts {
  const sums: Record<string, CheckShift> = {};
  for (const [name, { mean, upper }] of rotations.flatMap((shifts) => Object.entries(shifts))) {
    const before = sums[name] ?? NO_SHIFT;
    sums[name] = { mean: before.mean + mean, upper: before.upper + upper };
  }
  return sums;
}

/** The shift of a check; a check that the config got after the switch has none. */
export function shiftOf(shifts: CheckShifts, name: string): CheckShift {
  return shifts[name] ?? NO_SHIFT;
}

/** What was measured, with what is known of how sure it is. */
export interface MeasuredValue {
  readonly value: number | null;
  /** 95 %; null where the value is known for certain or cannot be bounded. */
  readonly ciLow: number | null;
  readonly ciHigh: number | null;
  /** Queries, opinions or documents behind it; null where it is no estimate. */
  readonly n: number | null;
}

export const NO_VALUE: MeasuredValue = { value: null, ciLow: null, ciHigh: null, n: null };

/** What a check came to. */
export interface CheckResult extends MeasuredValue {
  readonly name: string;
  readonly severity: Severity;
  readonly verdict: Verdict;
  readonly threshold: number;
  /** Whether this measurement by itself is beyond the threshold, confirmed by others or not. */
  readonly isBeyond: boolean;
  /** One sentence with the numbers behind the verdict. */
  readonly explanation: string;
}

/** Whether a check stands beyond what is expected of it; not knowing is no breach. */
export function isBreach(verdict: Verdict | null): verdict is Severity {
  return verdict === 'warning' || verdict === 'critical';
}

/** The worst of some verdicts; `ok` for none. Not knowing is worse than a warning and better than certain harm. */
export function worstVerdict(verdicts: readonly Verdict[]): Verdict {
  const order: readonly Verdict[] = ['critical', 'no_data', 'warning', 'ok'];
  return order.find((verdict) => verdicts.includes(verdict)) ?? 'ok';
}

/** Four decimals, as scores are shown everywhere. */
export function decimals(value: number): string {
  return value.toFixed(4);
}
