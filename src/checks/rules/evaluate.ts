/** Evaluates a check: maps facts and the previous status to a new status. */
import type { Verdict } from '../../core/model.ts';
import {
  type CheckStatus,
  type ConfiguredCheck,
  comparableBefore,
  type Evaluation,
  known,
  nextStatus,
  updateBreach,
} from './check-state.ts';
import {
  type CheckOutcome,
  type CheckResult,
  evaluateThreshold,
  NO_VALUE,
  type Reading,
  type ThresholdCheck,
  type ThresholdFinding,
} from './threshold.ts';

/** Facts about a check from the latest golden run, query density window or measurements. */
export interface CheckFacts
  extends Omit<CheckOutcome, 'explanation'>,
    Pick<CheckStatus, 'explanation' | 'evaluatedAt' | 'trustedUntil' | 'comparedWith' | 'isQuiet'> {
  readonly evidence: Evaluation['evidence'];
  /**
   * Threshold of this evaluation, shifted by new versions of the golden set. Null keeps the previous threshold or, if
   * there is none, the configured threshold.
   */
  readonly threshold: number | null;
  /**
   * Finding that still needs hysteresis and confirmation; null for golden runs and density windows, which need neither.
   */
  readonly unconfirmed: { readonly rule: ThresholdCheck; readonly found: ThresholdFinding } | null;
}

/**
 * Evaluates a check: after a golden run, after a query density window, every minute, and in a backtest. Facts that were
 * already evaluated do not change the status until they are too old to trust.
 *
 * @param stored previous status; null if the check has never been evaluated
 * @param outageAt time at which the pipeline's retriever was last found down; null if it responds
 */
export function evaluate(
  check: ConfiguredCheck,
  facts: CheckFacts,
  stored: CheckStatus | null,
  now: Date,
  outageAt: Date | null = null,
): CheckStatus {
  // Ignores the previous status of a check that kept its name but now has another measure.
  const previous = stored !== null && stored.measure === check.measure ? stored : null;
  const isTooOld = isPast(facts.trustedUntil, now);
  const { value, evidence, unconfirmed } = facts;
  const confirmed =
    unconfirmed === null
      ? asFound(facts, previous, isTooOld ? 'no_data' : facts.verdict, now)
      : nextStatus(unconfirmed.rule, previous, unconfirmed.found, evidence?.until ?? null, now);
  const { verdict } = confirmed;
  const remembered =
    previous === null
      ? null
      : {
          before: comparableBefore(previous, facts.comparedWith),
          breachedSince: previous.breachedSince,
          outageUntil: previous.outageUntil,
        };
  const isBeyond = facts.isBeyond && !isTooOld;
  const { before, breachedSince, outageUntil } = updateBreach(remembered, {
    verdict,
    isBeyond,
    value,
    evidence,
    outageAt,
  });
  // Avoids an object spread, which takes a microsecond per field: a backtest calls this function a million times.
  return {
    pipeline: check.pipeline,
    name: check.name,
    severity: check.severity,
    threshold: facts.threshold ?? previous?.threshold ?? check.threshold,
    measure: check.measure,
    verdict,
    since: confirmed.since,
    lastKnown: confirmed.lastKnown,
    candidate: confirmed.candidate,
    seen: confirmed.seen,
    value,
    ciLow: facts.ciLow,
    ciHigh: facts.ciHigh,
    n: facts.n,
    smallestDetectableDrop: facts.smallestDetectableDrop ?? null,
    comparedWith: facts.comparedWith ?? previous?.comparedWith ?? null,
    before,
    breachedSince,
    outageUntil,
    segment: unconfirmed === null ? null : unconfirmed.found.segment,
    explanation: confirmed.explanation,
    isQuiet: confirmed.isQuiet,
    evidenceAt: confirmed.evidenceAt,
    evaluatedAt: facts.evaluatedAt,
    trustedUntil: facts.trustedUntil,
    updatedAt: now,
  };
}

export function isPast(trustedUntil: Date | null, now: Date): boolean {
  return trustedUntil !== null && now > trustedUntil;
}

function asFound(
  { explanation, isQuiet, evidence }: CheckFacts,
  previous: CheckStatus | null,
  verdict: Verdict,
  now: Date,
) {
  return {
    verdict,
    since: previous?.verdict === verdict ? previous.since : now,
    lastKnown: known(verdict) ?? previous?.lastKnown ?? null,
    candidate: null,
    seen: 0,
    explanation,
    isQuiet,
    evidenceAt: evidence?.until ?? null,
  };
}

/** A golden run that ended. */
export interface EvaluatedRun {
  /** Results of the run's checks; empty if the run failed. */
  readonly checks: readonly CheckResult[];
  readonly evidence: NonNullable<Evaluation['evidence']>;
  /** One sentence that explains why the run failed; null if it did not fail. */
  readonly failure: string | null;
  /** Id of the baseline run that this run was compared with; null if there was none. */
  readonly baseline: string | null;
  readonly trustedSeconds: number;
}

/** @param run null if no run has ended */
export function factsOfRun(check: ConfiguredCheck, run: EvaluatedRun | null): CheckFacts {
  const judged = run?.checks.find(({ name }) => name === check.name) ?? null;
  const { value, ciLow, ciHigh, n } = judged ?? NO_VALUE;
  const evaluatedAt = run?.evidence.until ?? null;
  return {
    threshold: judged?.threshold ?? null,
    verdict: judged?.verdict ?? 'no_data',
    value,
    ciLow,
    ciHigh,
    n,
    smallestDetectableDrop: judged?.smallestDetectableDrop ?? null,
    comparedWith: check.kind === 'regression' && value !== null ? (run?.baseline ?? null) : null,
    isBeyond: judged?.isBeyond ?? false,
    explanation: judged?.explanation ?? run?.failure ?? null,
    evidence: run?.evidence ?? null,
    evaluatedAt,
    trustedUntil:
      run === null || evaluatedAt === null ? null : new Date(evaluatedAt.getTime() + run.trustedSeconds * 1000),
    isQuiet: false,
    unconfirmed: null,
  };
}

/** Threshold checks are evaluated every minute. If the last evaluation is older than this, the check has no data. */
const THRESHOLD_TRUST_MS = 900_000;

/** @param evidence time span of the measurements; null if there are none */
export function factsOfReadings(
  rule: ThresholdCheck,
  readings: readonly Reading[],
  evidence: Evaluation['evidence'],
  now: Date,
): CheckFacts {
  const found = evaluateThreshold(rule, readings);
  return {
    threshold: found.threshold,
    verdict: found.verdict,
    value: found.value,
    ciLow: found.ciLow,
    ciHigh: found.ciHigh,
    n: found.n,
    comparedWith: null,
    isBeyond: found.isBeyond,
    explanation: found.explanation,
    evidence,
    evaluatedAt: now,
    trustedUntil: new Date(now.getTime() + THRESHOLD_TRUST_MS),
    isQuiet: found.isQuiet,
    unconfirmed: { rule, found },
  };
}
