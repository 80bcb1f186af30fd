/**
 * Where a check stands, and since when it is breached: as its last evaluation wrote it, and what that is worth at the
 * time of reading.
 */

import type { Severity, Verdict } from '../../core/model.ts';
import type { TimeSpan } from '../../core/time.ts';
import { isBreach, type MeasuredValue, NO_VALUE, type ThresholdCheck, type ThresholdFinding } from './threshold.ts';

/**
 * Where a check stands after a measurement: the finding, after hysteresis and confirmation. A noisy value that lies on
 * its threshold does not make the verdict go to and fro.
 */
export interface ThresholdStatus extends SteadyVerdict {
  /** Whether there is too little data to judge, and the config says that this is no alarm. */
  readonly isQuiet: boolean;
  readonly evidenceAt: Date | null;
  /** The sentence of the finding, and the reason where the check stands at another verdict. */
  readonly explanation: string;
}

/**
 * Where the check stands after a finding. A measurement that was judged before, by a retry or because no newer one has come, changes
 * nothing. A check that cannot be judged because something is broken needs no confirmation: its values had to become
 * too old to trust first, which took long enough.
 *
 * A check that stood breached when its traffic ended is not quiet: its breach is not known to be over.
 *
 * @param evidenceAt when what was judged was measured; null for nothing
 */
