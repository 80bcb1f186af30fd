import { logBeta } from './incomplete-beta.ts';

/** An urn, as the hypergeometric distribution draws from it without putting back. */
export interface Urn {
  readonly size: number;
  /** How many of `size` are marked. */
  readonly marked: number;
  readonly draws: number;
}

/**
 * P(H >= least), H the number of marked among the draws. The terms are summed from `least` away from the mean, each
 * from the one before it, so that a tail of 1e-300 keeps its digits; relative error below 1e-11 there.
 *
 * @param least a whole number; at or below the smallest possible H gives 1, above the largest 0
 */
export function hypergeometricUpperTail(least: number, { size, marked, draws }: Urn): number {
  const smallest = Math.max(0, draws + marked - size);
  const largest = Math.min(draws, marked);
  if (least <= smallest) return 1;
  if (least > largest) return 0;
  const unmarked = size - marked;
  const mean = (draws * marked) / size;
  if (least > mean) {
    // P(k + 1) / P(k) falls as k grows, so the terms shrink at least geometrically.
    return tailSum(least, largest, logPmf(least), (k) => {
      return ((marked - k) * (draws - k)) / ((k + 1) * (unmarked - draws + k + 1));
    });
  }
  const below = least - 1;
  const lower = tailSum(smallest, below, logPmf(below), (step) => {
    const k = below + smallest - step;
    return (k * (unmarked - draws + k)) / ((marked - k + 1) * (draws - k + 1));
  });
  return Math.max(0, 1 - lower);

  function logPmf(k: number): number {
    return logChoose(marked, k) + logChoose(unmarked, draws - k) - logChoose(size, draws);
  }
}

/** exp(logFirst) (1 + r(from) + r(from) r(from + 1) + ...) up to the term of `to`. */
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
