import { array, assert, double, integer, property, record } from 'fast-check';
import { expect, it } from 'vitest';
import { sessionRatio } from '../../../../src/live/rules/feedback/click-rates.ts';
import { addSums, ratioOf, sumSessions } from '../../../../src/math/stats/session-sums.ts';

it('the ratio and the variance of combined sums equal those of the sessions', () => {
  const term = record({
    cluster: integer({ min: 0, max: 20 }),
    x: double({ min: -1, max: 1, noNaN: true }),
    y: double({ min: 0.1, max: 2, noNaN: true }),
  });
  assert(
    property(array(term, { minLength: 3, maxLength: 60 }), integer({ min: 0, max: 20 }), (terms, border) => {
      const [some, rest] = [terms.filter((one) => one.cluster < border), terms.filter((one) => one.cluster >= border)];
      const summed = ratioOf(addSums([sumSessions(some), sumSessions(rest)]));
      const whole = sessionRatio(
        terms.map(({ cluster, x: numerator, y: denominator }) => ({ cluster, probability: 1, numerator, denominator })),
      );
      if (whole.kind !== 'ratio' || summed === null) return;
      expect(summed.value).toBeCloseTo(whole.value, 9);
      if (summed.variance > 1e-6) {
        expect(summed.variance).toBeCloseTo(whole.variance, 9);
        expect(summed.degreesOfFreedom).toBeCloseTo(whole.degreesOfFreedom, 3);
      }
    }),
  );
});
