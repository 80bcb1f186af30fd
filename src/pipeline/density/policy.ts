import {
  type AlarmLevel,
  alarmLevels,
  alarmThreshold,
  detectorsOf,
  FLOORS,
} from '../../core/drift/alarm/alarm-levels.ts';
import { type AlarmPolicy, type AlarmState, newAlarm } from '../../core/drift/alarm/alarm-policy.ts';
import { densityOf } from '../../core/drift/coverage/query-density.ts';
import type { FrozenBaseline } from '../../ports/density-baselines.ts';
import type { WatchingPhase } from '../../ports/density-states.ts';
import type { DensityPlan } from './plan.ts';

const DAY_MS = 86_400_000;
/** How long a window waits, after its grace, for queries that are still to be measured. */
export const MEASURING_PATIENCE_MS = 3_600_000;

/** The alarm of a level: its floors, its detectors on the baseline, and the budget of all pipelines together. */
export function alarmPolicy(plan: DensityPlan, baseline: FrozenBaseline, level: AlarmLevel): AlarmPolicy {
  return {
    detectors: detectorsOf(baseline, FLOORS[level]),
    floors: FLOORS[level],
    threshold: alarmThreshold(plan.budget, plan.windowMs, plan.monitors),
  };
}

/** The watch over windows from `closedMs` on, with a baseline that is good for one level at least. */
export function watchWith(
  plan: DensityPlan,
  baseline: FrozenBaseline,
  version: number,
  closedMs: number,
): WatchingPhase {
  const alarms: Partial<Record<AlarmLevel, AlarmState>> = {};
  for (const level of alarmLevels(baseline.grade)) {
    alarms[level] = newAlarm(alarmPolicy(plan, baseline, level), closedMs);
  }
  const isPage = baseline.grade === 'page';
  return {
    kind: 'watching',
    baselineVersion: version,
    grade: isPage ? 'page' : 'provisional',
    days: baseline.days,
    sessions: baseline.sessions,
    density: densityOf(baseline.global.meanX),
    untilMs: baseline.period.until.getTime(),
    upgradeMs: isPage ? null : closedMs + DAY_MS,
    alarms,
  };
}

/** End of the last window that may have closed by now. */
export function lastClosable({ windowMs, graceMs }: DensityPlan, now: Date): number {
  return Math.floor((now.getTime() - graceMs) / windowMs) * windowMs;
}
