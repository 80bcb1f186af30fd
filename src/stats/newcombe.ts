import type { Interval } from './interval.ts';
import { wilsonInterval } from './wilson.ts';

/** Queries by what two runs did with them. */
export interface PairedHits {
  readonly both: number;
  readonly onlyBaseline: number;
  readonly onlyCandidate: number;
  readonly neither: number;
}

/**
 * Confidence interval of the difference candidate - baseline of two paired proportions: method 10 of Newcombe,
 * Statistics in Medicine 17, 1998, 2635-2650. The Wilson intervals of both rates are joined with their correlation
 * phi, which is corrected for continuity when positive, and 0 when a margin is empty.
 *
 * @throws RangeError without queries
 */
export function newcombePairedInterval(hits: PairedHits, confidence: number): Interval {
  const { both, onlyBaseline, onlyCandidate, neither } = hits;
  const n = both + onlyBaseline + onlyCandidate + neither;
  if (n === 0) throw new RangeError('The difference of two rates of no queries is not defined.');
  const candidate = scored(both + onlyCandidate, n, confidence);
  const baseline = scored(both + onlyBaseline, n, confidence);
  return differenceInterval(candidate, baseline, correlation(hits, n));
}

/**
 * Confidence interval of the difference of two independent proportions, hits1 / n1 - hits2 / n2: method 10 of
 * Newcombe, Statistics in Medicine 17, 1998, 873-890.
 *
 * @param n1 number of trials, >= 1; so `n2`
 */
export function newcombeInterval(
  hits1: number,
  n1: number,
  hits2: number,
  n2: number,
  confidence: number,
): Interval {
  return differenceInterval(scored(hits1, n1, confidence), scored(hits2, n2, confidence), 0);
}

interface ScoredRate extends Interval {
  readonly rate: number;
}

function scored(hits: number, n: number, confidence: number): ScoredRate {
  const rate = hits / n;
  return { rate, ...wilsonInterval(rate, n, confidence) };
}

function differenceInterval(first: ScoredRate, second: ScoredRate, phi: number): Interval {
  const difference = first.rate - second.rate;
  const below = joined(first.rate - first.low, second.high - second.rate, phi);
  const above = joined(first.high - first.rate, second.rate - second.low, phi);
  return { low: Math.max(-1, difference - below), high: Math.min(1, difference + above) };
}

function joined(reach1: number, reach2: number, phi: number): number {
  return Math.sqrt(Math.max(0, reach1 * reach1 - 2 * phi * reach1 * reach2 + reach2 * reach2));
}

function correlation({ both, onlyBaseline, onlyCandidate, neither }: PairedHits, n: number): number {
  const margins =
    (both + onlyBaseline) * (onlyCandidate + neither) * (both + onlyCandidate) * (onlyBaseline + neither);
  if (margins === 0) return 0;
  const covariance = both * neither - onlyBaseline * onlyCandidate;
  const corrected = covariance > 0 ? Math.max(covariance - n / 2, 0) : covariance;
  return corrected / Math.sqrt(margins);
}
