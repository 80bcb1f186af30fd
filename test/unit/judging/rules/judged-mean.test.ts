import { readFileSync } from 'node:fs';
import { array, assert, double, integer, option, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type JudgedMean,
  type JudgedQuery,
  judgedMean,
  scoreBounds,
  studentBounds,
} from '../../../../src/judging/rules/judged-mean.ts';

interface Case {
  name: string;
  input: {
    kept: number[];
    graded_by_model: number[];
    graded_by_people: number[];
    model: number[];
    people: (number | null)[];
    session: number[];
  };
  expected: Record<'human_only' | 'model_only' | 'lambda' | 'estimate' | 'se' | 'df' | 'low' | 'high', number>;
}

const { cases } = JSON.parse(readFileSync('test/fixtures/conformance/judging/estimator.json', 'utf8')) as {
  cases: Case[];
};

function queriesOf({ kept, graded_by_model, graded_by_people, model, people, session }: Case['input']): JudgedQuery[] {
  return kept.map((pi, i) => ({
    cluster: session[i] ?? -1,
    modelProbability: pi * (graded_by_model[i] ?? 0),
    humanProbability: pi * (graded_by_model[i] ?? 0) * (graded_by_people[i] ?? 0),
    model: model[i] ?? null,
    people: people[i] ?? null,
  }));
}

const score = integer({ min: 0, max: 16 }).map((part) => part / 16);
const traffic = array(
  record({
    cluster: integer({ min: 0, max: 12 }),
    modelProbability: double({ min: 0.05, max: 1, noNaN: true }),
    share: double({ min: 0.1, max: 1, noNaN: true }),
    model: option(score),
    people: option(score),
  }),
  { minLength: 2, maxLength: 40 },
).map((queries) =>
  queries.map(({ share, ...query }): JudgedQuery => ({ ...query, humanProbability: query.modelProbability * share })),
);

describe('judgedMean', () => {
  it.each(cases)('equals the reference implementation: $name', ({ input, expected }) => {
    const found = judgedMean(queriesOf(input));
    const close = (value: number | null | undefined, wanted: number): void =>
      expect(Math.abs((value ?? Number.NaN) - wanted)).toBeLessThan(1e-9);
    close(found?.humanOnly, expected.human_only);
    close(found?.modelOnly, expected.model_only);
    close(found?.lambda, expected.lambda);
    close(found?.value, expected.estimate);
    close(found?.standardError, expected.se);
    close(found?.degreesOfFreedom, expected.df);
    const { low, high } = studentBounds(found as JudgedMean);
    close(low, expected.low);
    close(high, expected.high);
  });

  it('equals the human mean when the model graded nothing', () => {
    assert(
      property(traffic, (queries) => {
        const found = judgedMean(queries.map((query) => ({ ...query, model: null })));
        if (found === null) return;
        expect([found.lambda, found.modelOnly]).toEqual([0, null]);
        expect(found.value).toBe(found.humanOnly);
      }),
    );
  });

  it('does not depend on the scale of the probabilities', () => {
    assert(
      property(traffic, (queries) => {
        const halved = queries.map((query) => ({
          ...query,
          modelProbability: query.modelProbability / 2,
          humanProbability: query.humanProbability / 2,
        }));
        const [one, other] = [judgedMean(queries), judgedMean(halved)];
        expect(other === null).toBe(one === null);
        if (one === null || other === null) return;
        expect(other.value).toBeCloseTo(one.value, 9);
        expect(other.standardError).toBeCloseTo(one.standardError, 9);
      }),
    );
  });

  it("has an interval in [0, 1] around the value, never narrower than Student's", () => {
    assert(
      property(traffic, (queries) => {
        const found = judgedMean(queries);
        if (found === null) return;
        const [wide, student] = [scoreBounds(found), studentBounds(found)];
        expect(wide.low).toBeGreaterThanOrEqual(0);
        expect(wide.high).toBeLessThanOrEqual(1);
        expect(wide.low).toBeLessThanOrEqual(Math.min(1, Math.max(0, found.value)));
        expect(wide.high).toBeGreaterThanOrEqual(Math.min(1, Math.max(0, found.value)));
        expect(wide.low).toBeLessThanOrEqual(Math.max(0, student.low));
        expect(wide.high).toBeGreaterThanOrEqual(Math.min(1, student.high));
      }),
    );
  });

  it('removes a constant bias of the model', () => {
    const queries = Array.from({ length: 200 }, (_, i): JudgedQuery => {
      const truth = ((i * 37) % 100) / 125;
      const people = i % 10 === 0 ? truth : null;
      return { cluster: i, modelProbability: 0.5, humanProbability: 0.05, model: truth + 0.2, people };
    });
    const mean = queries.reduce((sum, { model }) => sum + (model ?? 0) - 0.2, 0) / queries.length;
    const found = judgedMean(queries);
    expect(found?.lambda).toBeGreaterThan(0.9);
    expect(Math.abs((found?.value ?? 0) - mean)).toBeLessThan(0.02);
    expect(found?.modelOnly).toBeCloseTo(mean + 0.2, 9);
  });

  it('does not treat agreement on a few queries as certain', () => {
    const queries = Array.from({ length: 12 }, (_, i) => ({ cluster: i, modelProbability: 1, humanProbability: 1 }));
    const found = judgedMean(queries.map((query) => ({ ...query, model: 1, people: 1 })));
    expect(found).toMatchObject({ value: 1, standardError: 0 });
    const { low, high } = scoreBounds(found as JudgedMean);
    expect([low > 0.5, low < 0.8, high]).toEqual([true, true, 1]);
  });

  it('is null for one session, and rejects an invalid probability', () => {
    const query = { cluster: 1, modelProbability: 1, humanProbability: 1, model: 1, people: 1 };
    expect(judgedMean([query, query])).toBeNull();
    expect(() => judgedMean([{ ...query, modelProbability: 0 }])).toThrow(/must be positive, not 0/);
  });
});
