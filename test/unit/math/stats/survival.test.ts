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

it('is the median of the leukaemia trial, with the bounds that SciPy gives', () => {
  // From scipy.stats.ecdf(CensoredData.right_censored(x, censored)).sf: the first x at which sf <= 0.5, and the first x
  // for each bound of confidence_interval(0.95, method='log-log').
  expect(survivalQuantile(maintained, 0.5, 0.95)).toEqual({ value: 31, low: 13, high: null });
  expect(survivalQuantile(maintained, 0.25, 0.95)).toEqual({ value: 18, low: 9, high: 34 });
});

it('does not know a quantile that too few have reached, and grows no faster by what never comes', () => {
  const fast = Array.from({ length: 20 }, (_, place) => ({ time: 1 + place, hasArrived: true, weight: 1 }));
  const never = Array.from({ length: 20 }, () => ({ time: 100, hasArrived: false, weight: 1 }));
  expect(survivalQuantile(fast, 0.95, 0.95).value).toBe(19);
  expect(survivalQuantile([...fast, ...never], 0.95, 0.95)).toMatchObject({ value: null, high: null });
  expect(survivalQuantile([...fast, ...never], 0.5, 0.95).value).toBe(20);
  expect(survivalQuantile([], 0.5, 0.95)).toEqual({ value: null, low: null, high: null });
});

it('has an upper bound where many come at one time, the last, and none where few do', () => {
  const together = (count: number) => Array.from({ length: count }, () => ({ time: 900, hasArrived: true, weight: 1 }));
  // If all n changes arrived, the share of late changes is at most 1 - 0.025^(1/n): 5 % for n = 72.
  expect(survivalQuantile(together(72), 0.95, 0.95)).toEqual({ value: 900, low: 900, high: 900 });
  expect(survivalQuantile(together(71), 0.95, 0.95)).toEqual({ value: 900, low: 900, high: null });
});

it('counts one that stands for many as many, and is no surer for it', () => {
  const twice = maintained.map((one) => ({ ...one, weight: 2 }));
  expect(survivalQuantile(twice, 0.25, 0.95)).toEqual(survivalQuantile(maintained, 0.25, 0.95));
});

it.each([
  ['the median', 0.5],
  ['the 95th percentile', 0.95],
])(
  'has bounds that hold the truth of %s in 93 % of draws at least, though the last are still on their way',
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
