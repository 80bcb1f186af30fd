/** Distribution functions, quantiles, bisection, and sums of numbers that are stored as logarithms. */
/**
 * The regularized incomplete beta function I_x(a, b) for a, b > 0. The relative error is about 1e-13 and grows with the
 * larger parameter, to 1e-11 at 10^6.
 *
 * Uses the continued fraction DLMF 8.17.22, evaluated with Lentz's method. The symmetry I_x(a, b) = 1 - I_(1-x)(b, a)
 * keeps x on the side where the fraction converges fast.
 *
 * @param x in [0, 1]
 * @param rest 1 - x, passed separately because a subtraction would lose digits if x is close to 1
 */
export function incompleteBeta(x: number, rest: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const front = Math.exp(a * logOf(x, rest) + b * logOf(rest, x) - logBeta(a, b));
  if (x <= (a + 1) / (a + b + 2)) return (front * betaFraction(x, a, b)) / a;
  return 1 - (front * betaFraction(rest, b, a)) / b;
}

/** ln(value), computed from 1 - value if the value is near 1. */
function logOf(value: number, complement: number): number {
  return value > 0.5 ? Math.log1p(-complement) : Math.log(value);
}

const TINY = 1e-300;

function betaFraction(x: number, a: number, b: number): number {
  let c = 1;
  let d = 1 / orTiny(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  // The number of steps grows with the square root of the larger parameter.
  for (let m = 1; m < 100_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / orTiny(1 + even * d);
    c = orTiny(1 + even / c);
    fraction *= c * d;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / orTiny(1 + odd * d);
    c = orTiny(1 + odd / c);
    fraction *= c * d;
    if (Math.abs(c * d - 1) < Number.EPSILON) break;
  }
  return fraction;
}

function orTiny(value: number): number {
  return Math.abs(value) < TINY ? TINY : value;
}

/**
 * ln B(a, b). For a and b >= 10, uses Stirling's series with logarithms of ratios, so that large parameters lose no
 * digits. Smaller parameters are first raised with the identity B(a, b) = B(a + 1, b) (a + b) / a.
 */
export function logBeta(a: number, b: number): number {
  let factor = 1;
  let p = a;
  let q = b;
  for (; p < 10; p++) factor *= (p + q) / p;
  for (; q < 10; q++) factor *= (p + q) / q;
  const stirling = Math.log((2 * Math.PI * (p + q)) / (p * q)) / 2 - p * Math.log1p(q / p) - q * Math.log1p(p / q);
  return Math.log(factor) + stirling + stirlingRest(p) + stirlingRest(q) - stirlingRest(p + q);
}

/** ln Gamma(x) minus Stirling's formula, DLMF 5.11.1, for x >= 10. */
function stirlingRest(x: number): number {
  const s = 1 / (x * x);
  return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - (s * 691) / 360360))))) / x;
}

const SQRT_2_PI = Math.sqrt(2 * Math.PI);
/** Above this value, the continued fraction converges faster than the series, and the series loses digits. */
const SERIES_LIMIT = 3;

/**
 * P(Z <= z), accurate to about 1e-15 near z = 0, and with a relative error below 1e-12 in the tails.
 *
 * Uses the series 26.2.11 of Abramowitz and Stegun near zero, and their continued fraction 26.2.14 in the tails.
 */
export function normalCdf(z: number): number {
  if (z > SERIES_LIMIT) return 1 - upperTail(z);
  if (z < -SERIES_LIMIT) return upperTail(-z);
  let term = z;
  let sum = z;
  for (let n = 3; Math.abs(term) > Number.EPSILON * Math.abs(sum); n += 2) {
    term *= (z * z) / n;
    sum += term;
  }
  return 0.5 + sum * density(z);
}

/**
 * The z with P(Z <= z) = p, with a relative error of about 1e-14.
 *
 * Starts with the rational approximation 26.2.23 in Abramowitz and Stegun (error < 4.5e-4). Each step of Halley's
 * method triples the number of correct digits.
 *
 * @param p in [0, 1]; the quantiles of 0 and 1 are infinite
 */
