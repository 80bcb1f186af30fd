/**
 * The verdict on a difference of two runs, from its size, its bounds and its p value; and when a regression is
 * confirmed.
 */
import type { Measure } from '../../math/ir/metric-key.ts';
import { mcnemarExact, type TestPlan } from '../../math/stats/paired-tests.ts';

export interface ComparisonSettings {
  /** Level of the two-sided test, in (0, 1). */
  readonly alpha: number;
  /** Least difference that matters, >= 0; null takes that of `defaultMinEffect` for each measure. */
  readonly minEffect: number | null;
}

/** Of the comparisons that are stored with each run; a check evaluates those at its own level and drop. */
export const storedComparison: ComparisonSettings = { alpha: 0.05, minEffect: null };

/** 0.03 for hit_rate, which moves by whole queries and so scatters more, and 0.02 for every other measure. */
export function defaultMinEffect(measure: Measure): number {
  return measure === 'hit_rate' ? 0.03 : 0.02;
}

export function minEffectOf(measure: Measure, { minEffect }: ComparisonSettings): number {
  return minEffect ?? defaultMinEffect(measure);
}

/** The power by which sets are said to be large enough. */
export const POWER = 0.8;

export function testPlan({ alpha }: ComparisonSettings): TestPlan {
  return { alpha, sided: 2, power: POWER };
}

/**
 * `no_change`: no query changed, or no change that matters is left possible. `inconclusive`: neither a change that
 * matters nor its absence is shown.
 */
export const comparisonVerdicts = ['regression', 'improvement', 'no_change', 'inconclusive'] as const;

export type ComparisonVerdict = (typeof comparisonVerdicts)[number];

export interface JudgedDifference {
  readonly measure: Measure;
  /** Mean of candidate - baseline. */
  readonly difference: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** Two-sided p that the difference is luck. */
  readonly p: number;
  /** Queries that score more. */
  readonly wins: number;
  /** Queries that score less. */
  readonly losses: number;
  /**
   * `reruns`: against the mean of the runs by which the baseline was pinned, by their noise. The others are paired,
   * against the one run that is pinned.
   */
  readonly ciMethod: 'bca' | 't' | 'newcombe' | 'reruns';
}

/** A difference that misses the least one that matters only by rounding has reached it. */
const ROUNDING = 1e-12;

/**
 * The verdict on one metric:
 *
 * - `regression` when the mean fell by at least the least difference that matters, and p < alpha;
 * - `improvement` when it rose by as much, and p < alpha;
 * - `no_change` when no query changed, or when the whole interval lies within the least difference that matters and the
 *   sign test (exact, two-sided) does not say that queries move in one direction: a mean can hide that 43 queries score
 *   worse and none better;
 * - `inconclusive` otherwise.
 *
 * `unjudged` is never a regression or an improvement: nobody knows whether documents without judgment are worse.
 */
export function judgeDifference(judged: JudgedDifference, settings: ComparisonSettings): ComparisonVerdict {
  const { measure, difference, ciLow, ciHigh, p, wins, losses } = judged;
  const minEffect = minEffectOf(measure, settings);
  if (wins + losses === 0) return 'no_change';
  if (hasDirection(measure) && p < settings.alpha) {
    if (difference <= -minEffect + ROUNDING) return 'regression';
    if (difference >= minEffect - ROUNDING) return 'improvement';
  }
  const isWithin = ciLow > -minEffect && ciHigh < minEffect;
  return isWithin && !isOneSided(judged, settings) ? 'no_change' : 'inconclusive';
}

/**
 * True when more queries score less, or more, than chance explains: exact, two-sided sign test (McNemar's for hits). Against
 * the mean of reruns that moved it says nothing, since one unusual pinned run would move all queries one way.
 */
export function isOneSided(
  { wins, losses, ciMethod, ciLow, ciHigh }: Omit<JudgedDifference, 'measure'>,
  { alpha }: Pick<ComparisonSettings, 'alpha'>,
): boolean {
  if (ciMethod === 'reruns' && ciHigh > ciLow) return false;
  return mcnemarExact(losses, wins).p < alpha;
}

/**
 * The metric that decides on a comparison: the first one that can be better or worse, so that metrics which say nearly
 * the same, or cannot move, take no power from it. `unjudged` only where it is alone.
 */
export function primaryOf<Metric extends { readonly key: { readonly measure: Measure } }>(
  metrics: readonly Metric[],
): Metric | null {
  return metrics.find(({ key }) => hasDirection(key.measure)) ?? metrics[0] ?? null;
}

function hasDirection(measure: Measure): boolean {
  return measure !== 'unjudged';
}

/** The verdict on a run against its baseline. */
export interface ComparedRun {
  readonly runId: string;
  readonly baselineRunId: string;
  readonly verdict: ComparisonVerdict;
}

interface Confirmation {
  /** `unconfirmed_regression` when the last run regressed, but not yet enough runs in a row. */
  readonly verdict: ComparisonVerdict | 'unconfirmed_regression';
  /** Regressions in a row at the end of the history, 0 when the last run is none. */
  readonly consecutive: number;
}

/**
 * Confirms a regression: it counts once the given number of runs in a row regressed against the same baseline. Any
 * other verdict between them, an `inconclusive` one too, starts the count anew; so does another baseline. Other
 * verdicts are taken from the last run as they are.
 *
 * @param history completed runs, oldest first; void and failed runs are no evidence and do not belong in it, and a
 * run that is in it twice counts once
 * @param runs how many in a row, >= 1
 * @returns null without any run
 */
export function confirmRegression(history: readonly ComparedRun[], runs: number): Confirmation | null {
  const last = history.at(-1);
  if (last === undefined) return null;
  const regressed = new Set<string>();
  for (const { runId, baselineRunId, verdict } of history.toReversed()) {
    if (verdict !== 'regression' || baselineRunId !== last.baselineRunId) break;
    regressed.add(runId);
  }
  const consecutive = regressed.size;
  if (last.verdict !== 'regression') return { verdict: last.verdict, consecutive };
  return { verdict: consecutive >= runs ? 'regression' : 'unconfirmed_regression', consecutive };
}
