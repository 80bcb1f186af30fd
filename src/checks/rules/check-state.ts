/** Where a check stands: as its last evaluation wrote it, and what that is worth at the time of reading. */
import type { Severity } from '../../model.ts';
import type { SteadyVerdict } from './standing.ts';

/** A check of the config. */
export interface ConfiguredCheck {
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
export interface CheckStanding extends SteadyVerdict {
  readonly pipeline: string;
  readonly name: string;
  readonly severity: Severity;
  readonly threshold: number;
  readonly value: number | null;
  /** The segment that decided, where several were judged; else null. */
  readonly segment: string | null;
  /** What was last said of it, one sentence; null when nothing was. */
  readonly explanation: string | null;
  /** Whether it has no verdict for a reason that is no alarm: too little traffic, or a baseline that is still learnt. */
  readonly isQuiet: boolean;
  /** When the value that it was judged by was measured; null without a value. */
  readonly evidenceAt: Date | null;
  /** When what was last said of it was found; null when nothing was. */
  readonly judgedAt: Date | null;
  /** From then on it is too old to trust; null: never. */
  readonly trustedUntil: Date | null;
  readonly evaluatedAt: Date;
}

/**
 * How a configured check stands now: `verdict` is `no_data` unless something that is fresh enough to trust came to one,
 * `value` is null too when it is too old, `threshold` is that of the set where it has moved with its level.
 */
export interface CheckState
  extends Omit<ConfiguredCheck, 'isQuietAtFirst'>,
    Pick<CheckStanding, 'verdict' | 'value' | 'explanation' | 'judgedAt' | 'isQuiet'> {
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
export function stateAt(check: ConfiguredCheck, standing: CheckStanding | null, now: Date): CheckState {
  const { isQuietAtFirst, ...configured } = check;
  if (standing === null) {
    return {
      ...configured,
      verdict: 'no_data',
      since: null,
      value: null,
      explanation: null,
      judgedAt: null,
      isTooOld: false,
      isQuiet: isQuietAtFirst,
    };
  }
  const { threshold, verdict, since, value, explanation, judgedAt, trustedUntil, isQuiet } = standing;
  const isTooOld = trustedUntil !== null && now > trustedUntil;
  return {
    ...configured,
    threshold,
    verdict: isTooOld ? 'no_data' : verdict,
    since: isTooOld && verdict !== 'no_data' ? trustedUntil : since,
    value: isTooOld ? null : value,
    explanation,
    judgedAt,
    isTooOld,
    isQuiet: isQuiet && !isTooOld,
  };
}
