/** The check `density drift`: live queries must not be covered worse than they were in the baseline. */
import type { AlarmLevel } from '../drift/alarm/alarm-levels.ts';
import type { BaselineNeeds } from '../drift/baseline/baseline-period.ts';
import type { Severity } from '../model.ts';
import { type CheckResult, decimals } from './result.ts';

export interface DensityDriftCheck {
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

export const DENSITY_CHECK_NAME = 'density drift';

/** The threshold of the check: the ratio of evidence at which an alarm is raised. */
export const DENSITY_CHECK_THRESHOLD = 1;

/**
 * Judges the alarms of query density: an open page has the severity of the check, an open ticket is a warning. Without
 * a baseline, while one is replaced, and when windows no longer close, the verdict is `no_data`.
 */
export function judgeDensityDrift({ severity }: DensityDriftCheck, evidence: DensityEvidence): CheckResult {
  const base = { name: DENSITY_CHECK_NAME, severity, threshold: DENSITY_CHECK_THRESHOLD, value: null };
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
    case 'watched':
      return { ...base, value: evidence.evidenceRatio, ...watchedVerdict(severity, evidence) };
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
  return { verdict: 'ok', explanation: `Live queries are covered as in the baseline.${ratio}${provisional}` };
}

function missingSentence({ days, sessions, needs }: Extract<DensityEvidence, { kind: 'learning' }>): string {
  const has = `There is no baseline yet: ${days} of ${needs.days} days and ${sessions} of ${needs.sessions} sessions were measured`;
  const missing = [
    ...(days < needs.days ? [`${needs.days - days} days`] : []),
    ...(sessions < needs.sessions ? [`${needs.sessions - sessions} sessions`] : []),
  ];
  return missing.length === 0 ? `${has}.` : `${has}; ${missing.join(' and ')} are missing.`;
}
