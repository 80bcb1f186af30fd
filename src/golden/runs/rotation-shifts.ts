/** How far the checks of a pipeline move when a new version of a golden set takes over. */

import type { CheckShift, CheckShifts } from '../../checks/rules/check-result.ts';
import { floorCheckName, type GoldenChecks } from '../../checks/rules/golden-checks.ts';
import {
  type ComparedWithBaseline,
  differenceOn,
  isRegression,
  type RegressionCheck,
  regressionCheckName,
} from '../../checks/rules/regression.ts';
import { byKey, type OverlapPair } from '../rules/rotation/overlap.ts';

/** How the last run of each version compares with the pinned baseline; null where it could not be compared. */
export interface OverlapRegressions {
  readonly from: ComparedWithBaseline | null;
  readonly to: ComparedWithBaseline | null;
}

/**
 * A floor moves by the difference of the levels of the two versions, so that it keeps its distance to the scores; for
 * the upper bound it moves by the difference of the upper bounds when that is lower, since a larger set has narrower
 * bounds. Of several overlapping runs the lowest difference is taken: on none of them is the new version judged more
 * harshly than the old one.
 *
 * A regression check moves when the new version stands lower against the baseline than the old version, and the old one
 * showed no regression: from then on only a further fall counts. The new version may stand lower without a fall of its
 * own, when the questions that it shares with the baseline fell by more than all questions did.
 */
export function rotationShifts(
  { floors, regressions }: GoldenChecks,
  goldenSet: string,
  pairs: readonly OverlapPair[],
  { from, to }: OverlapRegressions,
): CheckShifts {
  const moved = [
    ...floors.map((check) => [floorCheckName(check, goldenSet), floorShift(check.measure, pairs)] as const),
    ...regressions.map((check) => {
      const mean = regressionShift(check, from, to);
      return [regressionCheckName(check, goldenSet), { mean, upper: mean }] as const;
    }),
  ];
  return Object.fromEntries(moved.filter(([, { mean, upper }]) => mean !== 0 || upper !== 0));
}

function regressionShift(
  check: RegressionCheck,
  from: ComparedWithBaseline | null,
  to: ComparedWithBaseline | null,
): number {
  const before = from === null ? null : differenceOn(check, from);
  const after = to === null ? null : differenceOn(check, to);
  if (after === null || (before !== null && isRegression(check, before))) return 0;
  return Math.min(0, after.difference - Math.max(before?.difference ?? 0, -check.drop / 2));
}

function floorShift(measure: string, pairs: readonly OverlapPair[]): CheckShift {
  const differences = pairs.flatMap((pair) => {
    const before = byKey(pair.from).get(measure);
    const after = byKey(pair.to).get(measure);
    if (before === undefined || after === undefined) return [];
    return [{ mean: after.mean - before.mean, upper: after.ciHigh - before.ciHigh }];
  });
  if (differences.length === 0) return { mean: 0, upper: 0 };
  const mean = Math.min(...differences.map((difference) => difference.mean));
  return { mean, upper: Math.min(mean, ...differences.map((difference) => difference.upper)) };
}
