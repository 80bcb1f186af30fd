/** Estimates mean live relevance from a few graded sessions, and detects drops in relevance. */
import { normalQuantile, studentTQuantile } from '../../math/stats/distributions.ts';
import { effectiveNumber, jackknifeVariance } from '../../math/stats/effective-number.ts';
import { type Bounds, wilsonInterval } from '../../math/stats/intervals.ts';

export interface JudgedQuery {
  /** Identifies the session, which is the sampling cluster. */
  readonly cluster: string | number;
  /**
   * Probability that the query is sampled and graded by the model, pi p1. The value can exceed 1 once its inverse, the
   * weight of the query, has been calibrated to known counts.
   */
  readonly modelProbability: number;
  /**
   * Probability that the query is sampled and graded by the model and then by people, pi p1 p2. The value can exceed 1
   * once its inverse, the weight of the query, has been calibrated to known counts.
   */
  readonly humanProbability: number;
  /** Score from model grades; null if the model gave none. */
  readonly model: number | null;
  /** Score from human judgments; null if there are none. */
  readonly people: number | null;
}

export type JudgedMean = NonNullable<ReturnType<typeof judgedMean>>;

const TAIL = 0.025;
/** Maximum number of jackknife groups for the sessions that only the model graded. */
const MAX_PARTS = 30;
/** Minimum number of sessions; a single session has no spread. */
const MIN_SESSIONS = 2;

/**
 * Mean, over all live queries, of the score that people would give:
 *
 * theta(lambda) = Y + lambda (F1 - F2)
 *
 * Y is the weighted mean of human judgments. F1 is the weighted mean of model grades over all queries that the model
 * graded, and F2 is the same mean over the queries that people graded too. The weights are inverse probabilities. F1
 * and F2 estimate the same quantity, however biased the model is, so their difference adds no bias to theta and removes
 * noise that Y shares with F2. The method is the difference estimator of two-phase sampling (Särndal, Swensson and
 * Wretman, Model Assisted Survey Sampling, 1992, chapter 9), and prediction-powered inference with a tuned lambda
 * (Angelopoulos, Duchi and Zrnic, PPI++, 2023).
 *
 * The value of lambda minimizes the linearized variance and is clipped to [0, 1]. The standard error comes from a
 * jackknife that omits the human-graded sessions one at a time and the model-only sessions in up to 30 groups. The
 * jackknife **tunes lambda again each time**, because intervals would be too narrow if lambda were tuned only once on
 * the same few judgments. Degrees of freedom are Kish's effective number of human-graded sessions minus 1, and at least
 * 2.
 *
 * @param queries their order determines the groups of model-only sessions
 * @returns null for fewer than 2 human-graded sessions
 * @throws RangeError for a probability that is not positive
 */
export function judgedMean(queries: readonly JudgedQuery[]) {
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
  return {
    ...whole,
    standardError,
    degreesOfFreedom,
    /**
     * Third moment of the estimate, from the jackknife, divided by the cube of its standard error; 0 if the standard
     * error is due only to rounding.
     */
    skewness,
    humanSessions: graded.length,
  };
}

/**
 * Weighted mean of scores in [0, 1] that need no correction, with its 95 % confidence interval.
 *
 * @param scores null for a query without a score
 * @returns null for fewer than 2 sessions with a score
 */
export function weightedMean(
  scores: readonly { readonly cluster: string | number; readonly probability: number; readonly score: number | null }[],
): (JudgedMean & Bounds) | null {
  const mean = judgedMean(
    scores.map(({ cluster, probability, score }) => ({
      cluster,
      modelProbability: probability,
      humanProbability: probability,
      people: score,
      model: null,
    })),
  );
  return mean && { ...mean, ...scoreBounds(mean) };
}

/**
 * Returns the 95 % confidence interval of an approximately normal estimate: the value plus or minus t standard errors.
 */
export function studentBounds({ value, standardError, degreesOfFreedom }: JudgedMean): Bounds {
  const reach = studentTQuantile(1 - TAIL, degreesOfFreedom) * standardError;
  return { low: value - reach, high: value + reach };
}

/**
 * A standard error up to this value is due to rounding, or to scores that are all equal. The interval then depends only
 * on the number of human-graded sessions.
 */
