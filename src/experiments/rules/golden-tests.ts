/** Tests of a shadow on a golden set: their schedule, significance levels, verdict and forecast. */
import type { MetricComparison } from '../../golden/rules/compare-metric.ts';
import { pairedTSampleSize, smallestDetectableDifference } from '../../math/stats/paired-tests.ts';
import { type Evidence, type ExperimentVerdict, isCalled, levelOf, PLANNED_POWER } from './verdict.ts';

/**
 * Maximum number of tests. With daily runs, an eighth test would come after four months, and its significance level
 * would be too strict to detect anything.
 */
const MAX_TESTS = 7;
/** Number of runs at the last test. */
export const MAX_RUNS = 2 ** (MAX_TESTS - 1);

/**
 * Returns the significance level of a test. Each golden set has a share of the false positive rate. The first test of a
 * set gets half of this share, and each further test gets half of what is left, so that the levels of all tests add up
 * to less than the share (alpha spending; Lan and DeMets, Biometrika 70, 1983).
 *
 * @param test from 1
 * @param comparisons number of comparisons of the shadow, which share the false positive rate
 */
export function levelOfTest(test: number, comparisons: number): number {
  return levelOf(comparisons) / 2 ** test;
}

/**
 * Returns true if a test should run: at 1, 2, 4, 8, ... runs of a version.
 *
 * @param runs number of runs of the version
 * @param tests number of tests of the version so far
 */
export function isTestDue(runs: number, tests: number): boolean {
  return runs >= 2 ** tests && tests < MAX_TESTS;
}

/** A test and the parts of its comparison that are stored; `n` is the number of golden queries. */
export interface GoldenTest
  extends Pick<
    MetricComparison,
    | 'n'
    | 'baseline'
    | 'candidate'
    | 'difference'
    | 'ciLow'
    | 'ciHigh'
    | 'ciMethod'
    | 'p'
    | 'verdict'
    | 'standardDeviation'
    | 'smallestDetectableDifference'
  > {
  /** Sequence number of the test, counted from 1 across all versions of the set. */
  readonly number: number;
  readonly goldenSetVersion: number;
  readonly runId: string;
  /** Id of the pipeline run that the shadow run is compared with. */
  readonly against: string;
  /** Number of run pairs of this version at the time of the test. */
  readonly runs: number;
  readonly k: number;
  readonly alpha: number;
  /** See `averagePairs`. */
  readonly noise: number | null;
}

/**
 * Returns the verdict of the first decisive test or, if there is none, of the latest test.
 *
 * @param tests in chronological order
 */
export function statusOfTests<Test extends GoldenTest>(tests: readonly Test[]) {
  const by = tests.find(({ verdict }) => isCalled(verdict)) ?? tests.at(-1) ?? null;
  const verdict: ExperimentVerdict = by?.verdict ?? 'no_data';
  return { verdict, by };
}

/**
 * Forecasts the first future test that will detect a true difference with 80 % power. As a safety margin, the smallest
 * detectable difference of each test is computed for 90 % power. The variance between queries remains, while the noise
 * between runs averages out:
 *
 * variance of a query after r runs = sd^2 - noise^2 / runs + noise^2 / r
 *
 * @param tests in chronological order
 * @param difference smallest true difference that must be detected, > 0
 * @param comparisons number of comparisons of the shadow, which share the false positive rate
 */
export function evidenceOfTests(tests: readonly GoldenTest[], difference: number, comparisons: number): Evidence {
  const last = tests.at(-1);
  if (last === undefined) return { state: 'unknown' };
  if (isCalled(statusOfTests(tests).verdict)) return { state: 'decided' };
  const ofVersion = tests.filter(({ goldenSetVersion }) => goldenSetVersion === last.goldenSetVersion).length;
  const { n, standardDeviation, noise, runs, number } = last;
  const planOf = (test: number) => ({ alpha: levelOfTest(test, comparisons), sided: 2, power: PLANNED_POWER }) as const;
  const isFound = (deviation: number, test: number): boolean =>
    (smallestDetectableDifference(deviation, n, planOf(test)) ?? Number.POSITIVE_INFINITY) <= difference;
  if (isFound(standardDeviation, number)) return { state: 'enough' };
  if (noise === null) return { state: 'unknown' };
  const between = Math.max(0, standardDeviation ** 2 - noise ** 2 / runs);
  for (let later = 1; ofVersion + later <= MAX_TESTS; later++) {
    const due = 2 ** (ofVersion + later - 1);
    if (isFound(Math.sqrt(between + noise ** 2 / due), number + later))
      return { state: 'days', days: Math.max(1, due - runs) };
  }
  const questions = pairedTSampleSize(difference, Math.sqrt(between), planOf(number + 1));
  return { state: 'more_questions', questions };
}
