/** The check that a golden measure stays above a floor. */
import { type CheckShift, NO_SHIFT } from '../golden/rotation/shift.ts';
import type { SegmentScore } from '../golden/run.ts';
import { formatMetricKey, parseMetricKey } from '../ir/metric-key.ts';
import { ALL_SEGMENT, type Severity } from '../model.ts';
import { type CheckResult, decimals } from './result.ts';

export interface FloorCheck {
  /** Metric key such as `ndcg@10`. */
  readonly measure: string;
  readonly below: number;
  readonly severity: Severity;
}

/** A score that misses a moved floor only by rounding has reached it. */
const ROUNDING = 1e-12;

/** The name of a floor in metrics and reports; floors of one measure on several sets have different names. */
export function floorCheckName(check: FloorCheck, goldenSet: string): string {
  return `${check.measure} below ${check.below} on ${goldenSet}`;
}

/**
 * Judges a floor on the scores of all queries. A critical floor is critical only when even the upper 95 % bound is
 * below it, so that luck of the draw of queries pages nobody; a mean below it is a warning. A warning floor warns
 * when the mean is below it. Without a score the verdict is `no_data`.
 *
 * @param shift by which the floor moved when new versions of the set took over
 */
export function judgeFloor(
  check: FloorCheck,
  goldenSet: string,
  scores: readonly SegmentScore[],
  shift: CheckShift = NO_SHIFT,
): CheckResult {
  const key = parseMetricKey(check.measure);
  const score = scores.find((s) => s.segment === ALL_SEGMENT && s.measure === key.measure && s.k === key.k);
  const below = check.below + shift.mean;
  const base = { name: floorCheckName(check, goldenSet), severity: check.severity, threshold: below };
  if (score === undefined) {
    return {
      ...base,
      verdict: 'no_data',
      value: null,
      explanation: `${check.measure} has no score, so nobody knows.`,
    };
  }
  const bounds = `${formatMetricKey(key)} is ${decimals(score.mean)} (95 % ${decimals(score.ciLow)} to ${decimals(score.ciHigh)}, n = ${score.n})`;
  const moved = shift.mean === 0 ? '' : ` (${decimals(check.below)} at the level of the version before)`;
  const floor = `${decimals(below)}${moved}`;
  if (score.mean >= below - ROUNDING)
    return { ...base, verdict: 'ok', value: score.mean, explanation: `${bounds}, not below ${floor}.` };
  const isUpperBelow = score.ciHigh < check.below + shift.upper - ROUNDING;
  if (check.severity === 'critical' && isUpperBelow) {
    return {
      ...base,
      verdict: 'critical',
      value: score.mean,
      explanation: `${bounds}: even the upper bound is below ${floor}.`,
    };
  }
  const doubt = isUpperBelow ? '' : ', though its bounds still hold it';
  return {
    ...base,
    verdict: 'warning',
    value: score.mean,
    explanation: `${bounds}: the mean is below ${floor}${doubt}.`,
  };
}
