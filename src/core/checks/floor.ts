/** The check that a golden measure stays above a floor. */
import type { SegmentScore } from '../golden/run.ts';
import { formatMetricKey, parseMetricKey } from '../ir/metric-key.ts';
import { ALL_SEGMENT, type Severity, type Verdict } from '../model.ts';

export interface FloorCheck {
  /** Metric key such as `ndcg@10`. */
  readonly measure: string;
  readonly below: number;
  readonly severity: Severity;
}

export interface CheckResult {
  readonly name: string;
  readonly severity: Severity;
  readonly verdict: Verdict;
  readonly value: number | null;
  readonly threshold: number;
  /** One sentence with the numbers behind the verdict. */
  readonly explanation: string;
}

/** The name that a floor has in metrics and reports; it tells apart floors of one measure on several sets. */
export function floorCheckName(check: FloorCheck, goldenSet: string): string {
  return `${check.measure} below ${check.below} on ${goldenSet}`;
}

/**
 * Judges a floor on the scores of all queries. A critical floor is critical only when even the upper 95 % bound is
 * below it, so that luck of the draw of queries pages nobody; a mean below it is a warning. A warning floor warns
 * when the mean is below it. Without a score the verdict is `no_data`.
 */
export function judgeFloor(
  check: FloorCheck,
  goldenSet: string,
  scores: readonly SegmentScore[],
): CheckResult {
  const key = parseMetricKey(check.measure);
  const score = scores.find((s) => s.segment === ALL_SEGMENT && s.measure === key.measure && s.k === key.k);
  const base = { name: floorCheckName(check, goldenSet), severity: check.severity, threshold: check.below };
  if (score === undefined) {
    return {
      ...base,
      verdict: 'no_data',
      value: null,
      explanation: `${check.measure} has no score, so nobody knows.`,
    };
  }
  const bounds = `${formatMetricKey(key)} is ${decimals(score.mean)} (95 % ${decimals(score.ciLow)} to ${decimals(score.ciHigh)}, n = ${score.n})`;
  const floor = decimals(check.below);
  if (score.mean >= check.below)
    return { ...base, verdict: 'ok', value: score.mean, explanation: `${bounds}, not below ${floor}.` };
  if (check.severity === 'critical' && score.ciHigh < check.below) {
    return {
      ...base,
      verdict: 'critical',
      value: score.mean,
      explanation: `${bounds}: even the upper bound is below ${floor}.`,
    };
  }
  const doubt = score.ciHigh < check.below ? '' : ', though its bounds still hold it';
  return {
    ...base,
    verdict: 'warning',
    value: score.mean,
    explanation: `${bounds}: the mean is below ${floor}${doubt}.`,
  };
}

/** The worst of some verdicts; `ok` for none. Not knowing is worse than a warning and better than certain harm. */
export function worstVerdict(verdicts: readonly Verdict[]): Verdict {
  const order: readonly Verdict[] = ['critical', 'no_data', 'warning', 'ok'];
  return order.find((verdict) => verdicts.includes(verdict)) ?? 'ok';
}

function decimals(value: number): string {
  return value.toFixed(4);
}
