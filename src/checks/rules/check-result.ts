import type { Severity, Verdict } from '../../model.ts';

/** What a check came to. */
export interface CheckResult {
  readonly name: string;
  readonly severity: Severity;
  readonly verdict: Verdict;
  readonly value: number | null;
  readonly threshold: number;
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
