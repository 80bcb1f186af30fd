/** Status of a check as stored by the last evaluation, and the state derived from that status when it is read. */

import type { Severity, Verdict } from '../../core/model.ts';
import type { TimeSpan } from '../../core/time.ts';
import { isBreach, type MeasuredValue, NO_VALUE, type ThresholdCheck, type ThresholdFinding } from './threshold.ts';

/**
 * Threshold status after hysteresis and confirmation. These two steps keep the verdict from flapping when a noisy value
 * is near the threshold.
 */
export interface ThresholdStatus extends ConfirmedVerdict {
  /** Explains the finding and, if its verdict is not the confirmed verdict, why the two verdicts differ. */
  readonly explanation: string;
}

/**
 * Returns the threshold status after a finding. After a retry, or if there is no newer measurement, the same
 * measurement is evaluated again and changes nothing. `no_data` caused by a fault needs no confirmation, because values
 * stay valid for long enough to bridge a brief fault.
 *
 * If a check was failing when its traffic ended, its missing data always fires an alert, because recalld cannot know
 * whether the check has recovered.
 *
 * @param evidenceAt time of the measurement; null if there is none
 */
export function nextStatus(
  { confirm, noData }: Pick<ThresholdCheck, 'confirm' | 'noData'>,
  previous: ConfirmedVerdict | null,
  found: ThresholdFinding,
  evidenceAt: Date | null,
  at: Date,
): ThresholdStatus {
  const isBroken = found.verdict === 'no_data' && !found.isQuiet;
  const isSeen =
    previous !== null &&
    !isBroken &&
    evidenceAt !== null &&
    previous.evidenceAt !== null &&
    evidenceAt <= previous.evidenceAt;
  const steady = isSeen ? previous : steadyVerdict(previous, found, at, isBroken ? 1 : confirm);
  const { verdict, since, lastKnown, candidate, seen } = steady;
  return {
    verdict,
    since,
    lastKnown,
    candidate,
    seen,
    isQuiet: verdict === 'no_data' && !isBroken && noData === 'silent' && !isBreach(lastKnown),
    evidenceAt: evidenceAt ?? previous?.evidenceAt ?? null,
    explanation: `${found.explanation}${whyNot(steady, found.verdict, confirm)}`,
  };
}

/**
 * Explains in a sentence why the verdict differs from the verdict of the finding. Returns an empty string if they
 * agree.
 */
function whyNot({ verdict, candidate, seen }: SteadyVerdict, found: Verdict, confirm: number): string {
  if (candidate !== null) {
    return ` The verdict stays ${verdict} until ${confirm} consecutive measurements show ${candidate} (${seen} so far).`;
  }
  if (found === verdict || found === 'no_data') return '';
  return ` The verdict stays ${verdict} until the value is better than the threshold by the required margin.`;
}

/** State of a verdict between two measurements. */
export interface SteadyVerdict {
  readonly verdict: Verdict;
  readonly since: Date;
  /** The last verdict other than `no_data`; null if there was none. */
  readonly lastKnown: Exclude<Verdict, 'no_data'> | null;
  /** A different verdict that the latest measurements show; null if they agree with the current verdict. */
  readonly candidate: Verdict | null;
  /** Number of consecutive measurements that show the candidate verdict. */
  readonly seen: number;
}

type ShownVerdict = Pick<ThresholdFinding, 'verdict' | 'isClear'>;

/**
 * Applies hysteresis and confirmation to one new measurement.
 *
 * - A verdict becomes worse or better only after `confirm` consecutive measurements show the change. Measurements that
 *   show changes of different sizes in the same direction confirm the smallest of these changes.
 * - A verdict stays critical until the value is on the good side of the threshold, even if the confidence bound no
 *   longer proves the breach.
 * - A breach ends when the value is better than the threshold by a margin; until then, a value on the good side of the
 *   threshold is a warning.
 * - The first measurement of a check sets the verdict, unless it shows a breach, which needs confirmation.
 */
