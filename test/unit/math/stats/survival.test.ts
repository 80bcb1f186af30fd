import { expect, it } from 'vitest';
import { survivalQuantile } from '../../../../src/math/stats/descriptive.ts';
import { normalQuantile } from '../../../../src/math/stats/distributions.ts';
import { uniforms } from '../../../support/uniforms.ts';

/** The maintained arm of the leukemia trial by Embury et al. 1977, as in R's `survival::aml`. */
const maintained = [
  [9, true],
  [13, true],
  [13, false],
  [18, true],
  [23, true],
  [28, false],
  [31, true],
  [34, true],
  [45, false],
  [48, true],
  [161, false],
].map(([time, hasArrived]) => ({ time: Number(time), hasArrived: hasArrived === true, weight: 1 }));

it('survival quantiles of the leukemia trial have the values and bounds of SciPy', () => {
  // From scipy.stats.ecdf(CensoredData.right_censored(x, censored)).sf: the first x at which sf <= 0.5, and the first x
  // for each bound of confidence_interval(0.95, method='log-log').
  expect(survivalQuantile(maintained, 0.5, 0.95)).toEqual({ value: 31, low: 13, high: null });
  expect(survivalQuantile(maintained, 0.25, 0.95)).toEqual({ value: 18, low: 9, high: 34 });
});

it('a survival quantile is unknown if too few changes arrived, and changes that never arrive raise the others', () => {
  const fast = Array.from({ length: 20 }, (_, place) => ({ time: 1 + place, hasArrived: true, weight: 1 }));
  const never = Array.from({ length: 20 }, () => ({ time: 100, hasArrived: false, weight: 1 }));
  expect(survivalQuantile(fast, 0.95, 0.95).value).toBe(19);
  expect(survivalQuantile([...fast, ...never], 0.95, 0.95)).toMatchObject({ value: null, high: null });
  expect(survivalQuantile([...fast, ...never], 0.5, 0.95).value).toBe(20);
  expect(survivalQuantile([], 0.5, 0.95)).toEqual({ value: null, low: null, high: null });
});

it('a survival quantile has an upper bound only if enough changes arrived at the last time', () => {
  const together = (count: number) => Array.from({ length: count }, () => ({ time: 900, hasArrived: true, weight: 1 }));
  // If all n changes arrived, the share of late changes is at most 1 - 0.025^(1/n): 5 % for n = 72.
  expect(survivalQuantile(together(72), 0.95, 0.95)).toEqual({ value: 900, low: 900, high: 900 });
  expect(survivalQuantile(together(71), 0.95, 0.95)).toEqual({ value: 900, low: 900, high: null });
});

it('sampling weights that are all equal do not change a survival quantile or its bounds', () => {
  const twice = maintained.map((one) => ({ ...one, weight: 2 }));
  expect(survivalQuantile(twice, 0.25, 0.95)).toEqual(survivalQuantile(maintained, 0.25, 0.95));
});

it.each([
  ['the median', 0.5],
  ['the 95th percentile', 0.95],
])(
  'the bounds of %s contain the truth in at least 93 % of simulations, even if some changes are pending',
  (_, share) => {
    const random = uniforms(20);
    // Log-normal lags with a median of one hour and a 95th percentile of five hours; the changes occur during one day
    // and are observed until its end.
    const spread = Math.log(5) / 1.6448536269514722;
    const truth = 3600 * Math.exp(spread * normalQuantile(share));
    const draws = 1000;
    let held = 0;
    for (let draw = 0; draw < draws; draw += 1) {
      const lifetimes = Array.from({ length: 200 }, () => {
        const lag = 3600 * Math.exp(spread * normalQuantile(random()));
        const watched = 86_400 * random();
        return { time: Math.min(lag, watched), hasArrived: lag <= watched, weight: 1 };
      });
      const { low, high } = survivalQuantile(lifetimes, share, 0.95);
      // A bound that was not reached is null. A null lower bound counts as 0, and a null upper bound as infinity.
      if ((low ?? 0) <= truth && truth <= (high ?? Number.POSITIVE_INFINITY)) held += 1;
    }
    expect(held / draws).toBeGreaterThanOrEqual(0.93);
  },
);
