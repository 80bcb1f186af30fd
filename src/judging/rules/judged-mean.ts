/**
 * The mean of live relevance over all sessions, from the few that were graded; and whether live queries are answered worse
 * than in the weeks before: called by the model's grades, settled by people.
 */
import { normalQuantile, studentTQuantile } from '../../math/stats/distributions.ts';
import { effectiveNumber, jackknifeVariance } from '../../math/stats/effective-number.ts';
import { type Interval, wilsonInterval } from '../../math/stats/intervals.ts';

/** A query that was drawn, with what its grades come to. */
export interface JudgedQuery {
  /** Names what was drawn together: its session. */
  readonly cluster: string | number;
  /** Chance of being kept and given to the model, pi p1; more than 1 only where weights are held to known counts. */
  readonly modelProbability: number;
  /** Chance of being kept, given to the model and then to people, pi p1 p2; likewise. */
  readonly humanProbability: number;
  /** The measure by the grades of the model; null where it gave none. */
  readonly model: number | null;
  /** The measure by the grades of people; null where they gave none. */
  readonly people: number | null;
}

export interface JudgedMean {
  readonly value: number;
  readonly standardError: number;
  readonly degreesOfFreedom: number;
  /** Third moment of the estimate over the third power of its standard error, by the jackknife; 0 without any spread. */
  readonly skewness: number;
  /** Share of the model's difference that was used: 0 is people alone, 1 the whole of it. */
  readonly lambda: number;
  /** Sessions that people graded. */
  readonly humanSessions: number;
  /** The means by people alone and by the model alone; null without a grade of the model. */
  readonly humanOnly: number;
  readonly modelOnly: number | null;
}

const TAIL = 0.025;
/** The sessions that only the model graded are left out of the estimate in so many parts at most. */
const MAX_PARTS = 30;
/** The spread of one session is not known. */
const MIN_SESSIONS = 2;

/**
 * Mean of a measure over all live queries by what people would grade:
 *
 *     theta(lambda) = Y + lambda (F1 - F2)
 *
 * with Y the weighted mean of people, F1 that of the model over all that it graded, F2 that of the model where people
 * graded too; weights are inverse probabilities. F1 and F2 estimate the same, whatever the bias of the model, so that
 * their difference moves theta by chance alone, and takes away chance that Y shares with F2. This is the difference
 * estimator of two phases (Särndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992, chapter 9), and
 * prediction-powered inference with a tuned lambda (Angelopoulos, Duchi and Zrnic, PPI++, 2023).
 *
 * lambda makes the linearised variance least, clipped to [0, 1]. The standard error is that of a jackknife that leaves out
 * one session that people graded at a time, and the sessions of the model alone in up to 30 parts, **lambda tuned again
 * each time**: tuned once on the same few labels, bounds would be too short. Degrees of freedom are Kish's effective
 * number of the sessions that people graded, less one, and at least 2.
 *
 * @param queries those of the sessions of the model alone are taken in their order
 * @returns null when people graded fewer than 2 sessions
 * @throws RangeError for a probability that is not positive
 */
export function judgedMean(queries: readonly JudgedQuery[]): JudgedMean | null {
  const sessions = sumBySession(queries);
  const graded = sessions.filter(([people]) => people > 0);
  if (graded.length < MIN_SESSIONS) return null;
  const all = momentsOf(sessions);
  const whole = estimateOf(all);
  const valueWithout = (part: readonly SessionSums[]): number => estimateOf(without(all, part)).value;
  const byPeople = graded.map((session) => valueWithout([session]));
  const byModel = partsOf(sessions.filter(([people]) => people === 0)).map(valueWithout);
  const standardError = Math.sqrt(jackknifeVariance(byPeople) + jackknifeVariance(byModel));
  const degreesOfFreedom = Math.max(2, effectiveNumber(graded.map(([people]) => people)) - 1);
  const skewness = standardError <= NO_SPREAD ? 0 : thirdMoment(byPeople) / standardError ** 3;
  return { ...whole, standardError, degreesOfFreedom, skewness, humanSessions: graded.length };
}

