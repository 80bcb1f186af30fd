/** The one evaluation of a check: what is known of it, and where it stood before -> where it stands. */
import type { Verdict } from '../../core/model.ts';
import {
  type CheckStatus,
  type ConfiguredCheck,
  comparableBefore,
  known,
  type Look,
  nextStatus,
  rememberBreach,
  type SteadyVerdict,
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

/** What the latest golden run, window of query density or measurements say of a check. */
export interface CheckFacts extends Omit<CheckOutcome, 'explanation'>, Pick<Look, 'evidence'> {
  /** Null: that of the config, or the one that it had before. Thresholds move when a golden set takes over a version. */
  readonly threshold: number | null;
  readonly explanation: string | null;
  readonly evaluatedAt: Date | null;
  /** From then on it is too old to trust; null: never. */
  readonly trustedUntil: Date | null;
  /** The pinned run that the value is a difference to; null for a value by itself. */
  readonly comparedWith: string | null;
  /** Whether there is no verdict for a reason that is no alarm. */
  readonly isQuiet: boolean;
  /** A threshold, and what was found; null where golden runs or windows have confirmed the verdict already. */
  readonly unconfirmed: { readonly rule: ThresholdCheck; readonly found: ThresholdFinding } | null;
}

/**
 * Evaluates a check: after a golden run, after a window of query density, every minute, and in a backtest. Facts that it
 * was evaluated by before change nothing, unless they have become too old to trust.
 *
 * @param stored where the check stood; null for one that was never evaluated
 * @param outageAt when the retriever of its pipeline was last seen not to answer; null when it answers
 */
export function evaluate(
  check: ConfiguredCheck,
  facts: CheckFacts,
  stored: CheckStatus | null,
  now: Date,
  outageAt: Date | null = null,
): CheckStatus {
  // A check that keeps its name may come to watch something else; nothing of what was remembered is then of it.
  const previous = stored !== null && stored.measure === check.measure ? stored : null;
  const isTooOld = isPast(facts.trustedUntil, now);
  const { value, evidence, unconfirmed } = facts;
  const settled =
    unconfirmed === null
      ? asFound(facts, previous, isTooOld ? 'no_data' : facts.verdict, now)
      : nextStatus(unconfirmed.rule, previous, unconfirmed.found, evidence?.until ?? null, now);
  const { verdict } = settled;
  const remembered =
    previous === null
      ? null
      : {
          before: comparableBefore(previous, facts),
          breachedSince: previous.breachedSince,
          outageUntil: previous.outageUntil,
        };
  const isBeyond = facts.isBeyond && !isTooOld;
  const { before, breachedSince, outageUntil } = rememberBreach(remembered, {
    verdict,
    isBeyond,
    value,
    evidence,
    outageAt,
  });
  // Without a spread, which makes each field cost a microsecond: a backtest comes here a million times.
  return {
    pipeline: check.pipeline,
    name: check.name,
    severity: check.severity,
    threshold: facts.threshold ?? previous?.threshold ?? check.threshold,
    measure: check.measure,
    verdict,
    since: settled.since,
    lastKnown: settled.lastKnown,
    candidate: settled.candidate,
    seen: settled.seen,
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
    explanation: settled.explanation,
    isQuiet: settled.isQuiet,
    evidenceAt: settled.evidenceAt,
    evaluatedAt: facts.evaluatedAt,
    trustedUntil: facts.trustedUntil,
    updatedAt: now,
  };
}

/** Whether facts that are trusted until then are too old; null is never. */
export function isPast(trustedUntil: Date | null, now: Date): boolean {
  return trustedUntil !== null && now > trustedUntil;
}

function asFound(
  { explanation, isQuiet, evidence }: CheckFacts,
  previous: CheckStatus | null,
  verdict: Verdict,
  now: Date,
): SteadyVerdict & Pick<CheckStatus, 'explanation' | 'isQuiet' | 'evidenceAt'> {
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
  /** What its checks came to; none when it failed. */
  readonly checks: readonly CheckResult[];
  readonly evidence: NonNullable<Look['evidence']>;
  /** Why it failed, one sentence; null when it did not. */
  readonly failure: string | null;
  /** The run that it was compared with; null for none. */
  readonly baseline: string | null;
  readonly trustedSeconds: number;
}

/** What a golden run says of a check. @param run null when none has ended */
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

/** Thresholds are evaluated each minute; one that was not for so long is known no more. */
const THRESHOLD_TRUST_MS = 900_000;

/** What the newest measurements say of a threshold. @param evidence the time that they are of; null without any */
export function factsOfReadings(
  rule: ThresholdCheck,
  readings: readonly Reading[],
  evidence: Look['evidence'],
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
