/**
 * How well two grade alike: a model and people, two people, or a judge and itself on the pairs that it grades again
 * every day.
 */

import { decimal, interval } from '../../core/format.ts';
import { meanInterval } from '../../math/stats/descriptive.ts';
import { studentTQuantile } from '../../math/stats/distributions.ts';
import { effectiveNumber, jackknifeVariance } from '../../math/stats/effective-number.ts';
import { signFlipTest } from '../../math/stats/sign-flip.ts';
import { MAX_GRADE } from './judged-scores.ts';

/** One document of one query that both graded. */
export interface GradedPair {
  /** Names what was drawn together: the session. */
  readonly cluster: string | number;
  /** Inverse of the chance of being graded by both; any positive number. */
  readonly weight: number;
  /** Grades 0 to 3. */
  readonly first: number;
  readonly second: number;
}

export interface Agreement {
  /** 1: the same grades; 0: as by chance; negative: worse than that. */
  readonly kappa: number;
  /** 95 % bounds. */
  readonly low: number;
  readonly high: number;
  readonly sessions: number;
  readonly pairs: number;
}

/**
 * From so many sessions on, a lower bound that is too low says something of the judge, and not of how few people graded:
 * that of a judge whose kappa is 0.6 then lies below 0.4 in at most one week of twenty, with half as many in every third.
 */
export const ENOUGH_SESSIONS = 40;

const TAIL = 0.025;
const MIN_SESSIONS = 2;

/**
 * Cohen's kappa with quadratic weights (Cohen 1968) of weighted pairs: 1 - sum w (a - b)^2 / sum w of the squared
 * differences that the margins give by chance. Null where those are all 0: both always gave the same one grade.
 */
export function weightedKappa(pairs: readonly Pick<GradedPair, 'weight' | 'first' | 'second'>[]): number | null {
  return kappaOf(momentsOf(pairs));
}

/**
 * Kappa with bounds: Fisher's z, which makes the spread of an agreement about normal (quadratic kappa is an intraclass
 * correlation, Fleiss and Cohen 1973), -+ t times the standard error of a jackknife that leaves out one session at a time,
 * with Kish's degrees of freedom. Where not one pair differs, one pair more that differs by a grade is thought added, so
 * that agreement on a few is not taken for certain.
 *
 * @returns null for fewer than 2 sessions, and where kappa is not defined
 */
export function agreementOf(pairs: readonly GradedPair[]): Agreement | null {
  const kappa = weightedKappa(pairs);
  const sessions = new Map<string | number, GradedPair[]>();
  for (const pair of pairs) {
    const others = sessions.get(pair.cluster);
    if (others === undefined) sessions.set(pair.cluster, [pair]);
    else others.push(pair);
  }
  if (kappa === null || sessions.size < MIN_SESSIONS) return null;
  const bySession = [...sessions.values()].map(momentsOf);
  const whole = sumOf(bySession);
  if (whole.difference === 0) addDoubt(whole, pairs.length, bySession[0]);
  const replicates = bySession.map((left) => zOf(minus(whole, left)));
  const error = Math.sqrt(jackknifeVariance(replicates));
  const effective = effectiveNumber(bySession.map(({ weight }) => weight));
  const reach = studentTQuantile(1 - TAIL, Math.max(2, effective - 1)) * error;
  const centre = zOf(whole);
  return {
    kappa,
    low: Math.min(kappa, Math.tanh(centre - reach)),
    high: Math.max(kappa, Math.tanh(centre + reach)),
    sessions: sessions.size,
    pairs: pairs.length,
  };
}

/** Such as `0.62 (95 % 0.41 to 0.77, 45 sessions)`. */
export function agreementWords({ kappa, low, high, sessions }: Omit<Agreement, 'pairs'>): string {
  return `${decimal(kappa)} (${interval(low, high)}, ${sessions} sessions)`;
}

/** Sums from which kappa follows, so that a session can be taken away. */
interface Moments {
  weight: number;
  /** Of weight times squared difference. */
  difference: number;
  /** Of the weights by grade. */
  first: number[];
  second: number[];
}

const noMoments = (): Moments => ({
  weight: 0,
  difference: 0,
  first: Array.from({ length: MAX_GRADE + 1 }, () => 0),
  second: Array.from({ length: MAX_GRADE + 1 }, () => 0),
});

