/** The checks on the golden runs of a pipeline: floors, regressions, stale labels and forbidden documents. */

import { ALL_SEGMENT, type Severity } from '../../core/model.ts';
import type { LabelProbe } from '../../golden/rules/labels.ts';
import type { SegmentScore } from '../../golden/rules/run.ts';
import type { ForbiddenResults } from '../../golden/rules/unwanted-answers.ts';
import { formatMetricKey, parseMetricKey } from '../../math/ir/metric-key.ts';
import type { ConfiguredCheck } from './check-state.ts';
import { type ComparedWithBaseline, judgeRegression, type RegressionCheck, regressionCheckName } from './regression.ts';
import {
  type CheckResult,
  type CheckShift,
  type CheckShifts,
  decimals,
  NO_SHIFT,
  NO_VALUE,
  shiftOf,
} from './threshold.ts';

export interface GoldenChecks {
  readonly floors: readonly FloorCheck[];
  readonly regressions: readonly RegressionCheck[];
  readonly staleLabels: readonly StaleLabelsCheck[];
  readonly forbidden: readonly ForbiddenCheck[];
}

/** What the checks of a run are judged by. */
export interface RunEvidence {
  readonly scores: readonly SegmentScore[];
  /** The run against its baseline, or the sentence that says why there is no comparison. */
  readonly compared: ComparedWithBaseline | string;
  /** The completed runs before it, oldest first. */
  readonly history: readonly ComparedWithBaseline[];
  /** What the checks came to on the latest of these runs; left out, there was none. */
  readonly before?: readonly Pick<CheckResult, 'name' | 'verdict'>[];
  readonly labels: LabelCounts;
  /** Null when the set forbids nothing. */
  readonly forbidden: ForbiddenResults | null;
  /** By how much thresholds moved when newer versions of the set took over; left out, none did. */
  readonly shifts?: CheckShifts;
}

/** Judges every check of a pipeline on a run of one of its golden sets. */
export function judgeGoldenRun(
  { floors, regressions, staleLabels, forbidden: forbiddenChecks }: GoldenChecks,
  goldenSet: string,
  { scores, compared, history, before = [], labels, forbidden, shifts = {} }: RunEvidence,
): CheckResult[] {
  return [
    ...floors.map((check) => judgeFloor(check, goldenSet, scores, shiftOf(shifts, floorCheckName(check, goldenSet)))),
    ...regressions.map((check) => {
      const name = regressionCheckName(check, goldenSet);
      const stood = before.find((one) => one.name === name)?.verdict ?? null;
      return judgeRegression(check, goldenSet, compared, history, shiftOf(shifts, name), stood);
    }),
    ...staleLabels.map((check) => judgeStaleLabels(check, goldenSet, labels)),
    ...forbiddenChecks.map((check) => judgeForbidden(check, goldenSet, forbidden)),
  ];
}

/** Every check on a golden set with the name that its verdict carries and the threshold that it is judged by. */
export function listGoldenChecks(
  { floors, regressions, staleLabels, forbidden }: GoldenChecks,
  goldenSet: string,
  shifts: CheckShifts = {},
): Pick<ConfiguredCheck, 'kind' | 'measure' | 'name' | 'severity' | 'threshold'>[] {
  return [
    ...floors.map((check) => {
      const name = floorCheckName(check, goldenSet);
      const threshold = check.below + shiftOf(shifts, name).mean;
      return { kind: 'floor' as const, measure: check.measure, name, severity: check.severity, threshold };
    }),
    ...regressions.map((check) => {
      const name = regressionCheckName(check, goldenSet);
      const threshold = -check.drop + shiftOf(shifts, name).mean;
      return { kind: 'regression' as const, measure: check.measure, name, severity: check.severity, threshold };
    }),
    ...staleLabels.map((check) => ({
      kind: 'stale_labels' as const,
      measure: 'stale_labels',
      name: staleLabelsCheckName(check, goldenSet),
      severity: check.severity,
      threshold: check.above,
    })),
    ...forbidden.map((check) => ({
      kind: 'forbidden_results' as const,
      measure: 'forbidden_results',
      name: forbiddenCheckName(check, goldenSet),
      severity: check.severity,
      threshold: 0,
    })),
  ];
}

/** How many runs before the latest one the checks look at. */
export function historyNeeded({ regressions }: GoldenChecks): number {
  return Math.max(0, ...regressions.map(({ runs }) => runs - 1));
}

/** That a golden measure stays above a floor. */
export interface FloorCheck {
  /** Given by the config, so that it stays what it is called when its threshold changes. */
  readonly name?: string | undefined;
  /** Metric key such as `ndcg@10`. */
  readonly measure: string;
  readonly below: number;
  readonly severity: Severity;
}

/** A score that misses a moved floor only by rounding has reached it. */
const ROUNDING = 1e-12;

