/** How many queries a day a golden set may cost its retriever. */

export type StartPurpose = 'full' | 'sentinel' | 'escalation' | 'manual';

export interface BudgetQuestion {
  readonly purpose: StartPurpose;
  /** Most queries a day; null for no limit. */
  readonly limit: number | null;
  /** Queries of the set asked since midnight, those of running runs counted whole. */
  readonly asked: number;
  /** Queries of the run that wants to start. */
  readonly planned: number;
  /** Queries of a full run. */
  readonly full: number;
  /** Whether a sentinel watches the set, so that a full run may be needed at any time. */
  readonly hasSentinel: boolean;
}

/**
 * Whether a run fits into what is left of the day.
 *
 * A set with a sentinel keeps a reserve of one full run for the day it falls, as far as the limit leaves one full run
 * besides; scheduled runs and sentinels stop before the reserve, an escalation may use it. A person who starts a run by
 * hand is not held up, but what the run asks counts.
 */
export function fitsBudget({ purpose, limit, asked, planned, full, hasSentinel }: BudgetQuestion): boolean {
  if (limit === null || purpose === 'manual') return true;
  const reserve = hasSentinel && purpose !== 'escalation' ? Math.min(full, Math.max(0, limit - full)) : 0;
  return asked + planned <= limit - reserve;
}