export function steadyVerdict(
  previous: SteadyVerdict | null,
  shown: ShownVerdict,
  at: Date,
  confirm: number,
): SteadyVerdict {
  if (previous === null) return firstVerdict(shown.verdict, at, confirm);
  const target = targetOf(previous, shown);
  if (target === previous.verdict) {
    return { ...previous, lastKnown: known(target) ?? previous.lastKnown, candidate: null, seen: 0 };
  }
  const continues = previous.candidate !== null && isSameDirection(previous.verdict, previous.candidate, target);
  const candidate = continues ? smallerChange(previous.verdict, previous.candidate ?? target, target) : target;
  const seen = continues ? previous.seen + 1 : 1;
  if (seen < confirm) return { ...previous, candidate, seen };
  const lastKnown = known(candidate) ?? previous.lastKnown;
  return { verdict: candidate, since: at, lastKnown, candidate: null, seen: 0 };
}

function firstVerdict(verdict: Verdict, at: Date, confirm: number): SteadyVerdict {
  if (!isBreach(verdict) || confirm <= 1) {
    return { verdict, since: at, lastKnown: known(verdict), candidate: null, seen: 0 };
  }
  return { verdict: 'no_data', since: at, lastKnown: null, candidate: verdict, seen: 1 };
}

function targetOf({ verdict, lastKnown }: SteadyVerdict, shown: ShownVerdict): Verdict {
  if (shown.verdict === 'no_data') return 'no_data';
  const last = verdict === 'no_data' ? lastKnown : verdict;
  if (shown.verdict === 'ok') return isBreach(last) && !shown.isClear ? 'warning' : 'ok';
  return last === 'critical' ? 'critical' : shown.verdict;
}

const badness = { ok: 0, warning: 1, critical: 2 } as const;

/** True if `a` and `b` are both worse than `from` or both better; `no_data` only matches `no_data`. */
function isSameDirection(from: Verdict, a: Verdict, b: Verdict): boolean {
  if (a === b) return true;
  if (a === 'no_data' || b === 'no_data') return false;
  if (from === 'no_data') return a !== 'ok' && b !== 'ok';
  return badness[a] > badness[from] === badness[b] > badness[from];
}

function smallerChange(from: Verdict, a: Verdict, b: Verdict): Verdict {
  if (a === 'no_data' || b === 'no_data') return a;
  const start = from === 'no_data' ? 0 : badness[from];
  return Math.abs(badness[a] - start) <= Math.abs(badness[b] - start) ? a : b;
}

export function known(verdict: Verdict): Exclude<Verdict, 'no_data'> | null {
  return verdict === 'no_data' ? null : verdict;
}

export const checkKinds = [
  'floor',
  'regression',
  'stale_labels',
  'forbidden_results',
  'isolation',
  'threshold',
  'density_drift',
] as const;

export type CheckKind = (typeof checkKinds)[number];

export interface ConfiguredCheck {
  readonly kind: CheckKind;
  /** Measure, for example `ndcg@10` or `error_ratio`. */
  readonly measure: string;
  readonly pipeline: string;
  /** Golden set whose runs the check evaluates; null for a check that evaluates no golden runs. */
  readonly goldenSet: string | null;
  readonly name: string;
  readonly severity: Severity;
  readonly threshold: number;
  /** True if the check does not alert on missing data before its first evaluation. */
  readonly isQuietAtFirst: boolean;
}

/** A verdict with the measurement that confirmed it. */
interface ConfirmedVerdict extends SteadyVerdict {
  /** True if data is missing for a harmless reason: too little traffic, or a baseline that is still being learned. */
  readonly isQuiet: boolean;
  /** Time of the evaluated measurement; null if there is none. */
  readonly evidenceAt: Date | null;
}

/** Result of an evaluation: the confirmed verdict, and the fields of the latest measurement. */
export interface CheckStatus extends ConfirmedVerdict, MeasuredValue, Breach {
  readonly pipeline: string;
  readonly name: string;
  readonly severity: Severity;
  readonly threshold: number;
  readonly measure: string;
  /** The segment that decided the verdict; null unless several segments were evaluated. */
  readonly segment: string | null;
  /** One sentence that explains the verdict; null before the first evaluation. */
  readonly explanation: string | null;
  /** Drop that a regression check detects with 80 % power; null if unknown. */
  readonly smallestDetectableDrop: number | null;
  /** Pinned run that the value is compared with; null for an absolute value. */
  readonly comparedWith: string | null;
  /** End of the run, window or other measurement that the explanation describes; null if there was none. */
  readonly evaluatedAt: Date | null;
  /** Time after which the status is too old to trust; null if the status never becomes too old. */
  readonly trustedUntil: Date | null;
  readonly updatedAt: Date;
}

/**
 * Current status of a configured check. If the status is too old to trust, `verdict` is `no_data` and `value` is null.
 * `threshold` includes the shift for a rotated golden set.
 */
