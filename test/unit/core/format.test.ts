import { expect, it } from 'vitest';
import { duration, formatValue, type Unit } from '../../../src/core/format.ts';

it.each<[Unit, readonly (readonly [value: number, text: string])[]]>([
  [
    'score',
    [
      [0.81623, '0.816'],
      [0.7, '0.7'],
      [1, '1'],
      [0.00042, '0.0004'],
      [0, '0'],
      [-0.5, '-0.5'],
    ],
  ],
  [
    'difference',
    [
      [-0.1, '\u22120.1'],
      [0.1, '+0.1'],
      [-0.0000001, '0'],
    ],
  ],
  [
    'share',
    [
      [0.3333, '33.3 %'],
      [0.05, '5 %'],
      [1, '100 %'],
      [0, '0 %'],
    ],
  ],
  [
    'points',
    [
      [-0.4, '\u221240 %'],
      [0.051, '+5.1 %'],
    ],
  ],
  [
    'count',
    [
      [12, '12'],
      [1234, '1\u202f234'],
    ],
  ],
  ['ms', [[55.3, '55 ms']]],
  [
    'p',
    [
      [0.0004, 'below 0.001'],
      [0.0312, '0.031'],
    ],
  ],
  [
    'other',
    [
      [1234.5, '1\u202f235'],
      [5.6789, '5.68'],
    ],
  ],
])('a %s is written with three significant digits at most, and without zeros at the end', (unit, cases) => {
  expect(cases.map(([value]) => formatValue(value, unit))).toEqual(cases.map(([, text]) => text));
});

it('a time is written in the unit that one can grasp', () => {
  expect([0, 0.35, 5, 99, 119, 7200, 200_000].map(duration)).toEqual([
    '0 s',
    '350 ms',
    '5 s',
    '99 s',
    '2 min',
    '2 h',
    '2 d',
  ]);
});
