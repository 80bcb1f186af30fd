/**
 * Evaluates a stream of golden runs with the daemon's code: pinned baseline, estimated noise, and a check after each
 * run.
 */

import {
  type BaselineDifference,
  type ComparedWithBaseline,
  evaluateRegression,
  isRegression,
  type RegressionCheck,
} from '../../src/checks/rules/regression.ts';
import { NO_SHIFT } from '../../src/checks/rules/threshold.ts';
import { ALL_SEGMENT } from '../../src/core/model.ts';
import { compareMetric, type MetricComparison, rerunNoiseP } from '../../src/golden/rules/compare-metric.ts';
import {
  acceptedDropVariance,
  CLEAR_P,
  type Expected,
  knownVariance,
  measureReruns,
  type RerunNoise,
} from '../../src/golden/rules/run-noise.ts';
import { minEffectOf, storedComparison } from '../../src/golden/rules/verdict.ts';
import { formatMetricKey, type MetricKey } from '../../src/math/ir/metric-key.ts';
import { mean } from '../../src/math/stats/descriptive.ts';
import { normalQuantile } from '../../src/math/stats/distributions.ts';
import { pairedT } from '../../src/math/stats/paired-tests.ts';
import type { ScoredRun } from './noisy-retriever.ts';

/**
 * Number of runs from which a baseline is pinned: the pinned run and the runs just before it, as in `recalld baselines
 * pin`.
 */
export const RERUNS = 10;

/** The check of the example config. */
export const defaultCheck = { drop: 0.02, alpha: 0.005, severity: 'critical', runs: 2 } as const;

const keys = {
  ndcg: { measure: 'ndcg', k: 10 },
  hit_rate: { measure: 'hit_rate', k: 10 },
} as const satisfies Record<string, MetricKey>;

export type WatchedMeasure = keyof typeof keys;

export const scoresOf = ({ ndcg, hits }: ScoredRun, measure: WatchedMeasure): Float64Array =>
  measure === 'ndcg' ? ndcg : hits;

/**
 * P-value of the paired t test above which a run cannot be a regression at the one-sided level of 0.005: the two-sided
 * p-value of the randomization test is then at least 0.01.
 */
const CLEAR = 0.05;
const ROUNDING = 1e-9;

export interface Watch {
  readonly noise: RerunNoise | null;
  /**
   * Evaluates the next run, and returns true if the check fails.
   *
   * @param day nondecreasing; 0 is the day of the baseline
   * @param isOwn true if recalld treats the index as the pinned one; otherwise, each day has a different index
   */
  judge(run: ScoredRun, day: number, isOwn: boolean): boolean;
}

/** Placeholder comparison for a run that was not compared in full because it cannot be a regression. */
const notCalled = {
  ciLow: -1,
  ciHigh: 1,
  ciMethod: 't' as const,
  p: 1,
  wins: 1,
  losses: 1,
  smallestDetectableDifference: null,
};

/**
 * Monitors one measure. A full comparison takes up to 20 ms. The comparison is skipped if the drop is smaller than
 * `drop` in the check, if it is far from significant, or if the previous run cannot be a regression.
 *
 * @param reruns runs of the unchanged retriever; the pinned run is the last one
 */
