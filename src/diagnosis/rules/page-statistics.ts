/** How many pages there were, and how many of them look false: nobody tells recalld which ones were. */
import { MINUTE_MS } from '../../time.ts';
import type { Incident } from './incident.ts';

export interface PageStatistics {
  /** Number of times that an alarm became critical. */
  readonly pages: number;
  /** Pages of an incident whose cause is unknown. */
  readonly unexplained: number;
  /** Pages of an alarm that was over within `BRIEF_MS`. */
  readonly brief: number;
  /** Pages that are unexplained or brief. */
  readonly suspect: number;
}

export const BRIEF_MS = 30 * MINUTE_MS;

/** Of the pages from `from` to before `until`. */
export function pageStatistics(
  incidents: readonly Pick<Incident, 'course' | 'cause'>[],
  from: Date,
  until: Date,
): PageStatistics {
  const pages = incidents.flatMap(({ course, cause }) =>
    course.flatMap(({ criticalAt, endedAt }) =>
      criticalAt
        .filter((at) => at >= from && at < until)
        .map((at) => ({
          isUnexplained: cause === 'unknown',
          isBrief: endedAt !== null && endedAt.getTime() - at.getTime() <= BRIEF_MS,
        })),
    ),
  );
  return {
    pages: pages.length,
    unexplained: pages.filter(({ isUnexplained }) => isUnexplained).length,
    brief: pages.filter(({ isBrief }) => isBrief).length,
    suspect: pages.filter(({ isUnexplained, isBrief }) => isUnexplained || isBrief).length,
  };
}
