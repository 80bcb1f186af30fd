/** The checks on the golden runs of a pipeline: floors, regressions and stale labels. */
import { type CheckShifts, shiftOf } from '../golden/rotation/shift.ts';
import type { SegmentScore } from '../golden/run.ts';
import type { Severity } from '../model.ts';
import { type FloorCheck, floorCheckName, judgeFloor } from './floor.ts';
import {
  type ComparedWithBaseline,
  judgeRegression,
  type RegressionCheck,
  regressionCheckName,
} from './regression.ts';
import type { CheckResult } from './result.ts';
import {
  judgeStaleLabels,
  type LabelCounts,
  type StaleLabelsCheck,
  staleLabelsCheckName,
} from './stale-labels.ts';

export interface GoldenChecks {
  readonly floors: readonly FloorCheck[];
  readonly regressions: readonly RegressionCheck[];
  readonly staleLabels: readonly StaleLabelsCheck[];
}

/** What the checks of a run are judged by. */
export interface RunEvidence {
  readonly scores: readonly SegmentScore[];
  /** The run against its baseline, or the sentence that says why there is no comparison. */
  readonly compared: ComparedWithBaseline | string;
  /** The completed runs before it, oldest first. */
  readonly history: readonly ComparedWithBaseline[];
  readonly labels: LabelCounts;
  /** By how much thresholds moved when newer versions of the set took over; left out, none did. */
  readonly shifts?: CheckShifts;
}

/** Judges every check of a pipeline on a run of one of its golden sets. */
export function judgeGoldenRun(
  { floors, regressions, staleLabels }: GoldenChecks,
  goldenSet: string,
  { scores, compared, history, labels, shifts = {} }: RunEvidence,
): CheckResult[] {
  return [
    ...floors.map((check) =>
      judgeFloor(check, goldenSet, scores, shiftOf(shifts, floorCheckName(check, goldenSet))),
    ),
    ...regressions.map((check) =>
      judgeRegression(
        check,
        goldenSet,
        compared,
        history,
        shiftOf(shifts, regressionCheckName(check, goldenSet)),
      ),
    ),
    ...staleLabels.map((check) => judgeStaleLabels(check, goldenSet, labels)),
  ];
}

/** Every check on a golden set with the name that its verdict carries and the threshold that it is judged by. */
export function listGoldenChecks(
  { floors, regressions, staleLabels }: GoldenChecks,
  goldenSet: string,
  shifts: CheckShifts = {},
): { readonly name: string; readonly severity: Severity; readonly threshold: number }[] {
  return [
    ...floors.map((check) => {
      const name = floorCheckName(check, goldenSet);
      return { name, severity: check.severity, threshold: check.below + shiftOf(shifts, name).mean };
    }),
    ...regressions.map((check) => {
      const name = regressionCheckName(check, goldenSet);
      return { name, severity: check.severity, threshold: -check.drop + shiftOf(shifts, name).mean };
    }),
    ...staleLabels.map((check) => ({
      name: staleLabelsCheckName(check, goldenSet),
      severity: check.severity,
      threshold: check.above,
    })),
  ];
}

/** How many runs before the latest one the checks look at. */
export function historyNeeded({ regressions }: GoldenChecks): number {
  return Math.max(0, ...regressions.map(({ runs }) => runs - 1));
}
