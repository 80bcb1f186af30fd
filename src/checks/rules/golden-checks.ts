/** Checks on golden runs: score thresholds, regressions, stale labels and forbidden documents. */

import { decimal, formatBeside, interval, percentage, plural } from '../../core/format.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import type { ForbiddenResults } from '../../golden/rules/forbidden-results.ts';
import { type LabelProbe, staleParts } from '../../golden/rules/labels.ts';
import type { SegmentScore } from '../../golden/rules/run.ts';
import { ALIVE_SEGMENT } from '../../golden/rules/score-run.ts';
import { formatMetricKey, metricName, parseMetricKey } from '../../math/ir/metric-key.ts';
import { type ComparedWithBaseline, evaluateRegression, type RegressionCheck } from './regression.ts';
import {
  type AnyCheck,
  type CheckOutcome,
  type CheckResult,
  type CheckShift,
  type CheckShifts,
  NO_SHIFT,
  NO_VALUE,
  shiftOf,
} from './threshold.ts';

/** A configured check on golden runs, evaluated for every golden set in its pipeline. */
export type GoldenCheck =
  | ({ readonly kind: 'floor' } & FloorCheck)
  | ({ readonly kind: 'regression' } & RegressionCheck)
  | ({ readonly kind: 'stale_labels' } & StaleLabelsCheck)
  | ({ readonly kind: 'forbidden_results' } & ForbiddenCheck);

export function ofKind<Kind extends GoldenCheck['kind']>(
  checks: readonly GoldenCheck[],
  kind: Kind,
): Extract<GoldenCheck, { readonly kind: Kind }>[] {
  return checks.filter((check): check is Extract<GoldenCheck, { readonly kind: Kind }> => check.kind === kind);
}

/** Returns the name of a check in metrics and reports. The name includes the golden set. */
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

/** Returns the threshold of a check in the unit of its value. */
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

export interface RunEvidence {
  readonly scores: readonly SegmentScore[];
  /** Comparison with the baseline, or a sentence that explains why there is none. */
  readonly compared: ComparedWithBaseline | string;
  /** Comparisons of the completed runs before this one, oldest first. */
  readonly history: readonly ComparedWithBaseline[];
  /** Results of the checks in the latest run in `history`; omitted if there was no run. */
  readonly before?: readonly Pick<CheckResult, 'name' | 'verdict'>[];
  readonly labels: LabelCounts;
  /** Forbidden documents that were returned; null if the golden set forbids no documents. */
  readonly forbidden: ForbiddenResults | null;
  /** Threshold shifts caused by newer versions of the golden set; omitted if there are none. */
  readonly shifts?: CheckShifts;
}

/** Evaluates every check of a pipeline on a run of one golden set. */
export function evaluateGoldenRun(
  checks: readonly GoldenCheck[],
  goldenSet: string,
  evidence: RunEvidence,
): CheckResult[] {
  return checks.map((check) => {
    const name = goldenCheckName(check, goldenSet);
    const shift = shiftOf(evidence.shifts ?? {}, name);
    const { severity } = check;
    const outcome = evaluateCheck(check, goldenSet, name, evidence, shift);
    return { name, severity, threshold: thresholdOf(check, shift), ...outcome };
  });
}

function evaluateCheck(
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
      const previous = before.find((one) => one.name === name)?.verdict ?? null;
      return evaluateRegression(check, compared, history, shift, previous);
    }
    case 'stale_labels':
      return evaluateStaleLabels(check, goldenSet, labels);
    case 'forbidden_results':
      return evaluateForbidden(check, goldenSet, forbidden);
  }
}

/** Lists every check on a golden set with its configured threshold, without shifts. */
export function listGoldenChecks(checks: readonly GoldenCheck[], goldenSet: string) {
  return checks.map((check) => ({
    kind: check.kind,
    measure: 'measure' in check ? check.measure : check.kind,
    name: goldenCheckName(check, goldenSet),
    severity: check.severity,
    threshold: thresholdOf(check, NO_SHIFT),
  }));
}

/** Returns how many earlier runs the checks need in addition to the latest run. */
export function historyNeeded(checks: readonly GoldenCheck[]): number {
  return Math.max(0, ...ofKind(checks, 'regression').map(({ runs }) => runs - 1));
}

/** A check that requires a minimum for a golden measure. */
export interface FloorCheck extends AnyCheck {
  /** Metric key such as `ndcg@10`. */
  readonly measure: string;
  readonly below: number;
}

/** Tolerance for rounding: a score within this distance of a shifted threshold counts as having reached it. */
const ROUNDING = 1e-12;

/**
 * Compares the mean score with the minimum. Excludes queries whose relevant documents are all superseded or deleted,
 * because the stale label check reports these queries. If that applies to every query, excludes none. With severity
 * `critical`, the verdict is `critical` only if even the upper 95 % bound is below the minimum. A score that is low
 * only because of the choice of queries therefore does not trigger a page. If only the mean is below the minimum, the
 * verdict is `warning`. Without a score, the verdict is `no_data`.
 *
 * @param shift correction of the threshold for new versions of the golden set
 */
