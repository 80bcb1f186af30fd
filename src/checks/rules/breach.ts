/** What is remembered of a breach: since when it lasts, how it was before, and whether an outage is all that shows it. */
import type { Verdict } from '../../model.ts';

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
  readonly evidence: { readonly from: Date; readonly until: Date } | null;
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
