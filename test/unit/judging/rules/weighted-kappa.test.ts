import { readFileSync } from 'node:fs';
import { array, assert, constantFrom, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createWorld, drawFrom, noiseFor } from '../../../../bench/judging/world.ts';
import { randomNumbers } from '../../../../bench/random-numbers.ts';
import {
  agreementOf,
  type GradedPair,
  MIN_AGREEMENT_SESSIONS,
  weightedKappa,
} from '../../../../src/judging/rules/agreement.ts';

const { kappa: cases } = JSON.parse(readFileSync('test/fixtures/conformance/judging/estimator.json', 'utf8')) as {
  kappa: {
    input: { a: number[]; b: number[]; weights: number[] };
    expected: { quadratic: number; quadratic_weighted: number };
  }[];
};

const grade = integer({ min: 0, max: 3 });
const pairs = array(record({ cluster: grade, weight: constantFrom(1, 2, 8), first: grade, second: grade }), {
  minLength: 1,
  maxLength: 30,
});

describe('weighted kappa', () => {
  it.each(cases)('equals the reference implementation', ({ input: { a, b, weights }, expected }) => {
    const paired = (weight: (i: number) => number) =>
      weightedKappa(a.map((first, i) => ({ cluster: i, weight: weight(i), first, second: b[i] ?? 0 })));
    expect(Math.abs((paired(() => 1) ?? 0) - expected.quadratic)).toBeLessThan(1e-9);
    expect(Math.abs((paired((i) => weights[i] ?? 0) ?? 0) - expected.quadratic_weighted)).toBeLessThan(1e-9);
  });

  it('is at most 1, and symmetric in the two graders', () => {
    assert(
      property(pairs, (graded) => {
        const kappa = weightedKappa(graded);
        const swapped = weightedKappa(graded.map((one) => ({ ...one, first: one.second, second: one.first })));
        expect(swapped === null).toBe(kappa === null);
        expect(swapped ?? 0).toBeCloseTo(kappa ?? 0, 9);
        expect(kappa ?? 0).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('is undefined if both graders always gave the same grade', () => {
    expect(weightedKappa([{ cluster: 1, weight: 1, first: 2, second: 2 }])).toBeNull();
  });
});

describe('agreement', () => {
  it('has an interval around kappa', () => {
    assert(
      property(pairs, (graded) => {
        const found = agreementOf(graded);
        if (found === null) return;
        expect(found.low).toBeLessThanOrEqual(found.kappa);
        expect(found.high).toBeGreaterThanOrEqual(found.kappa);
        expect(found.low).toBeGreaterThanOrEqual(-1);
        expect(found.high).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('of a good judge is rarely found too low once enough sessions are graded', () => {
    const random = randomNumbers(4);
    const judge = { bias: 0, kappa: 0.6 };
    const world = createWorld({ bias: 0, noise: noiseFor(judge, random) }, 4000, random);
    // Each session has about 2.6 selected queries.
    const people = 2.6 * MIN_AGREEMENT_SESSIONS;
    const lows = Array.from({ length: 60 }, () =>
      agreementOf(drawFrom(world, { people, model: 10 * people }, random).pairs()),
    );
    expect(lows.filter((one) => one !== null && one.low < 0.4).length).toBeLessThanOrEqual(3);
  });

  it('on a few identical grades is not certain', () => {
    const graded = Array.from({ length: 10 }, (_, i): GradedPair => {
      return { cluster: i, weight: 1, first: i % 4, second: i % 4 };
    });
    const found = agreementOf(graded);
    expect(found?.kappa).toBe(1);
    expect(found?.low).toBeLessThan(0.99);
  });

  it('is null for one session', () => {
    expect(agreementOf([0, 1].map((grade) => ({ cluster: 1, weight: 1, first: grade, second: grade })))).toBeNull();
  });
});
