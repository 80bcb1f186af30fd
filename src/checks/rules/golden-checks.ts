/** The checks on the golden runs of a pipeline: floors, regressions and stale labels. */
import type { LabelProbe } from '../../golden/rules/labels.ts';
import type { SegmentScore } from '../../golden/rules/run.ts';
import { formatMetricKey, parseMetricKey } from '../../ir/metric-key.ts';
import { ALL_SEGMENT, type Severity } from '../../model.ts';
import { type CheckResult, type CheckShift, type CheckShifts, decimals, NO_SHIFT, shiftOf } from './check-result.ts';
import { type ComparedWithBaseline, judgeRegression, type RegressionCheck, regressionCheckName } from './regression.ts';

export interface GoldenChecks {
  readonly floors: readonly FloorCheck[];
  readonly regressions: readonly RegressionCheck[];
  readonly staleLabels: readonly StaleLabelsCheck[];
}

/** What the checks of a run are judged by. */
export interface RunEvidence {
  readonly scores: readonly SegmentScore[];
  /** The run against its baseline, or the sentence that says why there is no comparison. */
  readonly compared: ComparedWithBaseline | string;
  /** The completed runs before it, oldest first. */
  readonly history: readonly ComparedWithBaseline[];
  readonly labels: LabelCounts;
  /** By how much thresholds moved when newer versions of the set took over; left out, none did. */
  readonly shifts?: CheckShifts;
}

/** Judges every check of a pipeline on a run of one of its golden sets. */
export function judgeGoldenRun(
  { floors, regressions, staleLabels }: GoldenChecks,
  goldenSet: string,
  { scores, compared, history, labels, shifts = {} }: RunEvidence,
): CheckResult[] {
  return [
    ...floors.map((check) => judgeFloor(check, goldenSet, scores, shiftOf(shifts, floorCheckName(check, goldenSet)))),
    ...regressions.map((check) =>
      judgeRegression(check, goldenSet, compared, history, shiftOf(shifts, regressionCheckName(check, goldenSet))),
    ),
    ...staleLabels.map((check) => judgeStaleLabels(check, goldenSet, labels)),
  ];
}

/** Every check on a golden set with the name that its verdict carries and the threshold that it is judged by. */
export function listGoldenChecks(
  { floors, regressions, staleLabels }: GoldenChecks,
  goldenSet: string,
  shifts: CheckShifts = {},
): { readonly name: string; readonly severity: Severity; readonly threshold: number }[] {
  return [
    ...floors.map((check) => {
      const name = floorCheckName(check, goldenSet);
      return { name, severity: check.severity, threshold: check.below + shiftOf(shifts, name).mean };
    }),
    ...regressions.map((check) => {
      const name = regressionCheckName(check, goldenSet);
      return { name, severity: check.severity, threshold: -check.drop + shiftOf(shifts, name).mean };
    }),
    ...staleLabels.map((check) => ({
      name: staleLabelsCheckName(check, goldenSet),
      severity: check.severity,
      threshold: check.above,
    })),
  ];
}

/** How many runs before the latest one the checks look at. */
export function historyNeeded({ regressions }: GoldenChecks): number {
  return Math.max(0, ...regressions.map(({ runs }) => runs - 1));
}

/** That a golden measure stays above a floor. */
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

/** That the judged documents of a golden set are still in the store. */
export interface StaleLabelsCheck {
  /** Largest share of the judged documents that may be gone, 0..1. */
  readonly above: number;
  readonly severity: Severity;
}

/** How many judged documents were looked for and how many are gone, or why nobody could look. */
export type LabelCounts =
  | Pick<Extract<LabelProbe, { readonly kind: 'probed' }>, 'kind' | 'probed' | 'stale'>
  | Extract<LabelProbe, { readonly kind: 'unknown' }>;

export function staleLabelsCheckName(check: StaleLabelsCheck, goldenSet: string): string {
  return `stale labels above ${check.above} on ${goldenSet}`;
}

/** Judges the share of judged documents that are gone. Without a look at the store the verdict is `no_data`. */
export function judgeStaleLabels(check: StaleLabelsCheck, goldenSet: string, probe: LabelCounts): CheckResult {
  const base = {
    name: staleLabelsCheckName(check, goldenSet),
    severity: check.severity,
    threshold: check.above,
  };
  if (probe.kind === 'unknown') return { ...base, verdict: 'no_data', value: null, explanation: probe.reason };
  const ratio = probe.probed === 0 ? 0 : probe.stale / probe.probed;
  const counts = `${probe.stale} of ${probe.probed} judged documents (${decimals(ratio)}) are gone from the store`;
  if (ratio <= check.above) {
    return {
      ...base,
      verdict: 'ok',
      value: ratio,
      explanation: `${counts}, not above ${decimals(check.above)}.`,
    };
  }
  return {
    ...base,
    verdict: check.severity,
    value: ratio,
    explanation: `${counts}, above ${decimals(check.above)}: mend the labels of ${goldenSet} before you trust a fall of its scores.`,
  };
}
