import { describe, expect, it } from 'vitest';
import {
  bytes,
  dollars,
  duration,
  formatBeside,
  formatValue,
  interval,
  probability,
  range,
  timeOfDay,
  type Unit,
} from '../../../src/core/format.ts';

const examples: Readonly<Record<Unit, readonly (readonly [value: number, text: string])[]>> = {
  score: [
    [0.81623, '0.816'],
    [0.7, '0.7'],
    [1, '1'],
    [0.00042, '0.0004'],
    [0, '0'],
    [-0.5, '\u22120.5'],
    [123_400_000, '123000000'],
    [3.2e20, '3.2 × 10²⁰'],
    [9.999e9, '1 × 10¹⁰'],
    [Number.POSITIVE_INFINITY, 'unbounded'],
    [Number.NaN, '-'],
  ],
  difference: [
    [-0.1, '\u22120.1'],
    [0.1, '+0.1'],
    [-0.0000001, '0'],
  ],
  share: [
    [0.3333, '33 %'],
    [0.05, '5 %'],
    [0.0546, '5.5 %'],
    [0.0004, '0.04 %'],
    [0.9961, '99.6 %'],
    [0.99997, '99.997 %'],
    [1, '100 %'],
    [0, '0 %'],
  ],
  points: [
    [-0.4, '\u221240 %'],
    [0.051, '+5.1 %'],
    [0, '0 %'],
  ],
  count: [
    [12, '12'],
    [1234, '1\u202f234'],
  ],
  seconds: [
    [7200, '2 h'],
    [0.0123, '12.3 ms'],
  ],
  ms: [
    [55.3, '55.3 ms'],
    [2500, '2.5 s'],
  ],
  ratio: [
    [0.5, '0.5'],
    [1.234, '1.23'],
  ],
  p: [
    [0.0004, 'below 0.001'],
    [0.0312, '0.0312'],
  ],
  other: [
    [1234.5, '1\u202f235'],
    [5.6789, '5.68'],
  ],
};

describe('formatted numbers', () => {
  it.each(Object.entries(examples))(
    'of the unit "%s" are rounded for readers and have no trailing zeros',
    (unit, cases) => {
      expect(cases.map(([value]) => formatValue(value, unit as Unit))).toEqual(cases.map(([, text]) => text));
    },
  );

  it('use the largest readable unit for a duration', () => {
    expect([0, 0.35, 2.5, 5, 99, 119, 3600, 5400, 7200, 7500, 36_100, 200_000].map(duration)).toEqual([
      '0 s',
      '350 ms',
      '2.5 s',
      '5 s',
      '99 s',
      '2 min',
      '1 h',
      '90 min',
      '2 h',
      '2 h 5 min',
      '10 h',
      '2 d',
    ]);
  });

  it('never look equal to a threshold that they are beyond', () => {
    expect(formatBeside(0.69996, 0.7, 'score')).toBe('0.69996');
    expect(formatBeside(0.55, 0.7, 'score')).toBe('0.55');
    expect(formatBeside(0.7, 0.7, 'score')).toBe('0.7');
    expect(formatBeside(0.2004, 0.2, 'share')).toBe('20.04 %');
    expect(formatBeside(2.51, 2.5, 'seconds')).toBe('2.51 s');
  });

  it('repeat no unit and leave no sign ambiguous in an interval', () => {
    expect(interval(0.4612, 0.64, 'score')).toBe('95 % CI 0.461-0.64');
    expect(interval(0.24, 0.3, 'share')).toBe('95 % CI 24-30 %');
    expect(interval(-0.05, 0.01, 'difference')).toBe('95 % CI \u22120.05 to +0.01');
    expect(range(0.32, 0.41, 'seconds')).toBe('320-410 ms');
    expect(range(0.9, 1.2, 'seconds')).toBe('900 ms to 1.2 s');
  });

  it('show the unit of sizes, costs, probabilities and times of day', () => {
    expect([bytes(512), bytes(47_500_000)]).toEqual(['512 bytes', '45.3 MB']);
    expect([dollars(12.3), dollars(0.0421)]).toEqual(['$12.30', '$0.0421']);
    expect([probability(0.031), probability(0.00001)]).toEqual(['p = 0.031', 'p < 0.001']);
    expect(timeOfDay(new Date('2026-11-20T17:05:30Z'))).toBe('17:05 UTC');
  });
});