/** The value -+ t standard errors: 95 % bounds of an estimate that is about normal. */
export function studentBounds({ value, standardError, degreesOfFreedom }: JudgedMean): Interval {
  const reach = studentTQuantile(1 - TAIL, degreesOfFreedom) * standardError;
  return { low: value - reach, high: value + reach };
}

/** A spread so small is rounding, or chance: no more is claimed than from the sessions that people graded. */
const NO_SPREAD = 1e-9;
/** Below it the transformation is the identity but for rounding. */
const NO_SKEW = 1e-6;

/**
 * 95 % bounds of a mean of scores in [0, 1], which pile up at one end: on each side the farthest of
 *
 * - `studentBounds`;
 * - those of Hall (On the removal of skewness by transformation, 1992), which invert T + g T^2 / 3 + g^2 T^3 / 27 + g / 6
 *   with g the skewness, where the labels are skewed;
 * - Wilson's interval of the number of yes and no that would spread as much (Korn and Graubard 1998), or of as many as there
 *   are sessions where all labels say the same.
 *
 * Each by itself held too seldom in some world of bench/judging-coverage.ts.
 */
export function scoreBounds(mean: JudgedMean): Interval {
  const { value, standardError, degreesOfFreedom, skewness } = mean;
  const t = studentTQuantile(1 - TAIL, degreesOfFreedom);
  const held = Math.min(1, Math.max(0, value));
  const sessions = degreesOfFreedom + 1;
  const trials = standardError <= NO_SPREAD ? sessions : Math.max(sessions, (held * (1 - held)) / standardError ** 2);
  const wilson = wilsonInterval(held, trials * (normalQuantile(1 - TAIL) / t) ** 2, 1 - 2 * TAIL);
  const student = studentBounds(mean);
  const hall = (by: number): number => value - standardError * untransformed(by, skewness);
  return {
    low: Math.max(0, Math.min(held, student.low, hall(t), wilson.low)),
    high: Math.min(1, Math.max(held, student.high, hall(-t), wilson.high)),
  };
}

/** The inverse of Hall's transformation. */
function untransformed(t: number, skewness: number): number {
  if (Math.abs(skewness) < NO_SKEW) return t;
  return (3 / skewness) * (Math.cbrt(1 + skewness * (t - skewness / 6)) - 1);
}

/**
 * Weighted sums over the queries of one session: of the weights where people graded and of those times their measure, the
 * same of the model over all that it graded, and the same of the model with the weights of people where both graded.
 */
type SessionSums = [
  people: number,
  peopleTimesMeasure: number,
  model: number,
  modelTimesMeasure: number,
  both: number,
  bothTimesMeasure: number,
];

const SUMS = 6;

/** In the order in which sessions first come. */
function sumBySession(queries: readonly JudgedQuery[]): SessionSums[] {
  const sessions = new Map<string | number, SessionSums>();
  for (const { cluster, modelProbability, humanProbability, model, people } of queries) {
    checkProbability(modelProbability);
    checkProbability(humanProbability);
    const sums = sessions.get(cluster) ?? [0, 0, 0, 0, 0, 0];
    sessions.set(cluster, sums);
    if (model !== null) {
      sums[2] += 1 / modelProbability;
      sums[3] += model / modelProbability;
    }
    if (people === null) continue;
    sums[0] += 1 / humanProbability;
    sums[1] += people / humanProbability;
    if (model === null) continue;
    sums[4] += 1 / humanProbability;
    sums[5] += model / humanProbability;
  }
  return [...sessions.values()];
}

function checkProbability(probability: number): void {
  if (probability > 0 && Number.isFinite(probability)) return;
  throw new RangeError(`The chance of being graded must be positive, not ${probability}.`);
}

/** Sums over sessions of their sums, and of the products of these: all that an estimate needs. */
interface Moments {
  readonly total: Float64Array;
  readonly products: Float64Array;
}

function momentsOf(sessions: readonly SessionSums[]): Moments {
  return without({ total: new Float64Array(SUMS), products: new Float64Array(SUMS * SUMS) }, sessions, -1);
}