export function normalQuantile(p: number): number {
  if (p === 0.5) return 0;
  if (p > 0.5) return -normalQuantile(1 - p);
  if (p <= 0) return Number.NEGATIVE_INFINITY;
  const t = Math.sqrt(-2 * Math.log(p));
  const numerator = 2.515517 + t * (0.802853 + t * 0.010328);
  const denominator = 1 + t * (1.432788 + t * (0.189269 + t * 0.001308));
  let z = numerator / denominator - t;
  for (let step = 0; step < 3; step++) {
    const error = (normalCdf(z) - p) / density(z);
    z -= error / (1 + (z * error) / 2);
  }
  return z;
}

function density(z: number): number {
  return Math.exp((-z * z) / 2) / SQRT_2_PI;
}

/**
 * Mean of a smooth function of a standard normal variable, by the trapezoidal rule over 9 standard deviations on each
 * side. The rule converges exponentially because the density decays (Trefethen and Weideman 2014).
 */
export function normalMean(valueAt: (z: number) => number): number {
  const step = 0.1;
  let total = 0;
  for (let i = -90; i <= 90; i++) {
    const z = i * step;
    total += Math.exp(-(z ** 2) / 2) * valueAt(z);
  }
  return (total * step) / Math.sqrt(2 * Math.PI);
}

/**
 * P(Z > z) for z well above zero: density(z) / (z + 1/(z + 2/(z + 3/(z + ...)))), evaluated from the innermost
 * fraction.
 */
function upperTail(z: number): number {
  let fraction = z;
  for (let n = 100; n >= 1; n--) fraction = z + n / fraction;
  return density(z) / fraction;
}

/**
 * P(X > value) of the chi-square distribution with a whole number of degrees of freedom, by the finite sums 26.4.4 and
 * 26.4.5 of Abramowitz and Stegun. All terms are positive, so the far tail does not lose precision.
 *
 * @param value >= 0
 * @param df whole number >= 1; the sum has df / 2 terms
 */
export function chiSquareTail(value: number, df: number): number {
  if (value <= 0) return 1;
  const isOdd = df % 2 === 1;
  // Each term is the previous term times value / j. The loop uses the logarithm of the term, because the first term may
  // be too small for a double.
  let logTerm = isOdd ? (Math.log((2 * value) / Math.PI) - value) / 2 : -value / 2;
  let tail = isOdd ? 2 * normalCdf(-Math.sqrt(value)) : 0;
  for (let j = isOdd ? 3 : 2; j <= df; j += 2) {
    tail += Math.exp(logTerm);
    logTerm += Math.log(value / j);
  }
  return Math.min(1, tail);
}

/**
 * The value with P(X <= value) = p for the chi-square distribution, by bisection of its tail.
 *
 * @param p in (0, 1)
 * @param df whole number >= 1
 */
export function chiSquareQuantile(p: number, df: number): number {
  let high = df;
  while (chiSquareTail(high, df) > 1 - p) high *= 2;
  return bisect(0, high, (value) => chiSquareTail(value, df) <= 1 - p);
}

/**
 * Bisects an interval down to two adjacent doubles, or to a relative length of `tolerance`. The condition must be true
 * at the high end of the interval.
 *
 * @returns the high end, at which the condition is true
 */
export function bisect(low: number, high: number, holds: (value: number) => boolean, tolerance = 0): number {
  let [from, to] = [low, high];
  for (;;) {
    const middle = (from + to) / 2;
    if (middle <= from || middle >= to || to - from <= tolerance * to) return to;
    if (holds(middle)) to = middle;
    else from = middle;
  }
}

/**
 * P(T <= t), with a relative error below 1e-11 for df up to 10^6, even in the lower tail. Source: Abramowitz and Stegun
 * 26.7.1.
 */
export function studentTCdf(t: number, df: number): number {
  return t > 0 ? 1 - studentTUpperTail(t, df) : studentTUpperTail(-t, df);
}

/**
 * The t with P(T <= t) = p, with a relative error below 1e-11 for df up to 10^6.
 *
 * @param p in [0, 1]; the quantiles of 0 and 1 are infinite
 */
export function studentTQuantile(p: number, df: number): number {
  if (p === 0.5) return 0;
  if (p > 0.5) return -studentTQuantile(1 - p, df);
  if (p <= 0) return Number.NEGATIVE_INFINITY;
  // The upper tail is convex and heavier than the normal tail, so Newton's steps rise from the normal quantile to the
  // root and never exceed the root.
  let t = -normalQuantile(p);
  for (let step = 0; step < 500; step++) {
    const change = (studentTUpperTail(t, df) - p) / studentTDensity(t, df);
    t += change;
    if (change <= 1e-14 * t) break;
  }
  return -t;
}

