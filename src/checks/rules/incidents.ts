/** The times in which a check was in alarm, found from the changes of its verdict, and the pages that they made. */
import type { Cause } from '../../diagnosis/rules/cause.ts';
import type { Severity, Verdict } from '../../model.ts';
import { MINUTE_MS } from '../../time.ts';
import { isBreach } from './check-result.ts';

/** What incidents need to know of a change of the verdict of a check. */
export interface VerdictChange {
  readonly check: string;
  readonly severity: Severity;
  readonly from: Verdict | null;
  readonly to: Verdict;
  readonly occurredAt: Date;
  readonly explanation: string;
}

/** Where a check stands now. */
export interface StandingCheck {
  readonly name: string;
  readonly severity: Severity;
  readonly verdict: Verdict;
  readonly since: Date;
  readonly explanation: string | null;
}

export interface Incident {
  readonly check: string;
  readonly severity: Severity;
  /** The worst verdict that it reached. */
  readonly worst: Severity;
  /** Null when it was open before the period. */
  readonly openedAt: Date | null;
  /** When the check was ok again; null when it was not within the period. */
  readonly closedAt: Date | null;
  /** How long it was open within the period. */
  readonly durationMs: number;
  /** When it became critical; several times when it fell back to a warning in between. */
  readonly criticalAt: readonly Date[];
  /** The sentence that came with its worst verdict; null when that came before the period. */
  readonly explanation: string | null;
}

interface Open {
  readonly severity: Severity;
  readonly openedAt: Date | null;
  worst: Severity;
  criticalAt: Date[];
  explanation: string | null;
}

/**
 * Incidents from `from` to before `until`, newest first. One opens when a check becomes a warning or critical and
 * closes when it is ok again. A gap without data is neither a recovery nor an incident.
 *
 * @param changes of one pipeline, everything since `from` in any order; later ones tell how a check stood at `until`
 * @param standings of its checks now: one that never changed since `from` has stood like that all along
 */
export function incidentsOf(
  changes: readonly VerdictChange[],
  standings: readonly StandingCheck[],
  from: Date,
  until: Date,
): Incident[] {
  const byCheck = new Map<string, VerdictChange[]>();
  for (const change of changes.toSorted((a, b) => a.occurredAt.getTime() - b.occurredAt.getTime())) {
    byCheck.set(change.check, [...(byCheck.get(change.check) ?? []), change]);
  }
  const changed = [...byCheck].flatMap(([check, steps]) => incidentsOfCheck(check, steps, from, until));
  const unchanged = standings.flatMap(({ name, severity, verdict, since, explanation }): Incident[] =>
    byCheck.has(name) || !isBreach(verdict) || since >= from
      ? []
      : [
          incidentOf(
            name,
            { severity, worst: verdict, openedAt: null, criticalAt: [], explanation },
            null,
            from,
            until,
          ),
        ],
  );
  return [...changed, ...unchanged].toSorted((a, b) => (b.openedAt ?? from).getTime() - (a.openedAt ?? from).getTime());
}

function incidentsOfCheck(check: string, steps: readonly VerdictChange[], from: Date, until: Date): Incident[] {
  const [first] = steps;
  let open: Open | null = null;
  if (first !== undefined && isBreach(first.from)) {
    const { severity, from: worst } = first;
    open = { severity, worst, openedAt: null, criticalAt: [], explanation: null };
  }
  const found: Incident[] = [];
  for (const { severity, to, occurredAt, explanation } of steps) {
    if (occurredAt < from) continue;
    if (occurredAt >= until) break;
    if (isBreach(to)) {
      open ??= { severity, worst: to, openedAt: occurredAt, criticalAt: [], explanation };
      if (to === 'critical') {
        if (open.worst === 'warning' || open.explanation === null) open.explanation = explanation;
        open.worst = 'critical';
        open.criticalAt.push(occurredAt);
      }
    } else if (to === 'ok' && open !== null) {
      found.push(incidentOf(check, open, occurredAt, from, until));
      open = null;
    }
  }
  if (open !== null) found.push(incidentOf(check, open, null, from, until));
  return found;
}

function incidentOf(
  check: string,
  { severity, worst, openedAt, criticalAt, explanation }: Open,
  closedAt: Date | null,
  from: Date,
  until: Date,
): Incident {
  const durationMs = (closedAt ?? until).getTime() - (openedAt ?? from).getTime();
  return { check, severity, worst, openedAt, closedAt, durationMs, criticalAt, explanation };
}

/** How many pages there were, and how many of them look false: nobody tells recalld which ones were. */
export interface PageStatistics {
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
export function pageStatistics(
  incidents: readonly (Pick<Incident, 'criticalAt' | 'closedAt'> & { readonly cause: Cause | null })[],
): PageStatistics {
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
