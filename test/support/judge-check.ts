/** Evaluates one check on a golden run of `faq`, in the same way as at the end of a run. */
import {
  evaluateGoldenRun,
  type FloorCheck,
  type GoldenCheck,
  goldenCheckName,
  type RunEvidence,
} from '../../src/checks/rules/golden-checks.ts';
import type { ComparedWithBaseline, RegressionCheck } from '../../src/checks/rules/regression.ts';
import { type CheckResult, type CheckShift, NO_SHIFT } from '../../src/checks/rules/threshold.ts';
import type { Verdict } from '../../src/core/model.ts';
import type { SegmentScore } from '../../src/golden/rules/run.ts';

export function judgeCheck(check: GoldenCheck, evidence: Partial<RunEvidence>): CheckResult {
  const [result] = evaluateGoldenRun([check], 'faq', {
    scores: [],
    compared: 'No baseline is pinned.',
    history: [],
    labels: { kind: 'unknown', reason: 'There is no store.' },
    forbidden: null,
    ...evidence,
  });
  if (result === undefined) throw new Error('there is one check');
  return result;
}

export function evaluateFloor(
  check: FloorCheck,
  scores: readonly SegmentScore[],
  shift: CheckShift = NO_SHIFT,
): CheckResult {
  const floor = { ...check, kind: 'floor' } as const;
  return judgeCheck(floor, { scores, shifts: { [goldenCheckName(floor, 'faq')]: shift } });
}

/** @param history earlier completed runs, oldest first; @param previous the verdict on the latest of these runs */
export function evaluateRegression(
  check: RegressionCheck,
  compared: ComparedWithBaseline | string,
  history: readonly ComparedWithBaseline[],
  shift: CheckShift = NO_SHIFT,
  previous: Verdict | null = null,
): CheckResult {
  const regression = { ...check, kind: 'regression' } as const;
  const name = goldenCheckName(regression, 'faq');
  const before = previous === null ? [] : [{ name, verdict: previous }];
  return judgeCheck(regression, { compared, history, before, shifts: { [name]: shift } });
}