function evaluateFloor(check: FloorCheck, scores: readonly SegmentScore[], shift: CheckShift): CheckOutcome {
  const key = parseMetricKey(check.measure);
  const scoreIn = (segment: string): SegmentScore | undefined =>
    scores.find((s) => s.segment === segment && s.measure === key.measure && s.k === key.k);
  const all = scoreIn(ALL_SEGMENT);
  const score = scoreIn(ALIVE_SEGMENT) ?? all;
  const below = check.below + shift.mean;
  if (score === undefined || all === undefined) {
    const explanation = `${check.measure} has no score in this run.`;
    return { ...NO_VALUE, verdict: 'no_data', isBeyond: false, explanation };
  }
  const numbers = `${metricName(formatMetricKey(key))} is ${formatBeside(score.mean, below, 'score')} (${interval(score.ciLow, score.ciHigh)}, n = ${score.n})`;
  const shifted = shift.mean === 0 ? '' : ` (${decimal(check.below)} before the golden set changed)`;
  const limit = `${decimal(below)}${shifted}`;
  const isBeyond = score.mean < below - ROUNDING;
  const { mean: value, ciLow, ciHigh, n } = score;
  const measured = { value, ciLow, ciHigh, n, isBeyond };
  const stale =
    score === all
      ? ''
      : ` The score excludes queries with only stale labels (${all.n - score.n} of ${all.n}); with them, it is ${decimal(all.mean)}.`;
  if (!isBeyond) return { ...measured, verdict: 'ok', explanation: `${numbers}, not below ${limit}.${stale}` };
  const isUpperBelow = score.ciHigh < check.below + shift.upper - ROUNDING;
  if (check.severity === 'critical' && isUpperBelow) {
    return {
      ...measured,
      verdict: 'critical',
      explanation: `${numbers}; even the upper bound is below ${limit}.${stale}`,
    };
  }
  const doubt = isUpperBelow ? '' : '; the difference may be due to chance';
  return { ...measured, verdict: 'warning', explanation: `${numbers}, below ${limit}${doubt}.${stale}` };
}

/**
 * Limits the share of judged documents with stale labels: superseded documents, and documents that the manifest lists
 * as deleted. Lost documents do not count; they lower the scores instead.
 */
export interface StaleLabelsCheck extends AnyCheck {
  /** Maximum share, 0 to 1. */
  readonly above: number;
}

/**
 * Counts of judged documents: how many were looked up, and how many of these have stale labels, are deleted or are
 * lost. If the store could not be probed, the reason.
 */
export type LabelCounts =
  | Pick<Extract<LabelProbe, { readonly kind: 'probed' }>, 'kind' | 'probed' | 'stale' | 'deleted' | 'lost'>
  | Extract<LabelProbe, { readonly kind: 'unknown' }>;

/** Evaluates the share of judged documents with stale labels. Without a store probe, the verdict is `no_data`. */
function evaluateStaleLabels(check: StaleLabelsCheck, goldenSet: string, probe: LabelCounts): CheckOutcome {
  if (probe.kind === 'unknown') {
    return { ...NO_VALUE, verdict: 'no_data', isBeyond: false, explanation: probe.reason };
  }
  const ratio = probe.probed === 0 ? 0 : probe.stale / probe.probed;
  const lost =
    probe.lost === 0 ? '' : `; ${probe.lost} more are missing without a replacement, which lowers the scores`;
  const parts = probe.deleted === 0 ? '' : `: ${staleParts(probe.stale, probe.deleted)}`;
  const share = `${formatBeside(ratio, check.above, 'share')}, limit ${percentage(check.above)}`;
  const counts = `${probe.stale} of ${probe.probed} judged documents have stale labels (${share})${parts}${lost}.`;
  const isBeyond = ratio > check.above;
  const measured = { value: ratio, ciLow: null, ciHigh: null, n: probe.probed, isBeyond };
  if (!isBeyond) return { ...measured, verdict: 'ok', explanation: counts };
  const fix = `Update the judgments of ${goldenSet} with \`recalld golden check\`, then pin a new baseline.`;
  return { ...measured, verdict: check.severity, explanation: `${counts} ${fix}` };
}

/** A check that fails if the retriever returns a document that is forbidden for the query. */
export type ForbiddenCheck = AnyCheck;

/** Maximum number of documents in an explanation; the run lists all of them. */
const MAX_NAMED = 3;

/** A single forbidden document is a breach if the retriever returned it twice, regardless of the number of queries. */
function evaluateForbidden(check: ForbiddenCheck, goldenSet: string, found: ForbiddenResults | null): CheckOutcome {
  const none = { value: 0, ciLow: null, ciHigh: null, isBeyond: false, verdict: 'ok' } as const;
  if (found === null) return { ...none, n: 0, explanation: `${goldenSet} has no forbidden documents.` };
  const { asked, failed, confirmed, unconfirmed } = found;
  if (confirmed.length > 0) {
    const named = confirmed
      .slice(0, MAX_NAMED)
      .map(({ queryId, documentId, rank }) => `${documentId} at rank ${rank} of ${queryId}`);
    const rest = confirmed.length > MAX_NAMED ? ` and ${confirmed.length - MAX_NAMED} more` : '';
    const returned = `${plural(confirmed.length, 'forbidden document')} returned, confirmed by a second request`;
    const breach = { value: confirmed.length, n: asked, isBeyond: true, verdict: check.severity };
    return { ...none, ...breach, explanation: `${returned}: ${named.join(', ')}${rest}.` };
  }
  if (asked === 0 || unconfirmed > 0) {
    const explanation =
      unconfirmed > 0
        ? `${plural(unconfirmed, 'forbidden document')} returned, but not confirmed: the retriever failed when recalld repeated the query.`
        : `The retriever failed for every query that has forbidden documents (${plural(failed, 'query', 'queries')}).`;
    return { ...NO_VALUE, isBeyond: false, verdict: 'no_data', explanation };
  }
  const others = failed === 0 ? '' : `; ${failed} more failed`;
  const explanation = `No forbidden documents were returned for ${plural(asked, 'query', 'queries')}${others}.`;
  return { ...none, n: asked, explanation };
}
