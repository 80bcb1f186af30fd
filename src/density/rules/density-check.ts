import { type CheckOutcome, isBreach, NO_VALUE } from '../../checks/rules/threshold.ts';
import { minute, percentage } from '../../core/format.ts';
import type { Severity } from '../../core/model.ts';
import type { AlertLevel } from './alert.ts';
import type { BaselineTraffic } from './baseline.ts';
import { MEASURING_PATIENCE_MS } from './watch.ts';
import type { DensityState, WatchingPhase } from './watch-state.ts';

export const DENSITY_CHECK_NAME = 'density drift';

/** An alert can fire once its e-value, divided by the minimum e-value for an alert, reaches this number. */
export const DENSITY_CHECK_THRESHOLD = 1;

/** Number of consecutive windows that may fail to close; if more fail, the density is stale. */
const WINDOWS_TO_TRUST = 3;

type WindowTiming = Readonly<Record<'windowMs' | 'graceMs', number>>;

/** Returns the time until which the results of a window are current. */
export function trustedUntil({ windowMs, graceMs }: WindowTiming, windowEndMs: number): Date {
  return new Date(windowEndMs + WINDOWS_TO_TRUST * windowMs + graceMs + MEASURING_PATIENCE_MS);
}

export function isStale(plan: WindowTiming, windowEndMs: number, now: Date): boolean {
  return now > trustedUntil(plan, windowEndMs);
}

export function staleSentence(windowEndMs: number): string {
  return `No window of live queries has ended since ${minute(new Date(windowEndMs))} UTC. Check the measure-query-coverage and evaluate-density jobs.`;
}

/**
 * Derives the verdict of the check from the density alerts. If the page alert is firing, the verdict is the severity of
 * the check; if only the ticket alert is firing, the verdict is a warning. Returns `no_data` if there is no baseline,
 * or while the baseline is being replaced.
 *
 * @param current null before the first step
 * @param evidenceRatio e-value of the page alert divided by its alert threshold; null before the first window
 */
export function evaluateDensityDrift(
  severity: Severity,
  needs: BaselineTraffic,
  current: DensityState['phase'] | null,
  evidenceRatio: number | null,
): CheckOutcome {
  const phase = current ?? { kind: 'learning', progress: { days: 0, sessions: 0 } };
  const unknown = { ...NO_VALUE, verdict: 'no_data', isBeyond: false } as const;
  switch (phase.kind) {
    case 'learning':
      return { ...unknown, explanation: missingSentence(phase.progress, needs) };
    case 'replaying':
      return { ...unknown, explanation: `The baseline is being rebuilt after ${phase.reason}.` };
    case 'watching': {
      const watched = watchedVerdict(severity, phase, evidenceRatio);
      return { ...NO_VALUE, value: evidenceRatio, isBeyond: isBreach(watched.verdict), ...watched };
    }
  }
}

function watchedVerdict(severity: Severity, { grade, alerts }: WatchingPhase, evidenceRatio: number | null) {
  const ratio =
    evidenceRatio === null
      ? ''
      : ` The evidence of drift has reached ${percentage(evidenceRatio)} of the alert threshold.`;
  const openedAt = (level: AlertLevel): string | null => {
    const incident = alerts[level]?.incident ?? null;
    return incident === null ? null : `${minute(new Date(incident.openedMs))} UTC`;
  };
  const [page, ticket] = [openedAt('page'), openedAt('ticket')];
  if (page !== null) {
    return {
      verdict: severity as CheckOutcome['verdict'],
      explanation: `Drift confirmed: since ${page}, live queries have been less well covered than in the baseline.`,
    };
  }
  if (ticket !== null) {
    const explanation = `Drift confirmed at ticket level: since ${ticket}, live queries have been slightly less well covered than in the baseline.${ratio}`;
    return { verdict: 'warning' as const, explanation };
  }
  const provisional = grade === 'provisional' ? ' The baseline is provisional, so only ticket alerts can fire.' : '';
  const isUnconfirmed = evidenceRatio !== null && evidenceRatio >= DENSITY_CHECK_THRESHOLD;
  const status = isUnconfirmed
    ? 'Drift suspected but not confirmed: the alert fires once query density is significantly below its threshold.'
    : 'Drift not confirmed: coverage of live queries is as good as in the baseline.';
  return { verdict: 'ok' as const, explanation: `${status}${ratio}${provisional}` };
}

function missingSentence({ days, sessions }: BaselineTraffic, needs: BaselineTraffic): string {
  const has = `No baseline yet: ${days} of ${needs.days} days and ${sessions} of ${needs.sessions} sessions measured`;
  const missing = [
    ...(days < needs.days ? [`${needs.days - days} days`] : []),
    ...(sessions < needs.sessions ? [`${needs.sessions - sessions} sessions`] : []),
  ];
  return missing.length === 0 ? `${has}.` : `${has}; ${missing.join(' and ')} are missing.`;
}
