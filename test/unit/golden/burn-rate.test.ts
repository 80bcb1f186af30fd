import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { burnRates } from '../../../src/golden/objectives.ts';

describe('the burn rates of an objective', () => {
  it('are those of the SRE Workbook for 30 days', () => {
    expect(burnRates(0.99, 30)).toEqual({
      possible: [
        { factor: 14.4, short: '5m', long: '1h', severity: 'critical' },
        { factor: 6, short: '30m', long: '6h', severity: 'critical' },
        { factor: 3, short: '2h', long: '1d', severity: 'warning' },
        { factor: 1, short: '6h', long: '3d', severity: 'warning' },
      ],
      refused: [],
    });
  });

  it('leave out those that an objective of 90 % makes impossible, and say why', () => {
    const { possible, refused } = burnRates(0.9, 30);
    expect(possible.map(({ factor }) => factor)).toEqual([6, 3, 1]);
    expect(refused).toEqual([
      'An objective of 0.9 allows no burn rate of 14.4 over 1h: it would take 144 % of bad queries, and there are never more than 100 %. It takes an objective above 93.1 %.',
    ]);
  });

  it('can all fire, and those that are refused cannot', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 0.9999, noNaN: true }),
        fc.integer({ min: 7, max: 90 }),
        (target, days) => {
          const { possible, refused } = burnRates(target, days);
          expect(possible.length + refused.length).toBe(4);
          for (const { factor } of possible) expect(factor * (1 - target)).toBeLessThan(1);
        },
      ),
    );
  });
});