export function nextStatus(
  { confirm, noData }: Pick<ThresholdCheck, 'confirm' | 'noData'>,
  previous: Pick<ThresholdStatus, keyof SteadyVerdict | 'evidenceAt'> | null,
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

/** Why the check stands at something else than what was found. */
function whyNot({ verdict, candidate, seen }: SteadyVerdict, found: Verdict, confirm: number): string {
  if (candidate !== null) {
    return ` It stands at ${verdict}: ${seen} of the ${confirm} measurements in a row that it takes show ${candidate}.`;
  }
  if (found === verdict || found === 'no_data') return '';
  return ` It stands at ${verdict} until the value is better than the threshold by a margin.`;
}

/** What is remembered of a check between two measurements. */
export interface SteadyVerdict {
  readonly verdict: Verdict;
  /** When it changed to that. */
  readonly since: Date;
  /** The last verdict that was not `no_data`; null when there never was one. */
  readonly lastKnown: Exclude<Verdict, 'no_data'> | null;
  /** What the latest measurements show instead; null when they show the verdict. */
  readonly candidate: Verdict | null;
  /** How many in a row show the candidate. */
  readonly seen: number;
}

/** What one measurement shows. */
export interface ShownVerdict {
  readonly verdict: Verdict;
  /** Whether the value is on the good side by the margin that ends a breach. */
  readonly isClear: boolean;
}

/**
 * Takes one new measurement.
 *
 * - A change of the verdict takes `confirm` measurements in a row that show it, be it for the worse or for the better.
 *   Measurements that show changes of different size in one direction count together, for the smaller change.
 * - Critical stays until the value is back on the good side of the threshold. A bound that no longer proves the breach
 *   is no recovery.
 * - A breach is over only when the value is on the good side by a margin; between threshold and margin it is a warning.
 * - The first measurement of a check is its verdict when it is no breach; a breach has to be confirmed.
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
  const goesOn = previous.candidate !== null && isSameWay(previous.verdict, previous.candidate, target);
  const candidate = goesOn ? lesser(previous.verdict, previous.candidate ?? target, target) : target;
  const seen = goesOn ? previous.seen + 1 : 1;
  if (seen < confirm) return { ...previous, candidate, seen };
  return {
    verdict: candidate,
    since: at,
    lastKnown: known(candidate) ?? previous.lastKnown,
    candidate: null,
    seen: 0,
  };
}

function firstVerdict(verdict: Verdict, at: Date, confirm: number): SteadyVerdict {
  if (!isBreach(verdict) || confirm <= 1) {
    return { verdict, since: at, lastKnown: known(verdict), candidate: null, seen: 0 };
  }
  return { verdict: 'no_data', since: at, lastKnown: null, candidate: verdict, seen: 1 };
}

/** What a measurement calls for, given where the check stands. */
function targetOf({ verdict, lastKnown }: SteadyVerdict, shown: ShownVerdict): Verdict {
  if (shown.verdict === 'no_data') return 'no_data';
  const stood = verdict === 'no_data' ? lastKnown : verdict;
  if (shown.verdict === 'ok') return isBreach(stood) && !shown.isClear ? 'warning' : 'ok';
  return stood === 'critical' ? 'critical' : shown.verdict;
}

const badness = { ok: 0, warning: 1, critical: 2 } as const;

/** Both worse than where the check stands, or both better; to and from `no_data` only the same. */
function isSameWay(from: Verdict, a: Verdict, b: Verdict): boolean {
  if (a === b) return true;
  if (a === 'no_data' || b === 'no_data') return false;
  if (from === 'no_data') return a !== 'ok' && b !== 'ok';
  return badness[a] > badness[from] === badness[b] > badness[from];
}

function lesser(from: Verdict, a: Verdict, b: Verdict): Verdict {
  if (a === 'no_data' || b === 'no_data') return a;
  const stood = from === 'no_data' ? 0 : badness[from];
  return Math.abs(badness[a] - stood) <= Math.abs(badness[b] - stood) ? a : b;
}

export function known(verdict: Verdict): Exclude<Verdict, 'no_data'> | null {
  return verdict === 'no_data' ? null : verdict;
}

/** What a check is on; the words of its alarm depend on it. */
export const checkKinds = [
  'floor',
  'regression',
  'stale_labels',
  'forbidden_results',
  'threshold',
  'density_drift',
] as const;

export type CheckKind = (typeof checkKinds)[number];

/** A check of the config. */
export interface ConfiguredCheck {
  readonly kind: CheckKind;
  /** What it watches: `ndcg@10`, `error_ratio`. */
  readonly measure: string;
  readonly pipeline: string;
  /** Whose runs judge it; null for a check on something else. */
  readonly goldenSet: string | null;
  readonly name: string;
  readonly severity: Severity;
  readonly threshold: number;
  /** Whether it is no alarm that nothing has judged it yet. */
  readonly isQuietAtFirst: boolean;
}

/** What an evaluation writes of a check: `verdict` is the settled one, the other fields are of the latest measurement. */
export interface CheckStatus extends SteadyVerdict, MeasuredValue, Breach {
  readonly pipeline: string;
  readonly name: string;
  readonly severity: Severity;
  readonly threshold: number;
  readonly measure: string;
  /** The segment that decided, where several were judged; else null. */
  readonly segment: string | null;
  /** What was last said of it, one sentence; null when nothing was. */
  readonly explanation: string | null;
  /** Of a regression check: the drop that it would find with a chance of 0.8; null where that is unknown. */
  readonly smallestDetectableDrop: number | null;
  /** The pinned run that the value is a difference to; null for a value by itself. */
  readonly comparedWith: string | null;
  /** Whether it has no verdict for a reason that is no alarm: too little traffic, or a baseline that is still learnt. */
  readonly isQuiet: boolean;
  /** When the value that it was judged by was measured; null without a value. */
  readonly evidenceAt: Date | null;
  /** When what was last said of it was found; null when nothing was. */
  readonly evaluatedAt: Date | null;
  /** From then on it is too old to trust; null: never. */
  readonly trustedUntil: Date | null;
  readonly updatedAt: Date;
}

/**
 * How a configured check stands now: `verdict` is `no_data` unless something that is fresh enough to trust came to one,
 * `value` is null too when it is too old, `threshold` is that of the set where it has moved with its level.
 */
export interface CheckState
  extends Omit<ConfiguredCheck, 'isQuietAtFirst'>,
    MeasuredValue,
    Pick<
      CheckStatus,
      | 'verdict'
      | 'segment'
      | 'explanation'
      | 'evaluatedAt'
      | 'isQuiet'
      | 'before'
      | 'breachedSince'
      | 'outageUntil'
      | 'smallestDetectableDrop'
      | 'comparedWith'
    > {
  /** When it came to stand at that; null when it was never evaluated. */
  readonly since: Date | null;
  readonly isTooOld: boolean;
}

/**
 * What the standing of a check is worth at a time: a verdict that grew too old to trust is `no_data`, whether or not
 * anybody is left to evaluate it.
 *
 * @param standing null for a check that was never evaluated
 */
export function stateAt(check: ConfiguredCheck, status: CheckStatus | null, now: Date): CheckState {
  const { isQuietAtFirst, ...configured } = check;
  if (status === null) {
    return {
      ...configured,
      ...NO_VALUE,
      verdict: 'no_data',
      since: null,
      before: null,
      breachedSince: null,
      outageUntil: null,
      smallestDetectableDrop: null,
      comparedWith: null,
      segment: null,
      explanation: null,
      evaluatedAt: null,
      isTooOld: false,
      isQuiet: isQuietAtFirst,
    };
  }
  const { threshold, verdict, since, segment, explanation, evaluatedAt, trustedUntil, isQuiet } = status;
  const { value, ciLow, ciHigh, n, before, breachedSince, outageUntil, smallestDetectableDrop, comparedWith } = status;
  const isTooOld = trustedUntil !== null && now > trustedUntil;
  return {
    ...configured,
    ...(isTooOld ? NO_VALUE : { value, ciLow, ciHigh, n }),
    threshold,
    before,
    breachedSince,
    outageUntil,
    smallestDetectableDrop: isTooOld ? null : smallestDetectableDrop,
    comparedWith,
    segment,
    verdict: isTooOld ? 'no_data' : verdict,
    since: isTooOld && verdict !== 'no_data' ? trustedUntil : since,
    explanation,
    evaluatedAt,
    isTooOld,
    isQuiet: isQuiet && !isTooOld,
  };
}

export interface Breach {
  /** The last value while the check was ok; null when it never was. */
  readonly before: number | null;
  /** When the first measurement beyond the threshold was taken; null while none is. */
  readonly breachedSince: Date | null;
  /** Until when the retriever was last seen not to answer, where that is all that broke the check; else null. */
  readonly outageUntil: Date | null;
}

const NO_BREACH: Breach = { before: null, breachedSince: null, outageUntil: null };

/** What one look at a check came to. */
export interface Look {
  /** Where the check stands after it. */
  readonly verdict: Verdict;
  /** Whether the measurement by itself is beyond the threshold. */
  readonly isBeyond: boolean;
  readonly value: number | null;
  /** The time that the measurement is of; null for none. */
  readonly evidence: TimeSpan | null;
  /** When the retriever of the pipeline was last seen not to answer; null when it answers. */
  readonly outageAt: Date | null;
}

/**
 * A breach lasts from its first bad measurement until the check stands at ok on a good one.
 *
 * It is of an outage while each of its bad measurements reaches into a time in which the retriever did not answer: the
 * outage is told by an alarm of its own, and what it leaves behind in a check is no second one. The first bad
 * measurement that is wholly of later times makes it a breach of its own.
 */
export function rememberBreach(previous: Breach | null, look: Look): Breach {
  const { before, breachedSince, outageUntil } = previous ?? NO_BREACH;
  const { verdict, isBeyond, value, evidence, outageAt } = look;
  if (verdict === 'ok' && !isBeyond && value !== null) return { ...NO_BREACH, before: value };
  if (!isBeyond || evidence === null) return { before, breachedSince, outageUntil };
  const isFirst = breachedSince === null;
  const isOfOutage = isFirst || outageUntil !== null;
  const reaches = outageAt ?? (outageUntil !== null && evidence.from <= outageUntil ? outageUntil : null);
  return {
    before,
    breachedSince: breachedSince ?? evidence.until,
    outageUntil: isOfOutage ? reaches : null,
  };
}

/** How it was before; null for a difference to another baseline, which is not comparable with the one of now. */
export function comparableBefore(
  { before, comparedWith }: Pick<CheckStatus, 'before' | 'comparedWith'>,
  judged: Pick<CheckStatus, 'comparedWith'>,
): number | null {
  return judged.comparedWith === null || judged.comparedWith === comparedWith ? before : null;
}
