/** The reference period: how long it is, and what it is good for. */
import { DAY_MS } from '../../time.ts';

export interface Period {
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
}

/** `page`: both levels of the alarm. `provisional`: tickets only. `insufficient`: no alarm. */
export type BaselineGrade = 'page' | 'provisional' | 'insufficient';

export interface BaselineNeeds {
  readonly days: number;
  readonly sessions: number;
}

/** Two weekly cycles. */
export const PAGE_NEEDS: BaselineNeeds = { days: 14, sessions: 2_000 };
export const PROVISIONAL_NEEDS: BaselineNeeds = { days: 3, sessions: 500 };

const WEEK_MS = 7 * DAY_MS;

/**
 * The last whole weeks of a period of at least two; a shorter one as it is. Otherwise the weekdays at its ends would
 * count more than the others, wherever in the world the users are.
 */
export function wholeWeeks({ from, until }: Period): Period {
  const weeks = Math.floor((until.getTime() - from.getTime()) / WEEK_MS);
  return weeks < 2 ? { from, until } : { from: new Date(until.getTime() - weeks * WEEK_MS), until };
}

/**
 * Days of 24 hours, counted back from the end of the period, from the first to the last that has a query; a weekend
 * without queries between them counts.
 */
export function daysWithTraffic({ until }: Period, times: readonly Date[]): number {
  let first = Number.NEGATIVE_INFINITY;
  let last = Number.POSITIVE_INFINITY;
  for (const time of times) {
    const day = Math.ceil((until.getTime() - time.getTime()) / DAY_MS);
    first = Math.max(first, day);
    last = Math.min(last, day);
  }
  return times.length === 0 ? 0 : first - last + 1;
}

/** @param pageNeeds what both levels of the alarm need; tickets never need more */
export function baselineGrade(
  days: number,
  sessions: number,
  pageNeeds: BaselineNeeds = PAGE_NEEDS,
): BaselineGrade {
  const has = (needs: BaselineNeeds): boolean => days >= needs.days && sessions >= needs.sessions;
  if (has(pageNeeds)) return 'page';
  return has(PROVISIONAL_NEEDS) ? 'provisional' : 'insufficient';
}
