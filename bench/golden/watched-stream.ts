/** The daemon's own judgement of a stream of golden runs: pinned baseline, measured noise, check after each run. */
import {
  type BaselineDifference,
  type ComparedWithBaseline,
  judgeRegression,
  type RegressionCheck,
} from '../../src/checks/rules/regression.ts';
import { storedComparison } from '../../src/golden/rules/compare-golden-runs.ts';
import { compareMetric, rerunNoiseP } from '../../src/golden/rules/compare-metric.ts';
import { type RerunNoise, rerunNoise } from '../../src/golden/rules/rerun-noise.ts';
import { judgeDifference } from '../../src/golden/rules/verdict.ts';
import type { MetricKey } from '../../src/ir/metric-key.ts';
import { mean } from '../../src/stats/descriptive.ts';
import { pairedT } from '../../src/stats/paired-tests.ts';

/** Runs by which a baseline is pinned: itself and those right before it, as `recalld baselines pin` takes them. */
export const RERUNS = 10;

/** The check of the example config. */
export const defaultCheck = { drop: 0.02, alpha: 0.01, severity: 'critical', runs: 2 } as const;

/** Above this p of the paired t test, that of the randomization is not below the 0.01 of the check. */
const CLEAR = 0.05;
const ROUNDING = 1e-9;

export interface Watch {
  readonly noise: RerunNoise | null;
  /** Judges the next run; whether the check is breached. */
  judge(scores: Float64Array): boolean;
}

/** What is known of a run that was not compared in full, because it cannot be called. */
const notCalled = { ciLow: -1, ciHigh: 1, p: 1, wins: 1, losses: 1, smallestDetectableDifference: null };

/**
 * Watches one measure.
 *
 * A full comparison takes up to 20 ms, and most runs of a quiet stream need none to be judged: those that fell by less
 * than the check watches for, those far from significant, and those without another such run before them.
 *
 * @param reruns scores of the unchanged retriever, the pinned run last
 */
export function startWatch(measure: 'ndcg' | 'hit_rate', reruns: readonly Float64Array[]): Watch {
  const check: RegressionCheck = { ...defaultCheck, measure: `${measure}@10` };
  const key: MetricKey = { measure, k: 10 };
  const baseline = reruns.at(-1) ?? new Float64Array(0);
  const baselineMean = mean(baseline);
  const noise = rerunNoise(reruns);
  let runs = 0;
  let before: PendingRun | null = null;
  const compared = (run: PendingRun): ComparedWithBaseline => {
    run.metric ??= compareMetric(key, baseline, run.scores, noise, storedComparison);
    return { runId: run.id, baselineRunId: 'baseline', metrics: [run.metric] };
  };
  return {
    noise,
    judge: (scores) => {
      const run: PendingRun = { id: String(runs++), scores, metric: null };
      const difference = mean(scores) - baselineMean;
      const test =
        difference > -check.drop + ROUNDING
          ? null
          : pairedT(scores.map((score, query) => score - (baseline[query] ?? 0)));
      const isClear = test === null || test.p > CLEAR || (noise !== null && rerunNoiseP(test, noise) >= check.alpha);
      if (isClear) {
        run.metric = { ...notCalled, key, n: scores.length, difference };
      }
      const [previous, isPossible] = [before, run.metric === null];
      before = run;
      if (!isPossible || previous === null || !isCalled(check, compared(previous).metrics[0])) return false;
      return judgeRegression(check, 'bench', compared(run), [compared(previous)]).verdict === check.severity;
    },
  };
}

interface PendingRun {
  readonly id: string;
  readonly scores: Float64Array;
  /** Null until the comparison is needed. */
  metric: BaselineDifference | null;
}

function isCalled({ alpha, drop }: RegressionCheck, found: BaselineDifference | undefined): boolean {
  if (found === undefined) return false;
  const judged = { ...found, measure: found.key.measure, changed: found.wins + found.losses };
  return judgeDifference(judged, { alpha, minEffect: drop }) === 'regression';
}
