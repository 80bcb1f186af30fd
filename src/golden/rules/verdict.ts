import { isProportion, type Measure } from '../../math/ir/metric-key.ts';
import { mcnemarExact, type TestPlan } from '../../math/stats/paired-tests.ts';

export interface ComparisonSettings {
  /** Significance level of the two-sided test, in (0, 1). */
  readonly alpha: number;
  /** Smallest difference that matters, at least 0; if null, `defaultMinEffect` of each measure applies. */
  readonly minEffect: number | null;
}

/**
 * Criteria for the comparisons that are stored with each run. Checks do not use these criteria: they apply their own
 * significance level and minimum drop to the stored differences.
 */
export const storedComparison: ComparisonSettings = { alpha: 0.05, minEffect: null };

/**
 * Default minimum effect: 0.03 for hit_rate and all_found, which vary more because each query scores either 0 or 1;
 * 0.02 for all other measures.
 */
export function defaultMinEffect(measure: Measure): number {
  return isProportion(measure) ? 0.03 : 0.02;
}

export function minEffectOf(measure: Measure, { minEffect }: ComparisonSettings): number {
  return minEffect ?? defaultMinEffect(measure);
}

/** A set counts as large enough if it detects the minimum effect with at least this statistical power. */
export const POWER = 0.8;

export function testPlan({ alpha }: ComparisonSettings): TestPlan {
  return { alpha, sided: 2, power: POWER };
}

/**
 * `no_change`: no query changed, or the data rule out a change that matters. `inconclusive`: the data neither show nor
 * rule out a change that matters.
 */
export const comparisonVerdicts = ['regression', 'improvement', 'no_change', 'inconclusive'] as const;

export type ComparisonVerdict = (typeof comparisonVerdicts)[number];

export interface MeasuredDifference {
  readonly measure: Measure;
  /** Mean score difference over the queries: candidate - baseline. */
  readonly difference: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** Two-sided p-value of the difference under the hypothesis that nothing changed. */
  readonly p: number;
  /** Number of queries that score higher in the candidate. */
  readonly wins: number;
  /** Number of queries that score lower in the candidate. */
  readonly losses: number;
  /**
   * `reruns` compares the run with the mean of the pinned run and its reruns, and uses the noise between those runs.
   * All other methods compare the run only with the pinned run.
   */
  readonly ciMethod: 'bca' | 't' | 'newcombe' | 'reruns';
}

/** Tolerance for differences that miss the minimum effect only because of rounding. */
const ROUNDING = 1e-12;

/**
 * Classifies a difference of one metric:
 *
 * - `regression` if the mean dropped by at least the minimum effect, and p < alpha;
 * - `improvement` if the mean rose by at least the minimum effect, and p < alpha;
 * - `no_change` if no query changed, or if the whole interval is within the minimum effect and the exact, two-sided
 *   sign test shows no common direction; the sign test is needed because the difference between the means can be small
 *   even if 43 queries score worse and none scores better;
 * - `inconclusive` otherwise.
 *
 * `unjudged` is never a regression or an improvement, because documents without a judgment may or may not be relevant.
 */
export function classifyDifference(measured: MeasuredDifference, settings: ComparisonSettings): ComparisonVerdict {
  const { measure, difference, ciLow, ciHigh, p, wins, losses } = measured;
  const minEffect = minEffectOf(measure, settings);
  if (wins + losses === 0) return 'no_change';
  if (hasDirection(measure) && p < settings.alpha) {
    if (difference <= -minEffect + ROUNDING) return 'regression';
    if (difference >= minEffect - ROUNDING) return 'improvement';
  }
  const isWithin = ciLow > -minEffect && ciHigh < minEffect;
  return isWithin && !isOneSided(measured, settings.alpha) ? 'no_change' : 'inconclusive';
}

/**
 * True if queries that score lower and queries that score higher are so unequal in number that the exact, two-sided
 * sign test (McNemar's test for hits) rules out chance. Always false if the run is compared with the mean of reruns
 * that varied, because `wins` and `losses` come from the comparison with the pinned run alone. If the pinned run is
 * unusual, nearly all queries differ from it in the same direction.
 */
export function isOneSided(
  { wins, losses, ciMethod, ciLow, ciHigh }: Omit<MeasuredDifference, 'measure'>,
  alpha: number,
): boolean {
  if (ciMethod === 'reruns' && ciHigh > ciLow) return false;
  return mcnemarExact(losses, wins).p < alpha;
}

/**
 * Returns the metric that decides a comparison: the first metric other than `unjudged`. Only one metric decides,
 * because each further metric would reduce the statistical power, even if it is nearly equivalent to the first or
 * cannot change. `unjudged` decides only if it is the only metric.
 */
export function primaryOf<Metric extends { readonly key: { readonly measure: Measure } }>(
  metrics: readonly Metric[],
): Metric | null {
  return metrics.find(({ key }) => hasDirection(key.measure)) ?? metrics[0] ?? null;
}

function hasDirection(measure: Measure): boolean {
  return measure !== 'unjudged';
}

export interface ComparedRun {
  readonly runId: string;
  readonly baselineRunId: string;
  readonly verdict: ComparisonVerdict;
}

/**
 * Confirms a regression once the given number of consecutive runs have regressed against the same baseline. The count
 * restarts after any other verdict, including `inconclusive`, and after a change of the baseline. All other verdicts
 * are returned unchanged.
 *
 * @param history completed runs, oldest first, without void and failed runs; a run that is listed twice counts once
 * @param runs number of consecutive runs, at least 1
 * @returns null if there is no run
 */
export function confirmRegression(history: readonly ComparedRun[], runs: number) {
  const last = history.at(-1);
  if (last === undefined) return null;
  const regressed = new Set<string>();
  for (const { runId, baselineRunId, verdict } of history.toReversed()) {
    if (verdict !== 'regression' || baselineRunId !== last.baselineRunId) break;
    regressed.add(runId);
  }
  const consecutive = regressed.size;
  const isUnconfirmed = last.verdict === 'regression' && consecutive < runs;
  return {
    /**
     * Verdict of the last run; a regression becomes `unconfirmed_regression` if fewer than `runs` consecutive runs have
     * regressed.
     */
    verdict: isUnconfirmed ? ('unconfirmed_regression' as const) : last.verdict,
    /** Number of consecutive regressions at the end of the history; 0 if the last run is not a regression. */
    consecutive,
  };
}
