import { describe, expect, it } from 'vitest';
import type { ComparedSide } from '../../../../src/golden/rules/compare-golden-runs.ts';
import { changedQueries } from '../../../../src/golden/rules/listed-queries.ts';
import { aGoldenQuery, anAnswer, aRunSettings, documents } from '../../../support/builders.ts';

const queries = ['steady', 'lost', 'fell', 'rose', 'stale', 'emptied'].map((id) =>
  aGoldenQuery({ id, text: `What is ${id}?`, judgments: [{ documentId: 'd', grade: 1 }] }),
);

function aSide(rankings: Readonly<Record<string, readonly string[]>>): ComparedSide {
  const answers = queries.map(({ id }) =>
    anAnswer({ queryId: id, documents: documents(...(rankings[id] ?? ['d'])) }),
  );
  return { queries, answers, settings: aRunSettings() };
}

describe('the queries that changed between two runs', () => {
  it('come most regressed first, without those whose labels are stale, and tell which became empty', () => {
    const before = aSide({ rose: ['x', 'd'], emptied: ['x'] });
    const after = aSide({ lost: ['x'], fell: ['x', 'd'], stale: ['x'], emptied: [] });
    const changed = changedQueries(before, after, new Set(['stale']), { measure: 'mrr', k: 10 });
    expect(
      changed.map(({ queryId, difference, isNewlyEmpty }) => [queryId, difference, isNewlyEmpty]),
    ).toEqual([
      ['lost', -1, false],
      ['fell', -0.5, false],
      ['emptied', 0, true],
      ['rose', 0.5, false],
    ]);
    expect(changed[1]).toMatchObject({ text: 'What is fell?', baseline: 1, candidate: 0.5 });
  });

  it('are none between equal runs', () => {
    expect(changedQueries(aSide({}), aSide({}), new Set(), { measure: 'ndcg', k: 10 })).toEqual([]);
  });
});
