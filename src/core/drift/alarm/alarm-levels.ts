/** The two levels of the density alarm, and how much evidence each takes. */
import type { Baseline } from '../baseline/baseline.ts';
import type { BaselineGrade } from '../baseline/baseline-period.ts';
import type { BaselineSpread } from '../baseline/baseline-spread.ts';
import { nullMean } from '../baseline/overdispersion.ts';
import type { CombinedSettings } from './combined-detector.ts';
import type { DetectorSettings } from './e-detector.ts';

export type AlarmLevel = 'page' | 'ticket';

/** Densities down to these raise no alarm. */
export interface Floors {
  readonly global: number;
  readonly region: number;
}

export const FLOORS: Readonly<Record<AlarmLevel, Floors>> = {
  page: { global: 0.95, region: 0.6 },
  ticket: { global: 0.97, region: 0.75 },
};

/** `count` false pages are accepted in each `periodMs`. */
export interface FalsePageBudget {
  readonly count: number;
  readonly periodMs: number;
}

/**
 * Evidence at which an alarm is raised: the windows in which one false page is accepted, times the monitors that are
 * paged together. One a year of hourly windows, for one monitor: 8,760.
 */
export function alarmThreshold(budget: FalsePageBudget, windowMs: number, monitors: number): number {
  return (budget.periodMs / windowMs / budget.count) * monitors;
}

/** The levels of alarm that a baseline of this grade can raise. */
export function alarmLevels(grade: BaselineGrade): readonly AlarmLevel[] {
  if (grade === 'page') return ['page', 'ticket'];
  return grade === 'provisional' ? ['ticket'] : [];
}

/** The detectors of a level on a baseline: their null means and overdispersions. */
export function detectorsOf(
  baseline: Pick<Baseline, 'global' | 'monitored'>,
  floors: Floors,
): CombinedSettings {
  return {
    global: settingsOf(baseline.global, floors.global),
    regions: baseline.monitored.map((spread) => ({
      region: spread.region,
      ...settingsOf(spread, floors.region),
    })),
  };
}

function settingsOf(spread: BaselineSpread, floor: number): DetectorSettings {
  return { nullMean: nullMean(spread.meanXUpper, floor), phi: spread.phi };
}
