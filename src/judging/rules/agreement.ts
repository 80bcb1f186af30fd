/** Agreement between two graders, and drift of a judge on the pairs that it grades again every day. */

import { decimal, interval } from '../../core/format.ts';
import { groupBy } from '../../core/group-by.ts';
import { meanInterval } from '../../math/stats/descriptive.ts';
import { studentTQuantile } from '../../math/stats/distributions.ts';
import { effectiveNumber, jackknifeVariance } from '../../math/stats/effective-number.ts';
import { signFlipTest } from '../../math/stats/sign-flip.ts';
import { MAX_GRADE } from './judged-scores.ts';

/** One document of one query, graded by both graders. */
export interface GradedPair {
  /** Identifies the session, which is the sampling cluster. */
  readonly cluster: string | number;
  /** Inverse of the probability that both graders grade the document; may be scaled by any positive factor. */
  readonly weight: number;
  /** Grade from the first grader, 0 to 3. */
  readonly first: number;
  /** Grade from the second grader, 0 to 3. */
  readonly second: number;
}

export type Agreement = NonNullable<ReturnType<typeof agreementOf>>;

/**
 * Minimum number of sessions for an alert: with fewer sessions, the lower bound may be low because of the small sample,
 * not because of the judge. For a judge with kappa 0.6, the lower bound is below 0.4 in at most one week in 20. With
 * half as many sessions, it is below 0.4 in one week in three.
 */
export const MIN_AGREEMENT_SESSIONS = 40;

const TAIL = 0.025;
const MIN_SESSIONS = 2;

/**
 * Cohen's kappa with quadratic weights (Cohen 1968) for weighted pairs. Kappa is 1 minus the ratio of the observed
 * weighted squared differences to those expected by chance from the distribution of each grader's grades. Returns null
 * if the expected differences are 0, because every grade from either grader is the same.
 */
export function weightedKappa(pairs: readonly GradedPair[]): number | null {
  return kappaOf(momentsOf(pairs));
}

/**
 * Returns kappa with a 95 % confidence interval. The interval is computed on the scale of Fisher's z: the estimate plus
 * or minus t standard errors. The standard error comes from a jackknife over sessions. The degrees of freedom come from
 * Kish's effective number of sessions. Fisher's z is approximately normal (quadratic kappa is an intraclass
 * correlation, Fleiss and Cohen 1973). If both graders agree on every pair, adds a pseudo-pair whose grades differ by
 * one, because agreement on a few pairs does not prove that the graders always agree.
 *
 * @returns null for fewer than 2 sessions, or if kappa is undefined
 */
export function agreementOf(pairs: readonly GradedPair[]) {
  const kappa = weightedKappa(pairs);
  const sessions = groupBy(pairs, ({ cluster }) => cluster);
  if (kappa === null || sessions.size < MIN_SESSIONS) return null;
  const bySession = [...sessions.values()].map(momentsOf);
  const whole = momentsOf(pairs);
  if (whole.difference === 0) addPseudoPair(whole, pairs.length, bySession[0]);
  const replicates = bySession.map((session) => zOf(minus(whole, session)));
  const error = Math.sqrt(jackknifeVariance(replicates));
  const effective = effectiveNumber(bySession.map(({ weight }) => weight));
  const reach = studentTQuantile(1 - TAIL, Math.max(2, effective - 1)) * error;
  const centre = zOf(whole);
  return {
    /** 1 for identical grades, 0 for agreement by chance, negative for less agreement than expected by chance. */
    kappa,
    /** 95 % confidence interval. */
    low: Math.min(kappa, Math.tanh(centre - reach)),
    high: Math.max(kappa, Math.tanh(centre + reach)),
    sessions: sessions.size,
    pairs: pairs.length,
  };
}

/** Formats an agreement: `0.62 (95 % CI 0.41-0.77, 45 sessions)`. */
export function formatAgreement({ kappa, low, high, sessions }: Agreement): string {
  return `${decimal(kappa)} (${interval(low, high)}, ${sessions} sessions)`;
}

/** Sums that determine kappa. Subtracting one session's sums from the total yields the sums over all other sessions. */
type Moments = ReturnType<typeof momentsOf>;

const noWeights = (): number[] => Array.from({ length: MAX_GRADE + 1 }, () => 0);

/**
 * `difference` is the sum of weight times squared difference; `first` and `second` are the sums of weights for each
 * grade of the first and the second grader.
 */
function momentsOf(pairs: readonly GradedPair[]) {
  const moments = { weight: 0, difference: 0, first: noWeights(), second: noWeights() };
  for (const { weight, first, second } of pairs) {
    moments.weight += weight;
    moments.difference += weight * (first - second) ** 2;
    moments.first[first] = (moments.first[first] ?? 0) + weight;
    moments.second[second] = (moments.second[second] ?? 0) + weight;
  }
  return moments;
}

