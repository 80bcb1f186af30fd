import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { holm } from '../../../../src/math/stats/paired-tests.ts';

const pValues = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 });

describe('holm', () => {
  it('follows the definition on a small example', () => {
    const p = [0.04, 0.01, 0.03, 0.005];
    expect(holm(p)).toEqual([0.06, 0.03, 0.06, 0.02]);
  });

  it('keeps the order of the p-values, and never lowers one', () => {
    fc.assert(
      fc.property(pValues, (p) => {
        const stepDown = holm(p);
        for (const [i, value] of p.entries()) {
          expect(stepDown[i]).toBeGreaterThanOrEqual(value - 1e-15);
          expect(stepDown[i]).toBeLessThanOrEqual(1);
          for (const [j, other] of p.entries()) {
            if (value >= other) continue;
            expect(stepDown[i]).toBeLessThanOrEqual(stepDown[j] ?? 0);
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  it('does not depend on the order of the p-values', () => {
    fc.assert(
      fc.property(pValues, (p) => {
        expect(holm(p.toReversed())).toEqual(holm(p).toReversed());
      }),
    );
  });

  it('does not change a single p-value or an empty list', () => {
    expect(holm([0.3])).toEqual([0.3]);
    expect(holm([])).toEqual([]);
  });
});
