import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type MeasuredQuery, measuredQueries } from '../../../../src/density/rules/query-score.ts';
import {
  detectorScores,
  groupRepeats,
  numberSessions,
  sessionMeans,
  surpriseTotal,
} from '../../../../src/density/rules/sessions.ts';
import { matrixOf, rowLengths } from '../../../../src/math/vector/matrix.ts';

const angle = (degrees: number): number[] => [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];

function query(id: string, session: string | null, row: number | null): MeasuredQuery {
  return { id, session, score: 0.5, row, occurredAt: new Date(0) };
}

describe('sessions without a name', () => {
  // A cosine of 0.995 is an angle of 5.7 degrees.
  it('are groups of nearly equal queries, which may be linked through other queries', () => {
    const vectors = matrixOf([0, 90, 5, 96, 10, 200].map(angle));
    expect([...groupRepeats(vectors, [0, 1, 2, 3, 4, 5])]).toEqual([0, 1, 0, 3, 0, 5]);
  });

  it('do not depend on the length of the vectors or the order of the queries', () => {
    const degrees = fc.array(fc.integer({ min: 0, max: 359 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(degrees, (given) => {
        const rows = given.map((_, i) => i);
        const groups = groupRepeats(matrixOf(given.map(angle)), rows);
        const longer = given.map((degree) => angle(degree).map((value) => value * 8));
        expect(groupRepeats(matrixOf(longer), rows)).toEqual(groups);
        const backwards = groupRepeats(matrixOf(given.toReversed().map(angle)), rows).toReversed();
        for (const i of rows) {
          for (const j of rows) expect(backwards[i] === backwards[j]).toBe(groups[i] === groups[j]);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('combine a repeating bot into one session, next to the named sessions', () => {
    const vectors = matrixOf([angle(0), angle(90), angle(0.1), angle(0)]);
    const numbers = numberSessions(
      [
        query('a', null, 0),
        query('b', 'like 0', 1),
        query('c', null, 2),
        query('d', 'like 0', 3),
        query('e', null, null),
        query('f', null, null),
      ],
      vectors,
    );
    expect([...numbers]).toEqual([0, 1, 0, 1, 2, 3]);
  });
});

describe('measuredQueries', () => {
  it('drops queries that are not measurable, counts the reasons, and keeps queries without a vector', () => {
    const vectors = matrixOf([
      [1, 2],
      [0, 0],
      [Number.NaN, 1],
      [Number.POSITIVE_INFINITY, 1],
    ]);
    const { measured, dropped } = measuredQueries(
      [
        { ...query('good', null, 0) },
        { ...query('no score', null, 0), score: null },
        { ...query('NaN score', null, 0), score: Number.NaN },
        { ...query('zero', null, 1) },
        { ...query('NaN', null, 2) },
        { ...query('infinite', null, 3) },
        { ...query('no vector', null, null) },
      ],
      rowLengths(vectors),
    );
    expect(measured.map(({ id }) => id)).toEqual(['good', 'no vector']);
    expect(dropped).toEqual({ notMeasurable: 2, notFiniteVector: 2, zeroVector: 1 });
  });
});

describe('sessionMeans', () => {
  it('averages each session, and each session within a region', () => {
    const means = sessionMeans(Float64Array.of(1, 3, 2, 4), [0, 1, 0, -1], [5, 5, 6, 6]);
    expect([...means.all]).toEqual([2, 3]);
    expect([...means.regions].map(([region, own]) => [region, [...own]])).toEqual([
      [0, [1, 2]],
      [1, [3]],
    ]);
    expect(surpriseTotal(means.all)).toEqual({ sessions: 2, sumX: 5 });
  });
});

describe('detectorScores', () => {
  it('maps every possible mean matched surprise linearly into [0, 1]', () => {
    const most = 0.99 + Math.log(100) + 1;
    const means = { all: Float64Array.of(0.99 - 3, most, (0.99 - 3 + most) / 2, 99, -99), regions: new Map() };
    const [low, high, between, above, below] = detectorScores(means);
    expect(low).toBeCloseTo(0, 12);
    expect(high).toBeCloseTo(1, 12);
    expect(between).toBeCloseTo(0.5, 12);
    expect([above, below]).toEqual([1, 0]);
  });
});
