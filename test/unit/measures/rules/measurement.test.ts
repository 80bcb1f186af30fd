import { describe, expect, it } from 'vitest';
import {
  checkMeasurement,
  isRunTooOld,
  type Measurement,
  measurementTrustSeconds,
  runTrustSeconds,
} from '../../../../src/measures/rules/measurement.ts';
import { NOON } from '../../../support/builders.ts';
import { aGap, aMeasurement, hours } from '../../../support/measurements.ts';

describe('a measurement', () => {
  it.each<[string, Partial<Measurement>]>([
    ['with bounds', {}],
    ['without bounds', { ciLow: null, ciHigh: null, ciMethod: null }],
    ['with bounds that are a point', { value: 0.5, ciLow: 0.5, ciHigh: 0.5 }],
    ['of nothing', { n: 0 }],
    ['over an instant', { windowStart: NOON, windowEnd: NOON }],
  ])('is accepted %s', (_what, parts) => {
    expect(() => checkMeasurement(aMeasurement(parts))).not.toThrow();
  });

  it.each<[string, Partial<Measurement>]>([
    ['is not finite: NaN', { value: Number.NaN }],
    ['is not finite: Infinity', { value: Number.POSITIVE_INFINITY }],
    ['do not contain its value', { value: 0.9 }],
    ['do not contain its value', { ciLow: Number.NEGATIVE_INFINITY }],
    ['do not contain its value', { ciHigh: Number.NaN }],
    ['one bound without the other', { ciLow: null }],
    ['one bound without the other', { ciHigh: null }],
    ['not a whole number of at least 0: 1.5', { n: 1.5 }],
    ['not a whole number of at least 0: -1', { n: -1 }],
    ['ends before it starts', { windowEnd: new Date(0) }],
    ['ends before it starts', { windowStart: new Date(Number.NaN) }],
  ])('is rejected with the name of its series: %s', (problem, parts) => {
    const check = (): void => checkMeasurement(aMeasurement(parts));
    expect(check).toThrow(RangeError);
    expect(check).toThrow(/^The measurement error_ratio of all on docs .*/);
    expect(check).toThrow(problem);
  });

  it('accepts a gap, but not with a window that ends before it starts', () => {
    expect(() => checkMeasurement(aGap())).not.toThrow();
    expect(() => checkMeasurement(aGap({ windowEnd: new Date(0) }))).toThrow(RangeError);
  });
});

it('trusts a golden run for three intervals of its schedule, or for three days without a schedule', () => {
  expect([runTrustSeconds(300), runTrustSeconds(null)]).toEqual([900, 3 * 86_400]);
  const after = (seconds: number) => new Date(NOON.getTime() + seconds * 1000);
  expect(isRunTooOld(NOON, 300, after(900))).toBe(false);
  expect(isRunTooOld(NOON, 300, after(901))).toBe(true);
});

it.each([
  ['a live measure, by its schedule', { measure: 'error_ratio' }, 900],
  ['the share of samples read', { measure: 'samples_read_ratio' }, 900],
  ['an hourly probe', { measure: 'ann_recall' }, 3 * 3600],
  [
    'a measure without an interval, by the length of its window',
    { measure: 'other', windowStart: hours(-2) },
    6 * 3600,
  ],
  ['a measure without a window, by the interval of live measures', { measure: 'other', windowStart: NOON }, 900],
] as const)('%s is trusted for three intervals', (_, parts, seconds) => {
  expect(measurementTrustSeconds(aMeasurement(parts), 300)).toBe(seconds);
});

it('trusts a measure that is taken only during incidents until its next measurement', () => {
  expect(measurementTrustSeconds(aMeasurement({ measure: 'live_replay_overlap' }), 300)).toBe(Number.POSITIVE_INFINITY);
});