const NO_SPREAD = 1e-9;
/** Skewness below which Hall's transformation is the identity up to rounding. */
const NO_SKEW = 1e-6;

/**
 * Returns the 95 % confidence interval of a mean of scores in [0, 1] that may cluster at one end. On each side, uses
 * the outermost of these bounds:
 *
 * - `studentBounds`;
 * - Hall's interval for skewed data (On the removal of skewness by transformation, 1992), which inverts T + g T^2 / 3 +
 *   g^2 T^3 / 27 + g / 6 with skewness g;
 * - Wilson's interval for the number of yes/no trials with the same spread (Korn and Graubard 1998), or for the number
 *   of sessions if all scores agree.
 *
 * Each of these intervals alone had insufficient coverage in at least one scenario of bench/judging-coverage.ts.
 */
export function scoreBounds(mean: JudgedMean): Bounds {
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

function untransformed(t: number, skewness: number): number {
  if (Math.abs(skewness) < NO_SKEW) return t;
  return (3 / skewness) * (Math.cbrt(1 + skewness * (t - skewness / 6)) - 1);
}

/**
 * For each of three sets of grades: the sum of the weights and the sum of the weighted scores over the queries of one
 * session. The sets are the human judgments, all model grades, and the model grades of queries that people graded too.
 * The sums for the last set use the weights of the human judgments.
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

/** Sums queries by session. Sessions are ordered by their first query. */
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
  throw new RangeError(`The probability of being graded must be positive, not ${probability}.`);
}

/**
 * Totals, over all sessions, of `SessionSums` and of the products of any two of these sums. The estimate needs no other
 * data.
 */
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

/** Sums of squares below this value are due to rounding, because scores are in [0, 1]. */
const NOTHING = 1e-24;

function estimateOf({ total, products }: Moments) {
  const [people = 0, peopleTimes = 0, model = 0, modelTimes = 0, both = 0, bothTimes = 0] = total;
  const humanOnly = peopleTimes / people;
  const modelOnly = model === 0 ? null : modelTimes / model;
  if (modelOnly === null || both <= 0) return { value: humanOnly, lambda: 0, humanOnly, modelOnly };
  const modelOnBoth = bothTimes / both;
  // Coefficients of a session's sums in its linearized contribution to Y (`u`) and to F1 - F2 (`v`).
  const u = [-humanOnly / people, 1 / people, 0, 0, 0, 0];
  const v = [0, 0, -modelOnly / model, 1 / model, modelOnBoth / both, -1 / both];
  const product = form(u, products, v);
  const square = form(v, products, v);
  const lambda = square <= NOTHING ? 0 : Math.min(1, Math.max(0, -product / square));
  return {
    value: humanOnly + lambda * (modelOnly - modelOnBoth),
    /** Weight of the model difference F1 - F2: 0 uses human judgments alone; 1 uses the full difference. */
    lambda,
    humanOnly,
    modelOnly,
  };
}

function form(a: readonly number[], products: Float64Array, b: readonly number[]): number {
  let sum = 0;
  for (const [i, x] of a.entries()) {
    for (const [j, y] of b.entries()) sum += x * (products[SUMS * i + j] ?? 0) * y;
  }
  return sum;
}

/** Splits sessions, in order, into groups of nearly equal size, larger groups first. */
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

/** Sum of the cubed contributions of the sessions to the estimate. */
function thirdMoment(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (mean - value) ** 3, 0);
}

/** Mean of model grades for the live queries of one day (UTC). */
export interface JudgedDay {
  readonly start: Date;
  readonly value: number;
  readonly standardError: number;
  readonly n: number;
}

/** Drop in relevance from the days of the baseline to the most recent days; negative for a rise. */
export type RelevanceDrop = Omit<NonNullable<ReturnType<typeof dropOf>>, 't'>;

/**
 * `none`: explained by chance, or too small to matter. `detected`: found in model grades, but neither confirmed nor
 * rejected by human judgments yet. `confirmed`, `rejected`: confirmed or rejected by human judgments.
 */
export const dropStates = ['none', 'detected', 'confirmed', 'rejected'] as const;

export type DropState = (typeof dropStates)[number];

