import { expect, it } from 'vitest';
import type { ComparedSide } from '../../../../../src/golden/rules/compare-golden-runs.ts';
import type { QueryAnswer } from '../../../../../src/golden/rules/run.ts';
import { scoreLoss } from '../../../../../src/incidents/diagnosis/rules/changed-answers.ts';
import { aFailedAnswer, anAnswer, aRunSettings, documents, goldenQueries } from '../../../../support/builders.ts';

const tagged = (count: number) =>
  goldenQueries(count).map((query, index) => ({ ...query, tags: { tenant: index < count / 4 ? 'acme' : 'other' } }));
const queries = tagged(40);
const key = { measure: 'ndcg', k: 10 } as const;

const side = (answer: (index: number) => Partial<QueryAnswer>): ComparedSide => ({
  queries,
  answers: queries.map(({ id: queryId }, index) => anAnswer({ queryId, ...answer(index) })),
  settings: aRunSettings({ segmentKeys: ['tenant'] }),
});
const intact = { stale: new Set<string>(), lost: new Set<string>() };
const right = side((index) => ({ documents: documents(`d${index + 1}`) }));

it('attributes a drop to failures, timeouts, empty results, stale judgments, lost documents and changed results', () => {
  const now = side((index) => {
    if (index < 4) return { ...aFailedAnswer(), queryId: `q${index + 1}` };
    if (index < 6) return { outcome: 'timeout', documents: [] };
    if (index < 12) return { outcome: 'empty', documents: [] };
    return { documents: documents(index < 20 ? 'x' : `d${index + 1}`) };
  });
  const loss = scoreLoss(right, now, { stale: new Set(['q20']), lost: new Set(['q19']) }, key);
  expect(loss).toMatchObject({ measure: 'ndcg@10', before: 1, now: 0.5 });
  const rounded = Object.fromEntries(Object.entries(loss?.parts ?? {}).map(([part, size]) => [part, +size.toFixed(6)]));
  expect(rounded).toEqual({
    failed: 0.1,
    timed_out: 0.05,
    empty: 0.15,
    stale: 0.025,
    unshared: 0,
    answers: 0.025,
    present: 0.15,
  });
});

it('separates the effect of different queries from the loss of shared queries', () => {
  const harder = { ...right, queries: [...queries.slice(0, 30), ...tagged(50).slice(40)] };
  const loss = scoreLoss(right, harder, intact, key);
  expect(loss?.now).toBeCloseTo(0.75, 12);
  expect(loss?.parts.unshared).toBeCloseTo(0.25, 12);
  expect(loss?.parts.answers).toBe(0);
});

it('compares the segment that lost most with all other queries', () => {
  const now = side((index) => ({ documents: documents(index < 10 ? 'x' : `d${index + 1}`) }));
  expect(scoreLoss(right, now, intact, key)?.segment).toMatchObject({
    name: 'of tenant=acme',
    n: 10,
    inside: 1,
    outside: 0,
    searched: 2,
  });
});

/**
 * Returns the reported probability that the largest drop among `segments` segments of 10 queries each is due to chance.
 */
function chanceOf(segments: number, hurt: number): number {
  const all = goldenQueries(10 * segments).map((query, index) => ({
    ...query,
    tags: { tenant: `t${Math.floor(index / 10)}` },
  }));
  const answered = (isHurt: (index: number) => boolean): ComparedSide => ({
    queries: all,
    answers: all.map(({ id: queryId }, index) =>
      anAnswer({ queryId, documents: documents(isHurt(index) ? 'x' : `d${index + 1}`) }),
    ),
    settings: aRunSettings({ segmentKeys: ['tenant'] }),
  });
  const before = answered(() => false);
  const now = answered((index) => index < hurt);
  return scoreLoss(before, now, intact, key)?.segment?.chance ?? Number.NaN;
}

it('treats two affected queries of one tenant out of twelve as chance, and five as a fault of the tenant', () => {
  // The probability is 12 * C(10, 2) / C(120, 2).
  expect(chanceOf(12, 2)).toBeCloseTo(0.0756, 4);
  expect(chanceOf(12, 5)).toBeLessThan(1e-4);
});
