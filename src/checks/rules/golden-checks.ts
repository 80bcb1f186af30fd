/** The checks on the golden runs of a pipeline: floors, regressions, stale labels and forbidden documents. */

import { ALL_SEGMENT, type Severity } from '../../core/model.ts';
import type { ForbiddenResults } from '../../golden/rules/forbidden-results.ts';
import type { LabelProbe } from '../../golden/rules/labels.ts';
import type { SegmentScore } from '../../golden/rules/run.ts';
import { formatMetricKey, parseMetricKey } from '../../math/ir/metric-key.ts';
import type { ConfiguredCheck } from './check-state.ts';
import { type ComparedWithBaseline, evaluateRegression, type RegressionCheck } from './regression.ts';
import {
  type CheckOutcome,
  type CheckResult,
  type CheckShift,
  type CheckShifts,
  decimals,
  NO_SHIFT,
  NO_VALUE,
  shiftOf,
} from './threshold.ts';

/** A check of the config on golden runs; it is judged on every golden set of its pipeline. */
export type GoldenCheck =
  | ({ readonly kind: 'floor' } & FloorCheck)
  | ({ readonly kind: 'regression' } & RegressionCheck)
  | ({ readonly kind: 'stale_labels' } & StaleLabelsCheck)
  | ({ readonly kind: 'forbidden_results' } & ForbiddenCheck);

/** The checks of one kind. */
export function ofKind<Kind extends GoldenCheck['kind']>(
  checks: readonly GoldenCheck[],
  kind: Kind,
): Extract<GoldenCheck, { readonly kind: Kind }>[] {
  return checks.filter((check): check is Extract<GoldenCheck, { readonly kind: Kind }> => check.kind === kind);
}

/** The name of a check in metrics and reports; it tells the same check on several sets apart. */
export function goldenCheckName(check: GoldenCheck, goldenSet: string): string {
  return `${check.name ?? expectationOf(check)} on ${goldenSet}`;
}

function expectationOf(check: GoldenCheck): string {
  switch (check.kind) {
    case 'floor':
      return `${check.measure} below ${check.below}`;
    case 'regression':
      return `${check.measure} regression by ${check.drop}`;
    case 'stale_labels':
      return `stale labels above ${check.above}`;
    case 'forbidden_results':
      return 'forbidden results';
  }
}