export function startWatch(measure: WatchedMeasure, reruns: readonly ScoredRun[]): Watch {
  const key = keys[measure];
  const name = formatMetricKey(key);
  const check: RegressionCheck = { ...defaultCheck, measure: name };
  const baseline = reruns.at(-1) === undefined ? new Float64Array(0) : scoresOf(reruns.at(-1) as ScoredRun, measure);
  const learned = measureReruns(
    Object.values(keys),
    reruns.map(({ ndcg, hits }) => [ndcg, hits]),
    [],
  );
  const noise = learned.noise[ALL_SEGMENT]?.[name] ?? null;
  const means = learned.means?.[name] ?? null;
  const accepted: number[] = [];
  const expectedOf = (isOwn: boolean): Expected | null => {
    return means === null ? null : { means, unit: isOwn ? 'day' : 'generation', accepted: [...accepted] };
  };
  const least = minEffectOf(measure, storedComparison);
  let day = 0;
  let now = standardOf(expectedOf(true), noise, baseline, least);
  let runs = 0;
  let before: PendingRun | null = null;
  let isBreached = false;
  const compare = ({ scores, expected }: PendingRun): MetricComparison =>
    compareMetric(key, baseline, scores, noise, storedComparison, expected);
  const compared = (run: PendingRun): ComparedWithBaseline => {
    run.metric ??= compare(run);
    return { runId: run.id, baselineRunId: 'baseline', metrics: [run.metric] };
  };
  const isClear = ({ scores, difference }: PendingRun): boolean => {
    if (difference > -check.drop + ROUNDING) return true;
    if (difference > -now.reach) return true;
    if (now.isKnown) return false;
    const test = pairedT(scores.map((score, query) => score - (baseline[query] ?? 0)));
    return test.p > CLEAR || (noise !== null && rerunNoiseP(test, noise) >= 2 * check.alpha);
  };
  const learn = (last: PendingRun): void => {
    const isSmall = last.difference > -least + ROUNDING;
    const found = isSmall ? null : compare(last);
    if (found === null || found.verdict !== 'regression' || found.p >= CLEAR_P) accepted.push(last.difference);
  };
  return {
    noise,
    judge: (scored, today, isOwn) => {
      if (today !== day) {
        // Runs of the baseline's own index show the noise between days, but not between indexes.
        if ((day > 0 || isOwn) && before !== null) learn(before);
        day = today;
        now = standardOf(expectedOf(isOwn), noise, baseline, least);
      }
      const scores = scoresOf(scored, measure);
      const { expected } = now;
      const previous = before;
      const id = String(runs++);
      // A retriever without noise returns the same results in every run until the next night.
      const isSame =
        previous?.expected === expected && scores.every((score, query) => score === previous.scores[query]);
      const run: PendingRun = isSame
        ? { ...previous, id }
        : { id, scores, difference: mean(scores) - now.level, expected, isPossible: false, metric: null };
      if (!isSame) {
        run.isPossible = !isClear(run);
        if (!run.isPossible) run.metric = { ...notCalled, key, n: scores.length, difference: run.difference };
      }
      before = run;
      if (previous === null || !(isBreached || run.isPossible)) return false;
      const [found] = compared(previous).metrics;
      if (!isBreached && (found === undefined || !isRegression(check, found))) return false;
      const previousVerdict = isBreached ? check.severity : 'ok';
      const { verdict } = evaluateRegression(check, compared(run), [compared(previous)], NO_SHIFT, previousVerdict);
      isBreached = verdict === check.severity;
      return isBreached;
    },
  };
}

/** Reference scores with which the runs of one day are compared. */
interface Standard {
  readonly expected: Expected | null;
  /** True if the standard deviation of the reference is known; in that case, no paired test is needed. */
  readonly isKnown: boolean;
  /** Mean of the reference. */
  readonly level: number;
  /** Minimum drop that can be significant. */
  readonly reach: number;
}

function standardOf(
  expected: Expected | null,
  noise: RerunNoise | null,
  baseline: Float64Array,
  least: number,
): Standard {
  const known = expected === null || noise === null ? null : knownVariance(noise, expected, baseline.length, least);
  const variance = known ?? acceptedDropVariance(expected?.accepted ?? []) ?? 0;
  return {
    expected,
    isKnown: known !== null,
    level: mean(known === null || expected === null ? baseline : expected.means),
    reach: normalQuantile(1 - defaultCheck.alpha) * Math.sqrt(variance) - ROUNDING,
  };
}

interface PendingRun {
  readonly id: string;
  readonly scores: Float64Array;
  readonly difference: number;
  readonly expected: Expected | null;
  /** True if the run can be a regression. */
  isPossible: boolean;
  /** Result of the comparison; null until the comparison is needed. */
  metric: BaselineDifference | null;
}
