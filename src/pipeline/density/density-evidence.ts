import type { DensityEvidence } from '../../core/checks/density-drift.ts';
import type { AlarmLevel } from '../../core/drift/alarm/alarm-levels.ts';
import type { StoredDensityState } from '../../ports/density-states.ts';
import type { DensityPlan } from './plan.ts';
import { MEASURING_PATIENCE_MS } from './policy.ts';

/** Windows that may be missing before what is known of the density is no longer trusted. */
const WINDOWS_TO_TRUST = 3;

/** Whether a window that ended then is too old to speak for now. */
export function isStale(
  { windowMs, graceMs }: Pick<DensityPlan, 'windowMs' | 'graceMs'>,
  windowEndMs: number,
  now: Date,
): boolean {
  return now.getTime() - windowEndMs > WINDOWS_TO_TRUST * windowMs + graceMs + MEASURING_PATIENCE_MS;
}

/** What the stored state says for the check `density_drift`. */
export function densityEvidence(
  plan: DensityPlan,
  stored: StoredDensityState | null,
  evidenceRatio: number | null,
  now: Date,
): DensityEvidence {
  if (stored === null) return { kind: 'learning', days: 0, sessions: 0, needs: plan.needs };
  const { phase, closedMs } = stored.state;
  switch (phase.kind) {
    case 'learning':
      return { kind: 'learning', ...phase.progress, needs: plan.needs };
    case 'replaying':
      return { kind: 'replaying', reason: phase.reason };
    case 'watching': {
      if (isStale(plan, closedMs, now)) return { kind: 'stale', closedAt: new Date(closedMs) };
      const open: Partial<Record<AlarmLevel, Date>> = {};
      for (const level of ['page', 'ticket'] as const) {
        const incident = phase.alarms[level]?.incident ?? null;
        if (incident !== null) open[level] = new Date(incident.openedMs);
      }
      return { kind: 'watched', grade: phase.grade, evidenceRatio, open };
    }
  }
}