/** The threshold that a check is judged by, in the units of its value. */
function thresholdOf(check: GoldenCheck, { mean }: CheckShift): number {
  switch (check.kind) {
    case 'floor':
      return check.below + mean;
    case 'regression':
      return mean - check.drop;
    case 'stale_labels':
      return check.above;
    case 'forbidden_results':
      return 0;
  }
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
export function evaluateGoldenRun(
  checks: readonly GoldenCheck[],
  goldenSet: string,
  evidence: RunEvidence,
): CheckResult[] {
  return checks.map((check) => {
    const name = goldenCheckName(check, goldenSet);
    const shift = shiftOf(evidence.shifts ?? {}, name);
    const { severity } = check;
    return { name, severity, threshold: thresholdOf(check, shift), ...judge(check, goldenSet, name, evidence, shift) };
  });
}

function judge(
  check: GoldenCheck,
  goldenSet: string,
  name: string,
  { scores, compared, history, before = [], labels, forbidden }: RunEvidence,
  shift: CheckShift,
): CheckOutcome {
  switch (check.kind) {
    case 'floor':
      return evaluateFloor(check, scores, shift);
    case 'regression': {
      const stood = before.find((one) => one.name === name)?.verdict ?? null;
      return evaluateRegression(check, compared, history, shift, stood);
    }
    case 'stale_labels':
      return evaluateStaleLabels(check, goldenSet, labels);
    case 'forbidden_results':
      return evaluateForbidden(check, goldenSet, forbidden);
  }
}

/** Every check on a golden set, by the threshold that the config gives it. */
export function listGoldenChecks(
  checks: readonly GoldenCheck[],
  goldenSet: string,
): Pick<ConfiguredCheck, 'kind' | 'measure' | 'name' | 'severity' | 'threshold'>[] {
  return checks.map((check) => ({
    kind: check.kind,
    measure: 'measure' in check ? check.measure : check.kind,
    name: goldenCheckName(check, goldenSet),
    severity: check.severity,
    threshold: thresholdOf(check, NO_SHIFT),
  }));
}

/** How many runs before the latest one the checks look at. */
export function historyNeeded(checks: readonly GoldenCheck[]): number {
  return Math.max(0, ...ofKind(checks, 'regression').map(({ runs }) => runs - 1));
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

/**
 * Judges a floor on the scores of all queries. A critical floor is critical only when even the upper 95 % bound is
 * below it, so that luck of the draw of queries pages nobody; a mean below it is a warning. A warning floor warns
 * when the mean is below it. Without a score the verdict is `no_data`.
 *
 * @param shift by which the floor moved when new versions of the set took over
 */
function evaluateFloor(check: FloorCheck, scores: readonly SegmentScore[], shift: CheckShift): CheckOutcome {
  const key = parseMetricKey(check.measure);
  const score = scores.find((s) => s.segment === ALL_SEGMENT && s.measure === key.measure && s.k === key.k);
  const below = check.below + shift.mean;
  if (score === undefined) {
    const explanation = `${check.measure} has no score, so nobody knows.`;
    return { ...NO_VALUE, verdict: 'no_data', isBeyond: false, explanation };
  }
  const bounds = `${formatMetricKey(key)} is ${decimals(score.mean)} (95 % ${decimals(score.ciLow)} to ${decimals(score.ciHigh)}, n = ${score.n})`;
  const moved = shift.mean === 0 ? '' : ` (${decimals(check.below)} at the level of the version before)`;
  const floor = `${decimals(below)}${moved}`;
  const isBeyond = score.mean < below - ROUNDING;
  const { mean: value, ciLow, ciHigh, n } = score;
  const judged = { value, ciLow, ciHigh, n, isBeyond };
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

/** Evaluates the share of judged documents that are superseded. Without a probe of the store the verdict is `no_data`. */
function evaluateStaleLabels(check: StaleLabelsCheck, goldenSet: string, probe: LabelCounts): CheckOutcome {
  if (probe.kind === 'unknown') {
    return { ...NO_VALUE, verdict: 'no_data', isBeyond: false, explanation: probe.reason };
  }
  const ratio = probe.probed === 0 ? 0 : probe.stale / probe.probed;
  const lost = probe.lost === 0 ? '' : `; ${probe.lost} more are lost, which counts in the scores`;
  const counts = `${probe.stale} of ${probe.probed} judged documents (${decimals(ratio)}) are superseded${lost}`;
  const isBeyond = ratio > check.above;
  const judged = { value: ratio, ciLow: null, ciHigh: null, n: probe.probed, isBeyond };
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

/** Judges the forbidden documents that came back twice: one is a breach. No statistics, since what came back did. */
function evaluateForbidden(check: ForbiddenCheck, goldenSet: string, found: ForbiddenResults | null): CheckOutcome {
  const counted = { ciLow: null, ciHigh: null };
  if (found === null) {
    const explanation = `${goldenSet} forbids no document.`;
    return { ...counted, value: 0, n: 0, isBeyond: false, verdict: 'ok', explanation };
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
    return { ...counted, ...breach };
  }
  if (asked === 0 || unconfirmed > 0) {
    const explanation =
      unconfirmed > 0
        ? `${unconfirmed} forbidden ${unconfirmed === 1 ? 'document' : 'documents'} came back once, and the retriever failed the second asking, so nobody knows.`
        : `The retriever failed every query with forbidden documents (${failed}), so nobody knows.`;
    return { ...NO_VALUE, isBeyond: false, verdict: 'no_data', explanation };
  }
  const unasked = failed === 0 ? '' : `; ${failed} more failed`;
  const explanation = `No forbidden document came back to ${asked} queries${unasked}.`;
  return { ...counted, value: 0, n: asked, isBeyond: false, verdict: 'ok', explanation };
}
