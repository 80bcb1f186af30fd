/** The check `density drift`: live queries must not be covered worse than they were in the baseline. */

import { type CheckResult, decimals, isBreach, NO_VALUE } from '../../checks/rules/threshold.ts';
import type { Severity } from '../../core/model.ts';
import type { AlarmLevel } from './alarm.ts';
import type { BaselineNeeds } from './baseline.ts';
import { MEASURING_PATIENCE_MS } from './watch.ts';
import type { DensityState, WatchSettings } from './watch-state.ts';

interface DensityDriftCheck {
  readonly name: string;
  readonly severity: Severity;
}

/** What is known of the density of a pipeline. */
export type DensityEvidence =
  | {
      readonly kind: 'learning';
      readonly days: number;
      readonly sessions: number;
      readonly needs: BaselineNeeds;
    }
  | { readonly kind: 'replaying'; readonly reason: string }
  | { readonly kind: 'stale'; readonly closedAt: Date }
  | {
      readonly kind: 'watched';
      readonly grade: 'page' | 'provisional';
      /** Evidence divided by the evidence at which an alarm is raised; null before the first window. */
      readonly evidenceRatio: number | null;
      /** When each alarm that is not resolved was raised. */
      readonly open: Readonly<Partial<Record<AlarmLevel, Date>>>;
    };

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

/**
 * The check `density_drift` of a pipeline as it stands: from the state of its watch to the verdict.
 *
 * @param state null before the first step
 * @param evidenceRatio of the page-level alarm at the last window; null before the first
 */
export function densityVerdict(
  check: DensityDriftCheck,
  settings: WatchSettings,
  state: DensityState | null,
  evidenceRatio: number | null,
  now: Date,
): CheckResult {
  return judgeDensityDrift(check, densityEvidence(settings, state, evidenceRatio, now));
}

function densityEvidence(
  settings: WatchSettings,
  state: DensityState | null,
  evidenceRatio: number | null,
  now: Date,
): DensityEvidence {
  if (state === null) return { kind: 'learning', days: 0, sessions: 0, needs: settings.needs };
  const { phase, closedMs } = state;
  switch (phase.kind) {
    case 'learning':
      return { kind: 'learning', ...phase.progress, needs: settings.needs };
    case 'replaying':
      return { kind: 'replaying', reason: phase.reason };
    case 'watching': {
      if (isStale(settings, closedMs, now)) return { kind: 'stale', closedAt: new Date(closedMs) };
      const open: Partial<Record<AlarmLevel, Date>> = {};
      for (const level of ['page', 'ticket'] as const) {
        const incident = phase.alarms[level]?.incident ?? null;
        if (incident !== null) open[level] = new Date(incident.openedMs);
      }
      return { kind: 'watched', grade: phase.grade, evidenceRatio, open };
    }
  }
}

/**
 * Judges the alarms of query density: an open page has the severity of the check, an open ticket is a warning. Without
 * a baseline, while one is replaced, and when windows no longer close, the verdict is `no_data`.
 */
export function judgeDensityDrift({ name, severity }: DensityDriftCheck, evidence: DensityEvidence): CheckResult {
  const base = {
    ...NO_VALUE,
    name,
    severity,
    threshold: DENSITY_CHECK_THRESHOLD,
    isBeyond: false,
  };
  switch (evidence.kind) {
    case 'learning':
      return { ...base, verdict: 'no_data', explanation: missingSentence(evidence) };
    case 'replaying':
      return {
        ...base,
        verdict: 'no_data',
        explanation: `The baseline is being made anew after ${evidence.reason}.`,
      };
    case 'stale':
      return {
        ...base,
        verdict: 'no_data',
        explanation: `No window of live queries was closed since ${evidence.closedAt.toISOString()}; look at the jobs measure-query-coverage and evaluate-density.`,
      };
    case 'watched': {
      const watched = watchedVerdict(severity, evidence);
      return { ...base, value: evidence.evidenceRatio, isBeyond: isBreach(watched.verdict), ...watched };
    }
  }
}

function watchedVerdict(
  severity: Severity,
  { grade, evidenceRatio, open }: Extract<DensityEvidence, { kind: 'watched' }>,
): Pick<CheckResult, 'verdict' | 'explanation'> {
  const ratio = evidenceRatio === null ? '' : ` The evidence is ${decimals(evidenceRatio)} of what it takes.`;
  if (open.page !== undefined) {
    const explanation = `Live queries are covered worse than in the baseline since ${open.page.toISOString()}.`;
    return { verdict: severity, explanation };
  }
  if (open.ticket !== undefined) {
    const explanation = `Live queries are covered a little worse than in the baseline since ${open.ticket.toISOString()}: a ticket, no page.${ratio}`;
    return { verdict: 'warning', explanation };
  }
  const provisional = grade === 'provisional' ? ' The baseline is provisional: tickets, no pages.' : '';
  const isUnconfirmed = evidenceRatio !== null && evidenceRatio >= DENSITY_CHECK_THRESHOLD;
  const standing = isUnconfirmed
    ? 'Live queries may be covered worse than in the baseline: an alarm is raised once their density is known to be below its floor.'
    : 'Live queries are covered as in the baseline.';
  return { verdict: 'ok', explanation: `${standing}${ratio}${provisional}` };
}

function missingSentence({ days, sessions, needs }: Extract<DensityEvidence, { kind: 'learning' }>): string {
  const has = `There is no baseline yet: ${days} of ${needs.days} days and ${sessions} of ${needs.sessions} sessions were measured`;
  const missing = [
    ...(days < needs.days ? [`${needs.days - days} days`] : []),
    ...(sessions < needs.sessions ? [`${needs.sessions - sessions} sessions`] : []),
  ];
  return missing.length === 0 ? `${has}.` : `${has}; ${missing.join(' and ')} are missing.`;
}
