import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GoldenQuery } from '../../../../src/core/model.ts';
import { chooseSentinel, evaluateSentinel } from '../../../../src/golden/rules/sentinel.ts';
import { aGoldenQuery, aRunSettings, goldenQueries } from '../../../support/builders.ts';
import { aDifference } from '../../../support/golden-runs.ts';

const answered = { ok: 50, empty: 0, error: 0, timeout: 0 };
const fall = aDifference({ difference: -0.2, p: 0.001, ciLow: -0.3, ciHigh: -0.1 });

describe('a sentinel run', () => {
  it('passes when nothing changed', () => {
    const same = aDifference({ difference: 0, p: 1, ciLow: 0, ciHigh: 0, wins: 0, losses: 0 });
    expect(evaluateSentinel(answered, 0.05, [same], 0)).toEqual({ kind: 'passing' });
  });

  it('fails if nDCG dropped significantly by 0.05 or more, with the drop as the reason', () => {
    expect(evaluateSentinel(answered, 0.05, [fall], 0)).toEqual({
      kind: 'failed',
      cause: 'scores',
      reason: 'ndcg@10 on the sentinel queries dropped by 0.2 since the last full run (p = 0.001, 40 queries).',
    });
  });

  it('passes for a small drop, and for a large one that may be chance', () => {
    expect(evaluateSentinel(answered, 0.05, [{ ...fall, difference: -0.04 }], 0).kind).toBe('passing');
    expect(evaluateSentinel(answered, 0.05, [{ ...fall, p: 0.02 }], 0).kind).toBe('passing');
  });

  it('is evaluated only by nDCG over all queries at the largest cutoff', () => {
    const others = [
      { ...fall, key: { measure: 'mrr', k: 10 } as const },
      { ...fall, segment: 'language=de' },
      { ...fall, key: { measure: 'ndcg', k: 1 } as const },
    ];
    const same = aDifference({ difference: 0, p: 1, ciLow: 0, ciHigh: 0, wins: 0, losses: 0 });
    expect(evaluateSentinel(answered, 0.05, [...others, same], 0).kind).toBe('passing');
  });

  it('fails when more queries failed than the error budget allows, even without a comparison', () => {
    const outcomes = { ok: 40, empty: 0, error: 5, timeout: 5 };
    expect(evaluateSentinel(outcomes, 0.05, null, 0)).toEqual({
      kind: 'failed',
      cause: 'failures',
      reason: '20 % of the sentinel queries failed, above the error budget of 5 %.',
    });
    expect(evaluateSentinel(outcomes, 0.2, null, 0)).toEqual({ kind: 'passing' });
  });

  it('fails when one forbidden document was returned, however good the scores are', () => {
    expect(evaluateSentinel(answered, 0.05, [], 1)).toEqual({
      kind: 'failed',
      cause: 'forbidden',
      reason: '1 forbidden document returned, confirmed by a second request.',
    });
  });
});

function choose(
  history: readonly ArrayLike<number>[],
  count: number,
  queries: readonly GoldenQuery[] = goldenQueries(4),
  stale: ReadonlySet<string> = new Set(),
): string[] {
  return chooseSentinel(queries, history, stale, aRunSettings({ segmentKeys: ['language'] }), count);
}

describe('the queries of a sentinel', () => {
  it('are those whose scores can drop most', () => {
    expect(choose([[0.2, 1, 0, 0.8]], 2)).toEqual(['q2', 'q4']);
  });

  it('are preferably steady queries, not queries whose score varies between runs', () => {
    const history = [
      [1, 0.7, 0.2, 0],
      [0.2, 0.7, 1, 0],
    ];
    expect(choose(history, 1)).toEqual(['q2']);
  });

  it('include queries that never found anything only if there are not enough others', () => {
    const history = [[0, 0.01, 0, 0]];
    expect(choose(history, 1)).toEqual(['q2']);
    expect(choose(history, 4)).toHaveLength(4);
  });

  it('omit queries with stale labels', () => {
    expect(choose([[1, 1, 1, 1]], 4, goldenQueries(4), new Set(['q1', 'q2', 'q3']))).toEqual(['q4']);
  });

  it('come from every segment, however small it is and however low it scores', () => {
    const tagged = (id: string, language: string) => aGoldenQuery({ id, tags: { language } });
    const queries = [
      ...Array.from({ length: 20 }, (_, i) => tagged(`en-${i}`, 'en')),
      tagged('de-1', 'de'),
      tagged('fr-1', 'fr'),
      aGoldenQuery({ id: 'none' }),
    ];
    const history = [queries.map(({ id }) => (id.startsWith('en') ? 1 : 0.3))];
    const chosen = choose(history, 6, queries);
    expect(chosen).toEqual(expect.arrayContaining(['de-1', 'fr-1', 'none']));
    expect(chosen.filter((id) => id.startsWith('en'))).toHaveLength(3);
  });

  it('are as many as requested, each once, in the order of the set, and the same every time', () => {
    const anyCase = fc.integer({ min: 1, max: 40 }).chain((size) =>
      fc.record({
        scores: fc.array(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: size, maxLength: size }), {
          minLength: 1,
          maxLength: 4,
        }),
        languages: fc.array(fc.constantFrom('en', 'de', 'fr'), { minLength: size, maxLength: size }),
        count: fc.integer({ min: 1, max: 50 }),
      }),
    );
    fc.assert(
      fc.property(anyCase, ({ scores, languages, count }) => {
        const queries = goldenQueries(languages.length).map((query, row) => ({
          ...query,
          tags: { language: languages[row] ?? '' },
        }));
        const chosen = choose(scores, count, queries);
        expect(chosen).toHaveLength(Math.min(count, queries.length));
        expect(chosen).toEqual(queries.map(({ id }) => id).filter((id) => chosen.includes(id)));
        expect(choose(scores, count, queries)).toEqual(chosen);
      }),
    );
  });

  it('are spread over the set if all scores are perfect', () => {
    const queries = goldenQueries(100);
    const chosen = choose([queries.map(() => 1)], 10, queries);
    expect(chosen).not.toEqual(queries.slice(0, 10).map(({ id }) => id));
  });
});