/** P(T > t) for t >= 0. */
function studentTUpperTail(t: number, df: number): number {
  const square = t * t;
  return incompleteBeta(df / (df + square), square / (df + square), df / 2, 0.5) / 2;
}

function studentTDensity(t: number, df: number): number {
  const logKernel = -((df + 1) / 2) * Math.log1p((t * t) / df);
  return Math.exp(logKernel - logBeta(df / 2, 0.5)) / Math.sqrt(df);
}

/**
 * P(X >= successes) of the binomial distribution, where X is the number of successes in `n` independent trials with
 * probability `p`, by the incomplete beta function (Abramowitz and Stegun 26.5.24).
 */
export function binomialUpperTail(successes: number, n: number, p: number): number {
  if (successes <= 0) return 1;
  if (successes > n) return 0;
  return incompleteBeta(p, 1 - p, successes, n - successes + 1);
}

/**
 * An urn with `size` balls, of which `marked` are marked. The hypergeometric distribution counts the marked balls among
 * `draws` balls drawn without replacement.
 */
interface Urn {
  readonly size: number;
  readonly marked: number;
  readonly draws: number;
}

/**
 * P(H >= minimum), where H is the number of marked balls among the draws. The sum starts at `minimum` and continues
 * away from the mean. Each term is computed from the previous term, so that even a tail probability of 1e-300 has a
 * relative error below 1e-11.
 *
 * @param minimum a whole number; returns 1 at or below the smallest possible H, and 0 above the largest
 */
export function hypergeometricUpperTail(minimum: number, { size, marked, draws }: Urn): number {
  const smallest = Math.max(0, draws + marked - size);
  const largest = Math.min(draws, marked);
  if (minimum <= smallest) return 1;
  if (minimum > largest) return 0;
  const unmarked = size - marked;
  const mean = (draws * marked) / size;
  if (minimum > mean) {
    // P(k + 1) / P(k) decreases as k grows, so the terms shrink at least geometrically.
    return tailSum(minimum, largest, logPmf(minimum), (k) => {
      return ((marked - k) * (draws - k)) / ((k + 1) * (unmarked - draws + k + 1));
    });
  }
  const below = minimum - 1;
  const lower = tailSum(smallest, below, logPmf(below), (step) => {
    const k = below + smallest - step;
    return (k * (unmarked - draws + k)) / ((marked - k + 1) * (draws - k + 1));
  });
  return Math.max(0, 1 - lower);

  function logPmf(k: number): number {
    return logChoose(marked, k) + logChoose(unmarked, draws - k) - logChoose(size, draws);
  }
}

/** exp(logFirst) (1 + r(from) + r(from) r(from + 1) + ...), where r is `ratio`; the last term ends with r(to - 1). */
function tailSum(from: number, to: number, logFirst: number, ratio: (k: number) => number): number {
  let term = 1;
  let sum = 1;
  for (let k = from; k < to && term > 0; k++) {
    term *= ratio(k);
    sum += term;
  }
  return Math.min(1, Math.exp(logFirst + Math.log(sum)));
}

function logChoose(n: number, k: number): number {
  return -Math.log(n + 1) - logBeta(n - k + 1, k + 1);
}

/**
 * Returns the smallest k in [from, to) that satisfies a condition, or `to` if no k does. Takes log(to - from) steps. A
 * condition that is true for some k must be true for all larger k.
 */
export function firstWhere(from: number, to: number, holds: (k: number) => boolean): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** ln(e^a + e^b). */
export function logAdd(a: number, b: number): number {
  const high = Math.max(a, b);
  if (high === Number.NEGATIVE_INFINITY) return high;
  return high + Math.log1p(Math.exp(Math.min(a, b) - high));
}

/** ln of the mean of e^value over all values. @throws RangeError if there are no values */
export function logMean(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('The mean of no values is not defined.');
  const high = Math.max(...values);
  if (high === Number.NEGATIVE_INFINITY) return high;
  const sum = values.reduce((total, value) => total + Math.exp(value - high), 0);
  return high + Math.log(sum / values.length);
}