export interface CheckState
  extends Omit<ConfiguredCheck, 'isQuietAtFirst'>,
    Omit<CheckStatus, Exclude<keyof SteadyVerdict, 'verdict'> | 'evidenceAt' | 'trustedUntil' | 'updatedAt'> {
  /** Time of the last change of the verdict; null before the first evaluation. */
  readonly since: Date | null;
  readonly isTooOld: boolean;
}

/**
 * Returns the state of a check as of now. A status that is too old to trust becomes `no_data`, even if no worker
 * evaluates the check any more.
 *
 * @param status null if the check has never been evaluated
 */
export function stateAt(check: ConfiguredCheck, status: CheckStatus | null, now: Date): CheckState {
  const { isQuietAtFirst, ...configured } = check;
  if (status === null) {
    const never = { since: null, comparedWith: null, segment: null, explanation: null, evaluatedAt: null } as const;
    return { ...configured, ...NO_DATA, ...NO_BREACH, ...never, isTooOld: false, isQuiet: isQuietAtFirst };
  }
  const { threshold, since, segment, explanation, evaluatedAt, trustedUntil, isQuiet, comparedWith } = status;
  const { verdict, value, ciLow, ciHigh, n, smallestDetectableDrop, before, breachedSince, outageUntil } = status;
  const isTooOld = trustedUntil !== null && now > trustedUntil;
  return {
    ...configured,
    ...(isTooOld ? NO_DATA : { verdict, value, ciLow, ciHigh, n, smallestDetectableDrop }),
    threshold,
    before,
    breachedSince,
    outageUntil,
    comparedWith,
    segment,
    explanation,
    evaluatedAt,
    isTooOld,
    since: isTooOld && verdict !== 'no_data' ? trustedUntil : since,
    isQuiet: isQuiet && !isTooOld,
  };
}

export interface Breach {
  /** Last value that was measured while the check was OK; null if there was none. */
  readonly before: number | null;
  /** Time of the first measurement of this breach; null if the check passes. */
  readonly breachedSince: Date | null;
  /** Time at which the retriever was last known to be down, if only outages made the check fail; otherwise null. */
  readonly outageUntil: Date | null;
}

const NO_DATA = { ...NO_VALUE, verdict: 'no_data', smallestDetectableDrop: null } as const;

const NO_BREACH: Breach = { before: null, breachedSince: null, outageUntil: null };

/** The parts of an evaluation's outcome that affect a breach. */
export interface Evaluation {
  /** The verdict after confirmation. */
  readonly verdict: Verdict;
  /** True if the measurement itself is beyond the threshold. */
  readonly isBeyond: boolean;
  readonly value: number | null;
  /** Time span of the measurement; null if there is none. */
  readonly evidence: TimeSpan | null;
  /** Time at which the pipeline's retriever was last found down; null if it responds. */
  readonly outageAt: Date | null;
}

/**
 * Updates the breach of a check. A breach lasts from the first measurement beyond the threshold until a measurement
 * that is within the threshold and has the verdict OK.
 *
 * A breach belongs to an outage as long as every measurement beyond the threshold overlaps a retriever outage. The
 * outage has its own alert, so the check must not add a second one. The first measurement that is beyond the threshold
 * and entirely after the outage makes the breach independent of the outage.
 */
export function updateBreach(previous: Breach | null, evaluation: Evaluation): Breach {
  const { before, breachedSince, outageUntil } = previous ?? NO_BREACH;
  const { verdict, isBeyond, value, evidence, outageAt } = evaluation;
  if (verdict === 'ok' && !isBeyond && value !== null) return { ...NO_BREACH, before: value };
  if (!isBeyond || evidence === null) return { before, breachedSince, outageUntil };
  const isFirst = breachedSince === null;
  const isOfOutage = isFirst || outageUntil !== null;
  const reaches = outageAt ?? (outageUntil !== null && evidence.from <= outageUntil ? outageUntil : null);
  return { before, breachedSince: breachedSince ?? evidence.until, outageUntil: isOfOutage ? reaches : null };
}

/**
 * Returns the value before the breach; null if that value was compared with another baseline, because the two values
 * are then not comparable.
 */
export function comparableBefore(previous: CheckStatus, comparedWith: string | null): number | null {
  return comparedWith === null || comparedWith === previous.comparedWith ? previous.before : null;
}
