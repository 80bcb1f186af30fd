/** Confidence intervals in closed form: for a mean, a proportion, and the difference between two paired proportions. */
import { binomialUpperTail, normalQuantile, studentTQuantile } from './distributions.ts';

/** The two ends of a confidence interval; `low <= high`, and neither is NaN. */
export interface Bounds {
  readonly low: number;
  readonly high: number;
}

/**
 * Confidence interval of a mean: mean -+ t * sd / sqrt(n), where t is the quantile with n - 1 degrees of freedom.
 *
 * @param standardDeviation of the values, with n - 1 in the denominator
 * @param n number of values; for a single value, the spread is unknown, so the interval is the whole line
 */
export function studentTInterval(mean: number, standardDeviation: number, n: number, confidence: number): Bounds {
  if (n < 2) return { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  const reach = (-studentTQuantile((1 - confidence) / 2, n - 1) * standardDeviation) / Math.sqrt(n);
  return { low: mean - reach, high: mean + reach };
}

/**
 * Score interval of a proportion, Wilson 1927: (p + z^2/2n -+ z sqrt(p(1 - p)/n + z^2/4n^2)) / (1 + z^2/n). The
 * interval is within [0, 1], and does not shrink to a point if all trials, or none, are successes.
 *
 * @param rate share of successes, in [0, 1]
 * @param n number of trials, >= 1
 */
export function wilsonInterval(rate: number, n: number, confidence: number): Bounds {
  const z = -normalQuantile((1 - confidence) / 2);
  const shrink = 1 + (z * z) / n;
  const centre = (rate + (z * z) / (2 * n)) / shrink;
  const reach = (z * Math.sqrt((rate * (1 - rate)) / n + (z * z) / (4 * n * n))) / shrink;
  return {
    low: rate === 0 ? 0 : Math.max(0, centre - reach),
    high: rate === 1 ? 1 : Math.min(1, centre + reach),
  };
}

/**
 * Exact interval of a proportion, Clopper and Pearson 1934: each end is the share for which the observed number of
 * successes, or a more extreme one, has the probability (1 - confidence) / 2. The interval's coverage is never below
 * the stated level, even for shares near 0. For samples without replacement, the interval is wider than necessary,
 * never narrower.
 *
 * @param successes 0 to n
 * @param n number of trials, >= 1
 */
export function clopperPearsonInterval(successes: number, n: number, confidence: number): Bounds {
  const tail = (1 - confidence) / 2;
  return {
    low: successes === 0 ? 0 : shareWhere(successes, n, tail),
    high: successes === n ? 1 : shareWhere(successes + 1, n, 1 - tail),
  };
}

/** Returns the share at which P(X >= successes) is `tail`. The probability increases with the share. */
function shareWhere(successes: number, n: number, tail: number): number {
  let [low, high] = [0, 1];
  for (;;) {
    const middle = (low + high) / 2;
    if (middle <= low || middle >= high) return middle;
    if (binomialUpperTail(successes, n, middle) < tail) low = middle;
    else high = middle;
  }
}

/** Number of queries for each pair of outcomes across two runs. */
export interface PairedHits {
  readonly both: number;
  readonly onlyBaseline: number;
  readonly onlyCandidate: number;
  readonly neither: number;
}

/**
 * Confidence interval of the difference candidate - baseline between two paired proportions: method 10 in Newcombe,
 * Statistics in Medicine 17, 1998, 2635-2650. The method combines the Wilson intervals of both rates with their
 * correlation phi. A positive phi is corrected for continuity; phi is 0 if a row or a column of the 2 x 2 table is
 * empty.
 *
 * @throws RangeError if there are no queries
 */
export function newcombePairedInterval(hits: PairedHits, confidence: number): Bounds {
  const { both, onlyBaseline, onlyCandidate, neither } = hits;
  const n = both + onlyBaseline + onlyCandidate + neither;
  if (n === 0) throw new RangeError('The difference between two rates is not defined for zero queries.');
  const candidate = scored(both + onlyCandidate, n, confidence);
  const baseline = scored(both + onlyBaseline, n, confidence);
  const phi = correlation(hits, n);
  const difference = candidate.rate - baseline.rate;
  const below = joined(candidate.rate - candidate.low, baseline.high - baseline.rate, phi);
  const above = joined(candidate.high - candidate.rate, baseline.rate - baseline.low, phi);
  return { low: Math.max(-1, difference - below), high: Math.min(1, difference + above) };
}

function scored(hits: number, n: number, confidence: number) {
  const rate = hits / n;
  return { rate, ...wilsonInterval(rate, n, confidence) };
}

function joined(reach1: number, reach2: number, phi: number): number {
  return Math.sqrt(Math.max(0, reach1 * reach1 - 2 * phi * reach1 * reach2 + reach2 * reach2));
}

function correlation({ both, onlyBaseline, onlyCandidate, neither }: PairedHits, n: number): number {
  const margins = (both + onlyBaseline) * (onlyCandidate + neither) * (both + onlyCandidate) * (onlyBaseline + neither);
  if (margins === 0) return 0;
  const covariance = both * neither - onlyBaseline * onlyCandidate;
  const corrected = covariance > 0 ? Math.max(covariance - n / 2, 0) : covariance;
  return corrected / Math.sqrt(margins);
}

/**
 * Converts the bounds of a share to another confidence level; the result is exact for Wilson's interval.
 *
 * Wilson's interval is symmetric on the logit scale, with half-width h = 2 asinh(z / (2 sqrt(n p (1 - p)))) (Newcombe
 * 1998), so h at one z determines h at another z, without n. At a share of 0 or 1, the interval has only one side, and
 * n follows from the distance between the bound and the share, which is z^2 / (n + z^2).
 *
 * @param share in [0, 1]
 * @param bounds interval of the share, at level `confidence`
 * @param wanted confidence level of the result, in (0, 1)
 */
export function rescaledInterval(share: number, { low, high }: Bounds, confidence: number, wanted: number): Bounds {
  const z = normalQuantile((1 + confidence) / 2);
  const other = normalQuantile((1 + wanted) / 2);
  if (share <= 0) return { low, high: reachFromEnd(high, z, other) };
  if (share >= 1) return { low: 1 - reachFromEnd(1 - low, z, other), high };
  return {
    low: moved(share, low, z, other, 0),
    high: moved(share, high, z, other, 1),
  };
}

function reachFromEnd(reach: number, z: number, other: number): number {
  if (reach <= 0 || reach >= 1) return reach;
  const n = (z * z * (1 - reach)) / reach;
  return (other * other) / (n + other * other);
}

/** Returns the bound at another z; a bound of 0 or 1 does not change. */
function moved(share: number, bound: number, z: number, other: number, end: 0 | 1): number {
  if (bound <= 0 || bound >= 1) return end;
  const reach = logit(bound) - logit(share);
  return 1 / (1 + Math.exp(-(logit(share) + 2 * Math.asinh((other / z) * Math.sinh(reach / 2)))));
}

function logit(share: number): number {
  return Math.log(share) - Math.log1p(-share);
}