/** The name of a floor in metrics and reports; floors of one measure on several sets have different names. */
export function floorCheckName(check: FloorCheck, goldenSet: string): string {
  return `${check.name ?? `${check.measure} below ${check.below}`} on ${goldenSet}`;
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
      ...NO_VALUE,
      verdict: 'no_data',
      isBeyond: false,
      explanation: `${check.measure} has no score, so nobody knows.`,
    };
  }
  const bounds = `${formatMetricKey(key)} is ${decimals(score.mean)} (95 % ${decimals(score.ciLow)} to ${decimals(score.ciHigh)}, n = ${score.n})`;
  const moved = shift.mean === 0 ? '' : ` (${decimals(check.below)} at the level of the version before)`;
  const floor = `${decimals(below)}${moved}`;
  const isBeyond = score.mean < below - ROUNDING;
  const { mean: value, ciLow, ciHigh, n } = score;
  const judged = { ...base, value, ciLow, ciHigh, n, isBeyond };
  if (!isBeyond) return { ...judged, verdict: 'ok', explanation: `${bounds}, not below ${floor}.` };
  const isUpperBelow = score.ciHigh < check.below + shift.upper - ROUNDING;
  if (check.severity === 'critical' && isUpperBelow) {
    return {
      ...judged,
      verdict: 'critical',
      explanation: `${bounds}: even the upper bound is below ${floor}.`,
    };
  }
  const doubt = isUpperBelow ? '' : ', though its bounds still hold it';
  return {
    ...judged,
    verdict: 'warning',
    explanation: `${bounds}: the mean is below ${floor}${doubt}.`,
  };
}

/** That the judgments of a golden set are up to date: their documents were not superseded. A lost document counts in the scores. */
export interface StaleLabelsCheck {
  /** Given by the config, so that it stays what it is called when its threshold changes. */
  readonly name?: string | undefined;
  /** Largest share of the judged documents that may be superseded, 0..1. */
  readonly above: number;
  readonly severity: Severity;
}

/** How many judged documents were looked up and what became of them, or why the store could not be probed. */
export type LabelCounts =
  | Pick<Extract<LabelProbe, { readonly kind: 'probed' }>, 'kind' | 'probed' | 'stale' | 'lost'>
  | Extract<LabelProbe, { readonly kind: 'unknown' }>;

export function staleLabelsCheckName(check: StaleLabelsCheck, goldenSet: string): string {
  return `${check.name ?? `stale labels above ${check.above}`} on ${goldenSet}`;
}

/** Evaluates the share of judged documents that are superseded. Without a probe of the store the verdict is `no_data`. */
export function judgeStaleLabels(check: StaleLabelsCheck, goldenSet: string, probe: LabelCounts): CheckResult {
  const base = {
    name: staleLabelsCheckName(check, goldenSet),
    severity: check.severity,
    threshold: check.above,
  };
  if (probe.kind === 'unknown') {
    return { ...base, ...NO_VALUE, verdict: 'no_data', isBeyond: false, explanation: probe.reason };
  }
  const ratio = probe.probed === 0 ? 0 : probe.stale / probe.probed;
  const lost = probe.lost === 0 ? '' : `; ${probe.lost} more are lost, which counts in the scores`;
  const counts = `${probe.stale} of ${probe.probed} judged documents (${decimals(ratio)}) are superseded${lost}`;
  const isBeyond = ratio > check.above;
  const judged = { ...base, value: ratio, ciLow: null, ciHigh: null, n: probe.probed, isBeyond };
  if (!isBeyond) {
    return {
      ...judged,
      verdict: 'ok',
      explanation: `${counts}, not above ${decimals(check.above)}.`,
    };
  }
  return {
    ...judged,
    verdict: check.severity,
    explanation: `${counts}, above ${decimals(check.above)}: renew the judgments of ${goldenSet} with \`recalld golden check\`, then pin a new baseline.`,
  };
}

/** That no query brings a document that is forbidden to it. */
export interface ForbiddenCheck {
  /** Given by the config. */
  readonly name?: string | undefined;
  readonly severity: Severity;
}

/** Results that an explanation names; the run has them all. */
const MAX_NAMED = 3;

export function forbiddenCheckName(check: ForbiddenCheck, goldenSet: string): string {
  return `${check.name ?? 'forbidden results'} on ${goldenSet}`;
}

/** Judges the forbidden documents that came back twice: one is a breach. No statistics, since what came back did. */
export function judgeForbidden(check: ForbiddenCheck, goldenSet: string, found: ForbiddenResults | null): CheckResult {
  const base = { name: forbiddenCheckName(check, goldenSet), severity: check.severity, threshold: 0 };
  const counted = { ciLow: null, ciHigh: null };
  if (found === null) {
    const explanation = `${goldenSet} forbids no document.`;
    return { ...base, ...counted, value: 0, n: 0, isBeyond: false, verdict: 'ok', explanation };
  }
  const { asked, failed, confirmed, unconfirmed } = found;
  if (confirmed.length > 0) {
    const named = confirmed
      .slice(0, MAX_NAMED)
      .map(({ queryId, documentId, rank }) => `${documentId} at rank ${rank} of ${queryId}`);
    const rest = confirmed.length > MAX_NAMED ? ` and ${confirmed.length - MAX_NAMED} more` : '';
    const came = confirmed.length === 1 ? '1 forbidden document' : `${confirmed.length} forbidden documents`;
    const explanation = `${came} came back, asked twice: ${named.join(', ')}${rest}.`;
    const breach = { value: confirmed.length, n: asked, isBeyond: true, verdict: check.severity, explanation };
    return { ...base, ...counted, ...breach };
  }
  if (asked === 0 || unconfirmed > 0) {
    const explanation =
      unconfirmed > 0
        ? `${unconfirmed} forbidden ${unconfirmed === 1 ? 'document' : 'documents'} came back once, and the retriever failed the second asking, so nobody knows.`
        : `The retriever failed every query with forbidden documents (${failed}), so nobody knows.`;
    return { ...base, ...NO_VALUE, isBeyond: false, verdict: 'no_data', explanation };
  }
  const unasked = failed === 0 ? '' : `; ${failed} more failed`;
  const explanation = `No forbidden document came back to ${asked} queries${unasked}.`;
  return { ...base, ...counted, value: 0, n: asked, isBeyond: false, verdict: 'ok', explanation };
}
