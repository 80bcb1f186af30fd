/** Whether live queries are answered worse than in the weeks before: called by the model's grades, settled by people. */
import { studentTQuantile } from '../../stats/distributions.ts';
import { type JudgedQuery, judgedMean, scoreBounds } from './judged-mean.ts';

/** What the model says of the live queries of one day (UTC). */
export interface JudgedDay {
  readonly start: Date;
  /** Mean nDCG. */
  readonly value: number;
  readonly standardError: number;
  /** Queries. */
  readonly n: number;
}

/** How far the days since a day lie below those before; negative where they lie above. */
export interface RelevanceDrop {
  readonly drop: number;
  readonly low: number;
  readonly high: number;
  /** Start of the first day that is held against those before. */
  readonly since: Date;
  /** Days since then. */
  readonly days: number;
  /** Queries of these days. */
  readonly n: number;
}

/**
 * `none`: within chance, or too little to matter. `called`: by the model, and people have not graded enough yet.
 * `confirmed`: by people. `taken_back`: people do not bear it out.
 */
export const dropStates = ['none', 'called', 'confirmed', 'taken_back'] as const;

export type DropState = (typeof dropStates)[number];

const FALSE_DROPS_PER_YEAR = 0.5;
/** Last days that are held against those before. */
const spans = [1, 2, 3, 5, 7, 10, 14] as const;
/** One look a day at each span. */
const ALPHA = FALSE_DROPS_PER_YEAR / 365 / spans.length;
/** Two weeks, so that each day of the week is among them. */
const MIN_REFERENCE_DAYS = 14;
const MAX_REFERENCE_DAYS = 42;
/** A smaller one matters to nobody, however certain it is. */
const MIN_DROP = 0.02;
/** From so many days on people have graded enough to tell: what they bound below the call is none. */
const PATIENCE_DAYS = 10;
/** Sessions of people on each side. */
const MIN_SESSIONS = 8;
/** With fewer since then, bounds of what they do not see are too short by themselves. */
const SESSIONS_TO_TAKE_BACK = 40;
/** Below half of what was called, the model saw something else than people. */
const BORNE_OUT = 0.5;

/**
 * Holds the last 1, 2, 3, 5, 7, 10 and 14 days against up to 42 days before them, and takes the span that shows most. A
 * day counts once; its standard deviation is the larger of what sampling alone would give and of how far the days of the
 * reference lie apart, so that good and bad weekdays are no drop. Student's t with the days of the reference less one.
 * The bounds hold for all spans and all looks of a year together (union bound), with half a call by chance.
 *
 * @param days rising, all of one judge
 * @returns null with fewer than two weeks to hold against
 */
export function largestDrop(days: readonly JudgedDay[]): RelevanceDrop | null {
  const drops = spans.flatMap((span) => dropOf(days, span) ?? []);
  const [first, ...others] = drops;
  if (first === undefined) return null;
  const { evidence: _, ...largest } = others.reduce((a, b) => (b.evidence > a.evidence ? b : a), first);
  return largest;
}

function dropOf(days: readonly JudgedDay[], span: number): (RelevanceDrop & { readonly evidence: number }) | null {
  const before = days.slice(Math.max(0, days.length - span - MAX_REFERENCE_DAYS), days.length - span);
  const after = days.slice(-span);
  const since = after[0]?.start;
  if (before.length < MIN_REFERENCE_DAYS || since === undefined) return null;
  const usual = meanOf(before.map(({ value }) => value));
  const apart = before.reduce((sum, { value }) => sum + (value - usual) ** 2, 0) / (before.length - 1);
  const sampled = meanOf([...before, ...after].map(({ standardError }) => standardError ** 2));
  const error = Math.sqrt(Math.max(apart, sampled) * (1 / span + 1 / before.length));
  const drop = usual - meanOf(after.map(({ value }) => value));
  const reach = studentTQuantile(1 - ALPHA, before.length - 1) * error;
  const n = after.reduce((sum, one) => sum + one.n, 0);
  const bounds = { low: Math.max(-1, drop - reach), high: Math.min(1, drop + reach) };
  return { drop, ...bounds, since, days: span, n, evidence: error === 0 ? 0 : drop / error };
}

/** What people make of a drop. */
export interface DropOfPeople extends Pick<RelevanceDrop, 'drop' | 'low' | 'high'> {
  /** Sessions that they graded since. */
  readonly sessions: number;
}

/**
 * The same as people would grade, by the estimate of judged live relevance before and since that day, whoever the judge
 * was. Bounds of the difference come from those of both sides (Zou and Donner 2008), which know that scores pile up at one
 * end: of a fault of few queries a small sample may hold none.
 *
 * @returns null while people have graded fewer than 8 sessions of either
 */
export function dropOfPeople(before: readonly JudgedQuery[], after: readonly JudgedQuery[]): DropOfPeople | null {
  const [was, is] = [judgedMean(before), judgedMean(after)];
  if (was === null || is === null || Math.min(was.peopleSessions, is.peopleSessions) < MIN_SESSIONS) return null;
  const drop = was.value - is.value;
  const [boundsBefore, boundsAfter] = [scoreBounds(was), scoreBounds(is)];
  return {
    drop,
    low: Math.max(-1, drop - Math.hypot(was.value - boundsBefore.low, boundsAfter.high - is.value)),
    high: Math.min(1, drop + Math.hypot(boundsBefore.high - was.value, is.value - boundsAfter.low)),
    sessions: is.peopleSessions,
  };
}

/** What is to be said of a drop, by what people make of it; null while they have graded too little. */
export function dropState(
  { drop, low, days }: RelevanceDrop,
  people: Pick<DropOfPeople, 'low' | 'high' | 'sessions'> | null,
): DropState {
  if (low <= 0 || drop < MIN_DROP) return 'none';
  if (people === null) return 'called';
  if (people.low > 0) return 'confirmed';
  const isRefuted = people.high < BORNE_OUT * drop && people.sessions >= SESSIONS_TO_TAKE_BACK;
  return isRefuted || (days >= PATIENCE_DAYS && people.high < drop) ? 'taken_back' : 'called';
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