function kappaOf({ weight, difference, first, second }: Moments): number | null {
  let chance = 0;
  for (const [a, share] of first.entries()) {
    for (const [b, other] of second.entries()) chance += share * other * (a - b) ** 2;
  }
  return chance === 0 ? null : 1 - (difference * weight) / chance;
}

function minus(whole: Moments, part: Moments): Moments {
  return {
    weight: whole.weight - part.weight,
    difference: whole.difference - part.difference,
    first: whole.first.map((weight, grade) => weight - (part.first[grade] ?? 0)),
    second: whole.second.map((weight, grade) => weight - (part.second[grade] ?? 0)),
  };
}

/**
 * Adds a pseudo-pair to the first session: its grades differ by one, and its weight is the mean weight of the pairs.
 */
function addPseudoPair(whole: Moments, pairs: number, first: Moments | undefined): void {
  const weight = whole.weight / pairs;
  whole.difference += weight;
  if (first !== undefined) first.difference += weight;
}

/** Maximum absolute value of kappa to which Fisher's z is applied; z is infinite at 1. */
const EDGE = 1 - 1e-9;

function zOf(moments: Moments): number {
  return Math.atanh(Math.min(EDGE, Math.max(-EDGE, kappaOf(moments) ?? 1)));
}

/**
 * Grades of one pair, 0 to 3; a missing grade counts as 0, as it does in the scores of queries. Each pair is from a
 * different query.
 */
export interface PanelPair {
  readonly first: number;
  /** Grade from the first re-grading of the pair; null if there is none. */
  readonly repeat: number | null;
  readonly now: number;
}

/** Accepted number of falsely detected changes per year and pipeline. */
const FALSE_CHANGES_PER_YEAR = 0.2;
const TESTS = 2;
/** Significance level of each daily test. */
const ALPHA = FALSE_CHANGES_PER_YEAR / 365 / TESTS;
const SUSPICION_LEVEL = 0.02;
const CONFIDENCE = 0.95;
const MIN_PANEL_PAIRS = 20;
const MAX_PANEL_PAIRS = 150;
/** Size of the panel as a share of the daily grades. */
const PANEL_SHARE = 0.15;
/**
 * Maximum number of pairs that join the panel per day, as a share of the panel size. This limit keeps the pairs from
 * all expiring on the same day.
 */
const FILL_SHARE = 1 / 5;

export function judgePanelSize(gradesPerDay: number): { readonly pairs: number; readonly newPairs: number } {
  const pairs = Math.round(Math.min(MAX_PANEL_PAIRS, Math.max(MIN_PANEL_PAIRS, PANEL_SHARE * gradesPerDay)));
  return { pairs, newPairs: Math.ceil(FILL_SHARE * pairs) };
}

export type JudgeDrift = NonNullable<ReturnType<typeof judgeDrift>>;

/**
 * Tests a judge for drift with two sign-flip tests over the pairs. The tests are exact in finite samples: while the
 * judge is unchanged, the grades of a pair come from one distribution and are therefore exchangeable. The first test
 * compares `now` with `first` and detects a judge that now grades higher or lower. The second test compares the
 * distance of `now` from `first` with the distance of `repeat` from `first`, and detects a judge that now grades
 * differently, even if not higher or lower on average. The significance level limits the expected number of false
 * detections per year, over all tests, to 0.2 (union bound).
 *
 * The bounds use Student's t and a pseudo-pair whose grades differ by one, because identical grades in the whole panel
 * do not prove that the judge is unchanged.
 *
 * @returns null for fewer than 20 pairs of grades
 */
export function judgeDrift(pairs: readonly PanelPair[]) {
  if (pairs.length < MIN_PANEL_PAIRS) return null;
  const shifts = pairs.map(({ first, now }) => now - first);
  const farther = pairs.map(({ first, repeat, now }) =>
    repeat === null ? 0 : Math.abs(now - first) - Math.abs(repeat - first),
  );
  const p = Math.min(signFlipTest(shifts).p, signFlipTest(farther).pGain);
  const shift = shifts.reduce((sum, one) => sum + one, 0) / pairs.length;
  return {
    /** Mean difference between the current grade and the first grade, with its 95 % confidence interval. */
    shift,
    low: Math.max(-MAX_GRADE, meanInterval([...shifts, -1], CONFIDENCE).low),
    high: Math.min(MAX_GRADE, meanInterval([...shifts, 1], CONFIDENCE).high),
    pairs: pairs.length,
    differing: shifts.filter((one) => one !== 0).length / pairs.length,
    /** `changed`: the judge has changed; `suspected`: the difference would rarely occur by chance. */
    verdict: p < ALPHA ? ('changed' as const) : p < SUSPICION_LEVEL ? ('suspected' as const) : ('steady' as const),
  };
}
