/**
 * The regularised incomplete beta function I_x(a, b) for a, b > 0. Relative error about 1e-13, growing with the
 * larger parameter to 1e-11 at 10^6.
 *
 * By the continued fraction of DLMF 8.17.22, evaluated with the method of Lentz; the symmetry
 * I_x(a, b) = 1 - I_(1-x)(b, a) keeps x on the side where it converges fast.
 *
 * @param x in [0, 1]
 * @param rest 1 - x, given apart because x may be too near to 1 to hold it
 */
export function incompleteBeta(x: number, rest: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const front = Math.exp(a * logOf(x, rest) + b * logOf(rest, x) - logBeta(a, b));
  if (x <= (a + 1) / (a + b + 2)) return (front * betaFraction(x, a, b)) / a;
  return 1 - (front * betaFraction(rest, b, a)) / b;
}

/** ln(value), through its complement where the value is near 1. */
function logOf(value: number, complement: number): number {
  return value > 0.5 ? Math.log1p(-complement) : Math.log(value);
}

const TINY = 1e-300;

function betaFraction(x: number, a: number, b: number): number {
  let c = 1;
  let d = 1 / orTiny(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  // The number of steps grows as the root of the larger parameter.
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
 * ln B(a, b). Stirling's series for a and b >= 10, where its logarithms are taken of ratios so that large parameters
 * lose no digits; smaller ones are first raised by B(a, b) = B(a + 1, b) (a + b) / a.
 */
export function logBeta(a: number, b: number): number {
  let factor = 1;
  let p = a;
  let q = b;
  for (; p < 10; p++) factor *= (p + q) / p;
  for (; q < 10; q++) factor *= (p + q) / q;
  const stirling =
    Math.log((2 * Math.PI * (p + q)) / (p * q)) / 2 - p * Math.log1p(q / p) - q * Math.log1p(p / q);
  return Math.log(factor) + stirling + stirlingRest(p) + stirlingRest(q) - stirlingRest(p + q);
}

/** ln Gamma(x) less Stirling's formula, DLMF 5.11.1, for x >= 10. */
function stirlingRest(x: number): number {
  const s = 1 / (x * x);
  return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - (s * 691) / 360360))))) / x;
}
