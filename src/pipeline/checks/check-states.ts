/** The state of every configured check: what its latest verdict is worth now. Of those that golden runs judge, and of thresholds. */
import { listGoldenChecks } from '../../core/checks/golden-checks.ts';
import type { CheckResult } from '../../core/checks/result.ts';
import { thresholdCheckName } from '../../core/checks/threshold.ts';
import type { Severity, Verdict } from '../../core/model.ts';
import type { StoredStanding } from '../../ports/check-history.ts';
import type { LatestRun } from '../../ports/golden-runs.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import { ageSeconds, isRunTooOld } from './trust.ts';

export interface CheckState {
  readonly pipeline: string;
  /** Whose runs judge it; null for a check on something else. */
  readonly goldenSet: string | null;
  readonly name: string;
  readonly severity: Severity;
  readonly threshold: number;
  /** `no_data` unless something that is fresh enough to trust came to a verdict. */
  readonly verdict: Verdict;
  /** What was last said of it; null when nothing was. */
  readonly judged: CheckResult | null;
  /** When that was; null when it never was. */
  readonly evaluatedAt: Date | null;
  readonly isTooOld: boolean;
  /** Whether it has no verdict for a reason that the config takes as no alarm, such as too little traffic. */
  readonly isQuiet: boolean;
}

/** Longest gap between two ticks of a set in seconds, null for a set that runs by hand. */
export type IntervalOf = (pipeline: string, goldenSet: string) => number | null;

/** Every check on golden runs, in the order of the config. */
export function checkStates(
  pipelines: readonly WatchedPipeline[],
  latest: readonly LatestRun[],
  intervalSeconds: IntervalOf,
  now: Date,
): CheckState[] {
  return pipelines.flatMap(({ name: pipeline, golden, checks }) =>
    golden.flatMap(({ set: goldenSet }) => {
      const ended =
        latest.find((run) => run.pipeline === pipeline && run.goldenSet === goldenSet)?.ended ?? null;
      const isTooOld =
        ended !== null && isRunTooOld(ended.finishedAt, intervalSeconds(pipeline, goldenSet), now);
      return listGoldenChecks(checks, goldenSet).map(({ name, severity, threshold }): CheckState => {
        const judged = ended?.checks.find((result) => result.name === name) ?? null;
        return {
          pipeline,
          goldenSet,
          name,
          severity,
          // Thresholds move with the level of the set when a new version takes over.
          threshold: judged?.threshold ?? threshold,
          verdict: isTooOld ? 'no_data' : (judged?.verdict ?? 'no_data'),
          judged,
          evaluatedAt: ended?.finishedAt ?? null,
          isTooOld,
          isQuiet: false,
        };
      });
    }),
  );
}

/** Checks are judged each minute; one that was not for so long is known no more. */
export const STANDING_TRUST_SECONDS = 900;

/** Every threshold, in the order of the config. */
export function thresholdStates(
  pipelines: readonly Pick<WatchedPipeline, 'name' | 'thresholds'>[],
  standings: readonly StoredStanding[],
  now: Date,
): CheckState[] {
  return pipelines.flatMap(({ name: pipeline, thresholds }) =>
    thresholds.map((check): CheckState => {
      const name = thresholdCheckName(check);
      const { severity, threshold } = check;
      const judged = standings.find((one) => one.pipeline === pipeline && one.name === name) ?? null;
      const isTooOld = judged !== null && ageSeconds(judged.evaluatedAt, now) > STANDING_TRUST_SECONDS;
      return {
        pipeline,
        goldenSet: null,
        name,
        severity,
        threshold,
        verdict: isTooOld ? 'no_data' : (judged?.verdict ?? 'no_data'),
        judged,
        evaluatedAt: judged?.evaluatedAt ?? null,
        isTooOld,
        isQuiet: judged !== null && !isTooOld && judged.isQuiet,
      };
    }),
  );
}
