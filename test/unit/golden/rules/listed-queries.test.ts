import { describe, expect, it } from 'vitest';
import type { ComparedSide } from '../../../../src/golden/rules/compare-golden-runs.ts';
import { changedQueries, listQueries, type QueryView } from '../../../../src/golden/rules/listed-queries.ts';
import type { QueryAnswer } from '../../../../src/golden/rules/run.ts';
import { aFailedAnswer, aGoldenQuery, anAnswer, aRunSettings, documents } from '../../../support/builders.ts';

const ids = ['steady', 'lost', 'fell', 'rose', 'stale', 'emptied', 'failed', 'pending'];
const queries = ids.map((id) =>
  aGoldenQuery({ id, text: `What is ${id}?`, judgments: [{ documentId: 'd', grade: 1 }] }),
);

/** By default, every query returns `d` at the first rank; null in `answers` means that a query has no result yet. */
function aSide(answers: Readonly<Record<string, readonly string[] | QueryAnswer | null>>): ComparedSide {
  return {
    queries,
    answers: ids.flatMap((queryId): QueryAnswer[] => {
      const answered = answers[queryId];
      if (answered === null) return [];
      if (answered !== undefined && 'queryId' in answered) return [answered];
      const outcome = answered?.length === 0 ? 'empty' : 'ok';
      return [anAnswer({ queryId, outcome, documents: documents(...(answered ?? ['d'])) })];
    }),
    settings: aRunSettings(),
  };
}

const before = aSide({ rose: ['x', 'd'] });
const run = aSide({
  lost: ['x'],
  fell: ['x', 'd'],
  stale: [],
  emptied: [],
  failed: aFailedAnswer({ queryId: 'failed' }),
  pending: null,
});

function list(view: QueryView, against: ComparedSide | null = before) {
  const staleDocuments = new Map([['stale', 2]]);
  return listQueries(run, against, staleDocuments, view, { measure: 'mrr', k: 10 });
}

const rows = (view: QueryView) => list(view).map(({ query, score }) => [query.id, score]);

describe('the queries of a run', () => {
  it('are sorted by score from the lowest, ties by id, and queries without an answer score 0', () => {
    expect(rows('worst')).toEqual([
      ['emptied', 0],
      ['failed', 0],
      ['lost', 0],
      ['pending', 0],
      ['stale', 0],
      ['fell', 0.5],
      ['rose', 1],
      ['steady', 1],
    ]);
  });

  it('include their previous scores, unless their labels are stale', () => {
    const answered = new Map(list('worst').map(({ query, before: old, outcome }) => [query.id, [old, outcome]]));
    expect(Object.fromEntries(answered)).toMatchObject({
      rose: [0.5, 'ok'],
      steady: [1, 'ok'],
      stale: [null, 'empty'],
      pending: [1, null],
    });
    expect(list('worst', null).every(({ before: old }) => old === null)).toBe(true);
  });

  it('that regressed are sorted by the size of their drop', () => {
    expect(rows('regressed')).toEqual([
      ['emptied', 0],
      ['failed', 0],
      ['lost', 0],
      ['pending', 0],
      ['fell', 0.5],
    ]);
    expect(list('regressed', null)).toEqual([]);
  });

  it('are not compared to another query with the same id', () => {
    const other = {
      ...before,
      queries: queries.map((query) => (query.id === 'lost' ? { ...query, text: 'Another?' } : query)),
    };
    const found = list('worst', other).find(({ query }) => query.id === 'lost');
    expect(found).toMatchObject({ score: 0, before: null });
    expect(list('regressed', other).map(({ query }) => query.id)).not.toContain('lost');
  });

  it('are filtered by outcome and by stale labels', () => {
    expect(rows('newly_empty').map(([id]) => id)).toEqual(['stale', 'emptied', 'failed']);
    expect(rows('failed').map(([id]) => id)).toEqual(['failed']);
    expect(list('stale')).toMatchObject([{ query: { id: 'stale' }, staleDocuments: 2 }]);
    expect(list('newly_empty', null)).toEqual([]);
  });
});

describe('the queries that changed between two runs', () => {
  it('are sorted from the most regressed, exclude stale labels, and are marked if they became empty', () => {
    const earlier = aSide({ rose: ['x', 'd'], emptied: ['x'] });
    const after = aSide({ lost: ['x'], fell: ['x', 'd'], stale: ['x'], emptied: [] });
    const changed = changedQueries(earlier, after, new Set(['stale']), { measure: 'mrr', k: 10 });
    expect(changed.map(({ queryId, difference, isNewlyEmpty }) => [queryId, difference, isNewlyEmpty])).toEqual([
      ['lost', -1, false],
      ['fell', -0.5, false],
      ['emptied', 0, true],
      ['rose', 0.5, false],
    ]);
    expect(changed[1]).toMatchObject({ text: 'What is fell?', baseline: 1, candidate: 0.5 });
  });

  it('are an empty list for equal runs', () => {
    expect(changedQueries(aSide({}), aSide({}), new Set(), { measure: 'ndcg', k: 10 })).toEqual([]);
  });
});
