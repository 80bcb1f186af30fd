/** The standard normal distribution. */

const SQRT_2_PI = Math.sqrt(2 * Math.PI);
/** Beyond this the continued fraction converges faster than the series, and the series loses digits of the tail. */
const SERIES_LIMIT = 3;

/**
 * P(Z <= z), to about 1e-15 in the middle and with a relative error below 1e-12 in the tails.
 *
 * Near zero by the series of Abramowitz and Stegun 26.2.11, in the tails by their continued fraction 26.2.14.
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
 * The z with P(Z <= z) = p, to about 1e-14 relative.
 *
 * The start is the rational approximation 26.2.23 of Abramowitz and Stegun (error < 4.5e-4); each step of Halley's
 * method triples the number of right digits.
 *
 * @param p in [0, 1]; 0 and 1 give the infinities
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

/** P(Z > z) for z > 0 well above zero: density(z) / (z + 1/(z + 2/(z + 3/(z + ...)))), from the inside out. */
function upperTail(z: number): number {
  let fraction = z;
  for (let n = 100; n >= 1; n--) fraction = z + n / fraction;
  return density(z) / fraction;
}