function momentsOf(pairs: readonly Pick<GradedPair, 'weight' | 'first' | 'second'>[]): Moments {
  const moments = noMoments();
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

function sumOf(all: readonly Moments[]): Moments {
  return all.reduce((sum, one) => combine(sum, one, (a, b) => a + b), noMoments());
}

const minus = (whole: Moments, part: Moments): Moments => combine(whole, part, (a, b) => a - b);

function combine(a: Moments, b: Moments, by: (x: number, y: number) => number): Moments {
  return {
    weight: by(a.weight, b.weight),
    difference: by(a.difference, b.difference),
    first: a.first.map((share, grade) => by(share, b.first[grade] ?? 0)),
    second: a.second.map((share, grade) => by(share, b.second[grade] ?? 0)),
  };
}

/** A pair of the mean weight that differs by one grade, counted to the first session. */
function addDoubt(whole: Moments, pairs: number, first: Moments | undefined): void {
  const doubt = whole.weight / pairs;
  whole.difference += doubt;
  if (first !== undefined) first.difference += doubt;
}

/** Kappa as near to 1 or -1 as this has no Fisher z. */
const EDGE = 1 - 1e-9;

function zOf(moments: Moments): number {
  return Math.atanh(Math.min(EDGE, Math.max(-EDGE, kappaOf(moments) ?? 1)));
}

/** Grades 0 to 3 of one pair, each of another query; 0 where the judge gave none, as in the scores. */
export interface PanelPair {
  readonly first: number;
  /** When it was first asked again; null before. */
  readonly repeat: number | null;
  readonly now: number;
}

export interface JudgeDrift {
  /** Grades that it gives more than at first, mean over the pairs. */
  readonly shift: number;
  /** 95 % bounds. */
  readonly low: number;
  readonly high: number;
  readonly pairs: number;
  /** Share of the pairs with another grade than at first. */
  readonly differing: number;
  /** `changed`: another judge grades; `in_doubt`: chance would seldom show so much; `steady`: neither. */
  readonly verdict: 'steady' | 'in_doubt' | 'changed';
}

/** Changes a year that are called although none came, of one pipeline. */
const FALSE_CHANGES_PER_YEAR = 0.2;
const TESTS = 2;
/** Level of each test of a day. */
const ALPHA = FALSE_CHANGES_PER_YEAR / 365 / TESTS;
const DOUBT = 0.02;
const CONFIDENCE = 0.95;
/** Fewer say next to nothing. */
const MIN_PANEL_PAIRS = 20;
const MAX_PANEL_PAIRS = 150;
/** What the panel may take of the grades of a day. */
const PANEL_SHARE = 0.15;
/** Of the panel a day, so that pairs of one day do not all leave on one day. */
const FILL_SHARE = 1 / 5;

/** Pairs of the panel of a judge that grades so many documents a day, and how many may join it a day. */
export function judgePanelSize(gradesPerDay: number): { readonly pairs: number; readonly joining: number } {
  const pairs = Math.round(Math.min(MAX_PANEL_PAIRS, Math.max(MIN_PANEL_PAIRS, PANEL_SHARE * gradesPerDay)));
  return { pairs, joining: Math.ceil(FILL_SHARE * pairs) };
}

/**
 * Two sign-flip tests over the pairs, exact in finite samples: while the judge stays the same, the grades of a pair are
 * draws from one distribution, so that any two of them may change places. `now` and `first` show a judge that grades
 * higher or lower; the distances of `now` and `repeat` from `first` show one that grades otherwise without that. Each day
 * has its level, so that all the looks of a year together call 0.2 changes that are none (union bound).
 *
 * The bounds are Student's; one pair more that differs by a grade is thought added, so that pairs which all came out the
 * same do not claim certainty.
 *
 * @returns null for fewer than 20 pairs
 */
export function judgeDrift(pairs: readonly PanelPair[]): JudgeDrift | null {
  if (pairs.length < MIN_PANEL_PAIRS) return null;
  const shifts = pairs.map(({ first, now }) => now - first);
  const farther = pairs.map(({ first, repeat, now }) =>
    repeat === null ? 0 : Math.abs(now - first) - Math.abs(repeat - first),
  );
  const p = Math.min(signFlipTest(shifts).p, signFlipTest(farther).pGain);
  const shift = shifts.reduce((sum, one) => sum + one, 0) / pairs.length;
  return {
    shift,
    low: Math.max(-MAX_GRADE, meanInterval([...shifts, -1], CONFIDENCE).low),
    high: Math.min(MAX_GRADE, meanInterval([...shifts, 1], CONFIDENCE).high),
    pairs: pairs.length,
    differing: shifts.filter((one) => one !== 0).length / pairs.length,
    verdict: p < ALPHA ? 'changed' : p < DOUBT ? 'in_doubt' : 'steady',
  };
}
