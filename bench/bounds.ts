/** 95 % confidence intervals for counts from simulations. */
import { mean, meanInterval } from '../src/math/stats/descriptive.ts';
import { chiSquareQuantile } from '../src/math/stats/distributions.ts';
import { wilsonInterval } from '../src/math/stats/intervals.ts';

export interface ShareWithBounds {
  readonly share: number;
  readonly low: number;
  readonly high: number;
}

export interface MeanWithBounds {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export interface RateWithBounds {
  readonly count: number;
  readonly years: number;
  readonly perYear: number;
  readonly low: number;
  readonly high: number;
}

const CONFIDENCE = 0.95;
/**
 * Upper 95 % limit for the sum of counts that are all 0: -ln 0.05. The limit for the mean of n counts is 1/n of this
 * limit.
 */
const ZERO_SUM_LIMIT = -Math.log(1 - CONFIDENCE);

/** Returns a share with its 95 % interval (Wilson). */
export function shareWithBounds(count: number, trials: number): ShareWithBounds {
  const share = count / trials;
  return { share, ...wilsonInterval(share, trials, CONFIDENCE) };
}

/** Returns the mean of counts with its 95 % interval. If all counts are 0, the upper limit is still above 0. */
export function meanWithBounds(counts: readonly number[]): MeanWithBounds {
  const value = mean(counts);
  if (value === 0) return { mean: 0, low: 0, high: ZERO_SUM_LIMIT / counts.length };
  const { low, high } = meanInterval(counts, CONFIDENCE);
  return { mean: value, low: Math.max(0, low), high };
}

/** Returns the number of events per year with its exact Poisson interval (Garwood 1936). */
export function rateWithBounds(count: number, years: number): RateWithBounds {
  const tail = (1 - CONFIDENCE) / 2;
  return {
    count,
    years,
    perYear: count / years,
    low: count === 0 ? 0 : chiSquareQuantile(tail, 2 * count) / 2 / years,
    high: chiSquareQuantile(1 - tail, 2 * count + 2) / 2 / years,
  };
}