function without({ total, products }: Moments, part: readonly SessionSums[], sign = 1): Moments {
  const [totals, squares] = [Float64Array.from(total), Float64Array.from(products)];
  for (const sums of part) {
    for (const [i, a] of sums.entries()) {
      totals[i] = (totals[i] ?? 0) - sign * a;
      for (const [j, b] of sums.entries()) squares[SUMS * i + j] = (squares[SUMS * i + j] ?? 0) - sign * a * b;
    }
  }
  return { total: totals, products: squares };
}

type Estimate = Pick<JudgedMean, 'value' | 'lambda' | 'humanOnly' | 'modelOnly'>;

/** Scores lie in [0, 1], so that sums of squares below this are rounding. */
const NOTHING = 1e-24;

function estimateOf({ total, products }: Moments): Estimate {
  const [people = 0, peopleTimes = 0, model = 0, modelTimes = 0, both = 0, bothTimes = 0] = total;
  const humanOnly = peopleTimes / people;
  const modelOnly = model === 0 ? null : modelTimes / model;
  if (modelOnly === null || both <= 0) return { value: humanOnly, lambda: 0, humanOnly, modelOnly };
  const modelOnBoth = bothTimes / both;
  // u and v of a session are these times its sums.
  const u = [-humanOnly / people, 1 / people, 0, 0, 0, 0];
  const v = [0, 0, -modelOnly / model, 1 / model, modelOnBoth / both, -1 / both];
  const product = form(u, products, v);
  const square = form(v, products, v);
  const lambda = square <= NOTHING ? 0 : Math.min(1, Math.max(0, -product / square));
  return { value: humanOnly + lambda * (modelOnly - modelOnBoth), lambda, humanOnly, modelOnly };
}

function form(a: readonly number[], products: Float64Array, b: readonly number[]): number {
  let sum = 0;
  for (const [i, x] of a.entries()) {
    for (const [j, y] of b.entries()) sum += x * (products[SUMS * i + j] ?? 0) * y;
  }
  return sum;
}

/** In their order, as equal in size as possible, the larger ones first. */
function partsOf<Session>(sessions: readonly Session[]): Session[][] {
  const count = Math.min(MAX_PARTS, sessions.length);
  const parts: Session[][] = [];
  let start = 0;
  for (let part = 0; part < count; part++) {
    const size = Math.floor(sessions.length / count) + (part < sessions.length % count ? 1 : 0);
    parts.push(sessions.slice(start, start + size));
    start += size;
  }
  return parts;
}

/** Sum of the cubes of what each session adds to the estimate. */
function thirdMoment(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (mean - value) ** 3, 0);
}

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
 * `confirmed`: by people. `rejected`: people do not bear it out.
 */
export const dropStates = ['none', 'detected', 'confirmed', 'rejected'] as const;

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
const MIN_DROP_SESSIONS = 8;
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
interface HumanDrop extends Pick<RelevanceDrop, 'drop' | 'low' | 'high'> {
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
export function humanDrop(before: readonly JudgedQuery[], after: readonly JudgedQuery[]): HumanDrop | null {
  const [was, is] = [judgedMean(before), judgedMean(after)];
  if (was === null || is === null || Math.min(was.humanSessions, is.humanSessions) < MIN_DROP_SESSIONS) return null;
  const drop = was.value - is.value;
  const [boundsBefore, boundsAfter] = [scoreBounds(was), scoreBounds(is)];
  return {
    drop,
    low: Math.max(-1, drop - Math.hypot(was.value - boundsBefore.low, boundsAfter.high - is.value)),
    high: Math.min(1, drop + Math.hypot(boundsBefore.high - was.value, is.value - boundsAfter.low)),
    sessions: is.humanSessions,
  };
}

/** What is to be said of a drop, by what people make of it; null while they have graded too little. */
export function dropState(
  { drop, low, days }: RelevanceDrop,
  people: Pick<HumanDrop, 'low' | 'high' | 'sessions'> | null,
): DropState {
  if (low <= 0 || drop < MIN_DROP) return 'none';
  if (people === null) return 'detected';
  if (people.low > 0) return 'confirmed';
  const isRefuted = people.high < BORNE_OUT * drop && people.sessions >= SESSIONS_TO_TAKE_BACK;
  return isRefuted || (days >= PATIENCE_DAYS && people.high < drop) ? 'rejected' : 'detected';
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
