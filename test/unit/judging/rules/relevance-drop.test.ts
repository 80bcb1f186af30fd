import { describe, expect, it } from 'vitest';
import {
  dropState,
  humanDrop,
  type JudgedDay,
  type JudgedQuery,
  largestDrop,
} from '../../../../src/judging/rules/judged-mean.ts';

const DAY_MS = 86_400_000;

/** Days of 200 queries: first `usual` days near 0.8, then one day for each value in `last`. */
function days(usual: number, last: readonly number[], apart = 0.01): JudgedDay[] {
  const before = Array.from({ length: usual }, (_, i) => 0.8 + (i % 2 === 0 ? apart : -apart));
  return [...before, ...last].map((value, i) => ({ start: new Date(i * DAY_MS), value, standardError: 0.02, n: 200 }));
}

describe('a drop of judged relevance', () => {
  it('is unknown with less than two weeks of baseline days', () => {
    expect(largestDrop(days(14, []))).toBeNull();
    expect(largestDrop(days(14, [0.8]))).not.toBeNull();
  });

  it('is within chance while days stay the same', () => {
    const drop = largestDrop(days(30, [0.79, 0.8]));
    expect(drop?.low).toBeLessThan(0);
    expect(dropState(drop ?? never(), null)).toBe('none');
  });

  it('is detected after three days that are 0.07 lower, and starts on the first of them', () => {
    const drop = largestDrop(days(30, [0.73, 0.73, 0.73]));
    expect(drop).toMatchObject({ days: 3, n: 600, since: new Date(30 * DAY_MS) });
    expect(drop?.drop).toBeCloseTo(0.07, 9);
    expect(dropState(drop ?? never(), null)).toBe('detected');
  });

  it('is not detected when days always vary as much', () => {
    expect(largestDrop(days(30, [0.73, 0.73, 0.73], 0.06))?.low).toBeLessThan(0);
  });

  it('is not reported while it is too small to matter, however certain', () => {
    const sure = days(
      40,
      Array.from({ length: 10 }, () => 0.785),
    ).map((one) => ({ ...one, standardError: 0.001 }));
    const drop = largestDrop(sure.map((one, i) => ({ ...one, value: i < 40 ? 0.8 : one.value })));
    expect(drop?.low).toBeGreaterThan(0);
    expect(dropState(drop ?? never(), null)).toBe('none');
  });
});

describe('human judgments of a drop', () => {
  const graded = (from: number, count: number, people: (i: number) => number | null): JudgedQuery[] =>
    Array.from({ length: count }, (_, i) => ({
      cluster: from + i,
      modelProbability: 0.1,
      humanProbability: 0.01,
      model: (i % 5) / 5,
      people: people(i),
    }));

  it('need 8 graded sessions before the drop and 8 since', () => {
    const before = graded(0, 100, (i) => (i < 30 ? 0.8 + (i % 3) / 10 : null));
    expect(
      humanDrop(
        before,
        graded(200, 60, (i) => (i < 7 ? 0.5 : null)),
      ),
    ).toBeNull();
    expect(
      humanDrop(
        before,
        graded(200, 60, (i) => (i < 8 ? 0.5 : null)),
      ),
    ).not.toBeNull();
  });

  it('estimate the difference over all traffic, with an interval', () => {
    const before = graded(0, 100, (i) => (i < 30 ? 0.8 + (i % 3) / 10 : null));
    const after = graded(200, 60, (i) => (i < 20 ? 0.6 + (i % 3) / 10 : null));
    const drop = humanDrop(before, after);
    expect(drop?.drop).toBeGreaterThan(0.15);
    expect(drop?.low).toBeGreaterThan(0.1);
    expect(drop?.high).toBeLessThan(0.3);
  });

  const drop = { drop: 0.08, low: 0.02, high: 0.14, since: new Date(0), days: 3, n: 600 };

  it.each([
    ['people have graded too little', null, 3, 'detected'],
    ['people confirm the drop', { low: 0.01, high: 0.2, sessions: 8 }, 3, 'confirmed'],
    ['people see less than half of the drop', { low: -0.05, high: 0.03, sessions: 40 }, 3, 'rejected'],
    ['people graded too few sessions to reject the drop', { low: -0.05, high: 0.03, sessions: 39 }, 3, 'detected'],
    ['human judgments are inconclusive', { low: -0.05, high: 0.1, sessions: 60 }, 3, 'detected'],
    ['people exclude the detected drop after ten days', { low: -0.05, high: 0.07, sessions: 60 }, 10, 'rejected'],
    ['human judgments are inconclusive after ten days', { low: -0.05, high: 0.09, sessions: 60 }, 10, 'detected'],
  ] as const)('if %s (%o on day %i), make the drop %s', (_, people, since, state) => {
    expect(dropState({ ...drop, days: since }, people && { drop: 0.08, ...people })).toBe(state);
  });
});

function never(): never {
  throw new Error('a drop was expected');
}
