/** Whether a judge still grades as it did, by pairs of a query and a document that it grades again every day. */
import { meanInterval } from '../../stats/descriptive.ts';
import { signFlipTest } from '../../stats/sign-flip.ts';
import { MAX_GRADE } from './judged-scores.ts';

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
export const MIN_PANEL_PAIRS = 20;
const MAX_PANEL_PAIRS = 150;
/** What the panel may take of the grades of a day. */
const PANEL_SHARE = 0.15;
/** Of the panel a day, so that pairs of one day do not all leave on one day. */
const FILL_SHARE = 1 / 5;

/** Pairs of the panel of a judge that grades so many documents a day, and how many may join it a day. */
export function panelSize(gradesPerDay: number): { readonly pairs: number; readonly joining: number } {
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