const FALSE_DROPS_PER_YEAR = 0.5;
const spans = [1, 2, 3, 5, 7, 10, 14] as const;
/** Significance level of each test. Every day, one test is run for each number of days in `spans`. */
const ALPHA = FALSE_DROPS_PER_YEAR / 365 / spans.length;
/** Minimum number of baseline days: two weeks, so that every weekday is included. */
const MIN_BASELINE_DAYS = 14;
const MAX_BASELINE_DAYS = 42;
/** Minimum drop; a smaller drop is not reported, even if it is certain. */
const MIN_DROP = 0.02;
/** Number of days after which a drop is rejected if human judgments rule out a drop of the detected size. */
const MAX_UNDECIDED_DAYS = 10;
/** Minimum number of human-graded sessions on each side of the drop. */
const MIN_DROP_SESSIONS = 8;
/**
 * Minimum number of sessions since the drop; with fewer, the interval tends to be too narrow to justify a rejection.
 */
const MIN_SESSIONS_TO_REJECT = 40;
/** A drop is rejected if human judgments rule out a true drop of at least this share of the detected drop. */
const MIN_CONFIRMED_SHARE = 0.5;

/**
 * Compares the last 1, 2, 3, 5, 7, 10 and 14 days with up to 42 days before them and returns the most significant drop.
 * Each day has equal weight. The standard deviation of a day is the larger of the sampling error and the spread between
 * baseline days, so that good and bad weekdays are not reported as a drop. Uses Student's t; the degrees of freedom are
 * the number of baseline days minus 1. The bounds hold simultaneously for all tests of a year (union bound), and limit
 * the expected number of false detections to 0.5 per year.
 *
 * @param days ascending, all from one judge
 * @returns null if there are fewer than two weeks of baseline days
 */
export function largestDrop(days: readonly JudgedDay[]): RelevanceDrop | null {
  const drops = spans.flatMap((span) => dropOf(days, span) ?? []);
  const [first, ...others] = drops;
  if (first === undefined) return null;
  const { t: _, ...largest } = others.reduce((a, b) => (b.t > a.t ? b : a), first);
  return largest;
}

function dropOf(days: readonly JudgedDay[], span: number) {
  const before = days.slice(Math.max(0, days.length - span - MAX_BASELINE_DAYS), days.length - span);
  const after = days.slice(-span);
  const since = after[0]?.start;
  if (before.length < MIN_BASELINE_DAYS || since === undefined) return null;
  const usual = meanOf(before.map(({ value }) => value));
  const apart = before.reduce((sum, { value }) => sum + (value - usual) ** 2, 0) / (before.length - 1);
  const sampled = meanOf([...before, ...after].map(({ standardError }) => standardError ** 2));
  const error = Math.sqrt(Math.max(apart, sampled) * (1 / span + 1 / before.length));
  const drop = usual - meanOf(after.map(({ value }) => value));
  const reach = studentTQuantile(1 - ALPHA, before.length - 1) * error;
  const n = after.reduce((sum, one) => sum + one.n, 0);
  const bounds = { low: Math.max(-1, drop - reach), high: Math.min(1, drop + reach) };
  return { drop, ...bounds, since, days: span, n, t: error === 0 ? 0 : drop / error };
}

/**
 * Estimates the drop from human judgments. Applies the estimator of judged live relevance separately to the periods
 * before and after the drop; the estimator is valid for any judge. The interval of the difference combines the
 * intervals of the two periods (Zou and Donner 2008). The intervals of both periods allow for scores that cluster at
 * one end of the scale, because a small sample of such scores may miss a fault that affects few queries.
 *
 * @returns null if there are fewer than 8 human-graded sessions on either side of the drop
 */
export function humanDrop(before: readonly JudgedQuery[], after: readonly JudgedQuery[]) {
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

/**
 * Classifies a drop in model grades by comparing it with `people`, the drop as estimated from human judgments (null if
 * there are too few judgments).
 */
export function dropState({ drop, low, days }: RelevanceDrop, people: ReturnType<typeof humanDrop>): DropState {
  if (low <= 0 || drop < MIN_DROP) return 'none';
  if (people === null) return 'detected';
  if (people.low > 0) return 'confirmed';
  const isRefuted = people.high < MIN_CONFIRMED_SHARE * drop && people.sessions >= MIN_SESSIONS_TO_REJECT;
  return isRefuted || (days >= MAX_UNDECIDED_DAYS && people.high < drop) ? 'rejected' : 'detected';
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
