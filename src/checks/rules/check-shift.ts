/** Thresholds that move with the level of a golden set when a new version takes over. */

/** By how much a check is judged differently from what the config says. */
export interface CheckShift {
  /** Added to the threshold of the mean, or to the least fall of a regression (then <= 0). */
  readonly mean: number;
  /** Added to the threshold of the upper bound; never above `mean`. Regressions have no use for it. */
  readonly upper: number;
}

export const NO_SHIFT: CheckShift = { mean: 0, upper: 0 };

/** Shifts by the name of the check. */
export type CheckShifts = Readonly<Record<string, CheckShift>>;

/** Several rotations one after the other move a threshold by the sum of what each did. */
export function addShifts(rotations: readonly CheckShifts[]): CheckShifts {
  const sums: Record<string, CheckShift> = {};
  for (const [name, { mean, upper }] of rotations.flatMap((shifts) => Object.entries(shifts))) {
    const before = sums[name] ?? NO_SHIFT;
    sums[name] = { mean: before.mean + mean, upper: before.upper + upper };
  }
  return sums;
}

/** The shift of a check; a check that the config got after the switch has none. */
export function shiftOf(shifts: CheckShifts, name: string): CheckShift {
  return shifts[name] ?? NO_SHIFT;
}
