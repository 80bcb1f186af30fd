/** The check `density drift`: live queries must not be covered worse than they were in the baseline. */

import { type CheckOutcome, isBreach, NO_VALUE } from '../../checks/rules/threshold.ts';
import { percentage } from '../../core/format.ts';
import type { Severity } from '../../core/model.ts';
import type { AlertLevel } from './alert.ts';
import type { BaselineNeeds } from './baseline.ts';
import { MEASURING_PATIENCE_MS } from './watch.ts';
import type { BaselineProgress, DensityState, WatchingPhase, WatchSettings } from './watch-state.ts';

/** What it is called unless the config gives it a name. */
export const DENSITY_CHECK_NAME = 'density drift';

/** The threshold of the check: the ratio of evidence at which an alarm is raised. */
export const DENSITY_CHECK_THRESHOLD = 1;

/** Windows that may be missing before what is known of the density is no longer trusted. */
const WINDOWS_TO_TRUST = 3;

/** Until when what is known by a window that ended then may be trusted. */
export function trustedUntil(
  { windowMs, graceMs }: Pick<WatchSettings, 'windowMs' | 'graceMs'>,
  windowEndMs: number,
): Date {
  return new Date(windowEndMs + WINDOWS_TO_TRUST * windowMs + graceMs + MEASURING_PATIENCE_MS);
}

/** Whether a window that ended then is too old to speak for now. */
export function isStale(plan: Pick<WatchSettings, 'windowMs' | 'graceMs'>, windowEndMs: number, now: Date): boolean {
  return now > trustedUntil(plan, windowEndMs);
}

/** Why a check on query density has no data once windows no longer close. */
export function staleSentence(windowEndMs: number): string {
  return `No window of live queries was closed since ${new Date(windowEndMs).toISOString()}; see the jobs measure-query-coverage and evaluate-density.`;
}

/**
 * The verdict on the alarms of query density: an open page has the severity of the check, an open ticket is a warning.
 * Without a baseline, and while one is replaced, it is `no_data`.
 *
 * @param state null before the first step of the watch
 * @param evidenceRatio of the page-level alarm at the last window; null before the first
 */
export function evaluateDensityDrift(
  severity: Severity,
  needs: BaselineNeeds,
  state: Pick<DensityState, 'phase'> | null,
  evidenceRatio: number | null,
): CheckOutcome {
  const phase = state?.phase ?? { kind: 'learning', progress: { days: 0, sessions: 0 } };
  const unknown = { ...NO_VALUE, verdict: 'no_data', isBeyond: false } as const;
  switch (phase.kind) {
    case 'learning':
      return { ...unknown, explanation: missingSentence(phase.progress, needs) };
    case 'replaying':
      return { ...unknown, explanation: `The baseline is being made anew after ${phase.reason}.` };
    case 'watching': {
      const watched = watchedVerdict(severity, phase, evidenceRatio);
      return { ...NO_VALUE, value: evidenceRatio, isBeyond: isBreach(watched.verdict), ...watched };
    }
  }
}

function watchedVerdict(
  severity: Severity,
  { grade, alerts }: Pick<WatchingPhase, 'grade' | 'alerts'>,
  evidenceRatio: number | null,
): Pick<CheckOutcome, 'verdict' | 'explanation'> {
  const ratio = evidenceRatio === null ? '' : ` Evidence of drift: ${percentage(evidenceRatio)} of the alert level.`;
  const openedAt = (level: AlertLevel): string | null => {
    const incident = alerts[level]?.incident ?? null;
    return incident === null ? null : new Date(incident.openedMs).toISOString();
  };
  const [page, ticket] = [openedAt('page'), openedAt('ticket')];
  if (page !== null) {
    return { verdict: severity, explanation: `Live queries are covered worse than in the baseline since ${page}.` };
  }
  if (ticket !== null) {
    const explanation = `Live queries are covered a little worse than in the baseline since ${ticket}: a ticket, no page.${ratio}`;
    return { verdict: 'warning', explanation };
  }
  const provisional = grade === 'provisional' ? ' The baseline is provisional: tickets, no pages.' : '';
  const isUnconfirmed = evidenceRatio !== null && evidenceRatio >= DENSITY_CHECK_THRESHOLD;
  const status = isUnconfirmed
    ? 'Live queries may be covered worse than in the baseline: an alarm is raised once their density is known to be below its floor.'
    : 'Live queries are covered as in the baseline.';
  return { verdict: 'ok', explanation: `${status}${ratio}${provisional}` };
}

function missingSentence(
  { days, sessions }: Pick<BaselineProgress, 'days' | 'sessions'>,
  needs: BaselineNeeds,
): string {
  const has = `There is no baseline yet: ${days} of ${needs.days} days and ${sessions} of ${needs.sessions} sessions were measured`;
  const missing = [
    ...(days < needs.days ? [`${needs.days - days} days`] : []),
    ...(sessions < needs.sessions ? [`${needs.sessions - sessions} sessions`] : []),
  ];
  return missing.length === 0 ? `${has}.` : `${has}; ${missing.join(' and ')} are missing.`;
}
