import { describe, expect, it } from 'vitest';
import { checkMeasurement, type Measurement } from '../../../../src/measures/rules/measurement.ts';
import { NOON } from '../../../support/builders.ts';
import { aGap, aMeasurement } from '../../../support/measurements.ts';

describe('a measurement', () => {
  it.each<[string, Partial<Measurement>]>([
    ['with bounds', {}],
    ['without bounds', { ciLow: null, ciHigh: null, ciMethod: null }],
    ['with bounds that are a point', { value: 0.5, ciLow: 0.5, ciHigh: 0.5 }],
    ['of nothing', { n: 0 }],
    ['over an instant', { windowStart: NOON, windowEnd: NOON }],
  ])('is taken %s', (_what, parts) => {
    expect(() => checkMeasurement(aMeasurement(parts))).not.toThrow();
  });

  it.each<[string, Partial<Measurement>]>([
    ['is not finite: NaN', { value: Number.NaN }],
    ['is not finite: Infinity', { value: Number.POSITIVE_INFINITY }],
    ['do not hold its value', { value: 0.9 }],
    ['do not hold its value', { ciLow: Number.NEGATIVE_INFINITY }],
    ['do not hold its value', { ciHigh: Number.NaN }],
    ['one bound without the other', { ciLow: null }],
    ['one bound without the other', { ciHigh: null }],
    ['no count: 1.5', { n: 1.5 }],
    ['no count: -1', { n: -1 }],
    ['ends before it starts', { windowEnd: new Date(0) }],
    ['ends before it starts', { windowStart: new Date(Number.NaN) }],
  ])('is refused, by the name of its series, when it %s', (problem, parts) => {
    const check = (): void => checkMeasurement(aMeasurement(parts));
    expect(check).toThrow(RangeError);
    expect(check).toThrow(/^The measurement error_ratio of all on docs .*/);
    expect(check).toThrow(problem);
  });

  it('may be missing for a reason, but not over a window that ends before it starts', () => {
    expect(() => checkMeasurement(aGap())).not.toThrow();
    expect(() => checkMeasurement(aGap({ windowEnd: new Date(0) }))).toThrow(RangeError);
  });
});
