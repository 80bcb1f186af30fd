/** How many pages there were, and how many of them look false: nobody tells recalld which ones were. */
import type { Cause } from '../diagnosis/cause.ts';
import type { FalsePageBudget } from '../drift/alarm/alarm-levels.ts';
import { MINUTE_MS } from '../time.ts';
import type { Incident } from './incidents.ts';

export interface PageAccount {
  /** Number of times that a check became critical. */
  readonly pages: number;
  /** Pages whose incident has no diagnosis, or one of unknown cause. */
  readonly unexplained: number;
  /** Pages whose incident was over within `BRIEF_MS`. */
  readonly brief: number;
  /** Pages that are unexplained or brief. */
  readonly suspect: number;
}

export const BRIEF_MS = 30 * MINUTE_MS;

/** @param incidents with the cause that was last named for them; null without a diagnosis */
export function pageAccount(
  incidents: readonly (Pick<Incident, 'criticalAt' | 'closedAt'> & { readonly cause: Cause | null })[],
): PageAccount {
  const pages = incidents.flatMap(({ criticalAt, closedAt, cause }) =>
    criticalAt.map((at) => ({
      isUnexplained: cause === null || cause === 'unknown',
      isBrief: closedAt !== null && closedAt.getTime() - at.getTime() <= BRIEF_MS,
    })),
  );
  return {
    pages: pages.length,
    unexplained: pages.filter(({ isUnexplained }) => isUnexplained).length,
    brief: pages.filter(({ isBrief }) => isBrief).length,
    suspect: pages.filter(({ isUnexplained, isBrief }) => isUnexplained || isBrief).length,
  };
}

/**
 * False pages that the budget accepts in a span of that length. The alarms of query density are calibrated to their
 * budget, however often one looks.
 */
export function acceptedFalsePages({ count, periodMs }: FalsePageBudget, spanMs: number): number {
  return (count * spanMs) / periodMs;
}
