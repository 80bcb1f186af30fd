import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GoldenQuery } from '../../../../src/core/model.ts';
import type { QueryAnswer, RunSettings } from '../../../../src/golden/rules/run.ts';
import { measuresOf, scoreQueries, scoreRun } from '../../../../src/golden/rules/score-run.ts';
import { aFailedAnswer, aGoldenQuery, anAnswer, aRunSettings, documents } from '../../../support/builders.ts';

/** Measures of a set without steps. */
const plainMeasures = measuresOf([]);

/** Means of one segment by metric key, such as `{'ndcg@10': 0.5}`. */
function means(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  settings: RunSettings = aRunSettings(),
  segment = 'all',
): Record<string, number> {
  const { scores } = scoreRun(queries, answers, settings);
  return Object.fromEntries(
    scores.filter((score) => score.segment === segment).map(({ measure, k, mean }) => [`${measure}@${k}`, mean]),
  );
}

describe('the scores of a golden run', () => {
  it('equal those of a calculation by hand', () => {
    const queries = [
      aGoldenQuery({
        id: 'q1',
        judgments: [
          { documentId: 'd1', grade: 3 },
          { documentId: 'd2', grade: 1 },
          { documentId: 'd3', grade: 2 },
        ],
      }),
      aGoldenQuery({ id: 'q2', judgments: [{ documentId: 'd9', grade: 1 }] }),
      aGoldenQuery({ id: 'q3', judgments: [{ documentId: 'd1', grade: 1 }] }),
    ];
    const answers = [
      anAnswer({ queryId: 'q1', documents: documents('d2', 'x', 'd1') }),
      anAnswer({ queryId: 'q2', documents: documents('x', 'd9') }),
      aFailedAnswer({ queryId: 'q3' }),
    ];
    const log3 = Math.log2(3);
    const expected = {
      'hit_rate@2': (1 + 1 + 0) / 3,
      'mrr@2': (1 + 1 / 2 + 0) / 3,
      'ndcg@2': (1 / (3 + 2 / log3) + 1 / log3 + 0) / 3,
      'ndcg_exp@2': (1 / (7 + 3 / log3) + 1 / log3 + 0) / 3,
      'recall@2': (1 / 3 + 1 + 0) / 3,
      'precision@2': (1 / 2 + 1 / 2 + 0) / 3,
      'map@2': (1 / 3 + 1 / 2 + 0) / 3,
      'f1@2': (2 / 5 + 2 / 3 + 0) / 3,
      'unjudged@2': (1 / 2 + 1 / 2 + 0) / 3,
    };
    const actual = means(queries, answers, aRunSettings({ cutoffs: [2] }));
    expect(Object.keys(actual)).toEqual(Object.keys(expected));
    const differences = Object.entries(expected).map(([key, value]) => Math.abs((actual[key] ?? Number.NaN) - value));
    expect(Math.max(...differences)).toBeLessThan(1e-12);
  });

  it('include the gain measures of the settings, with bounds unless there is only one query', () => {
    const judgments = [
      { documentId: 'd1', grade: 3 },
      { documentId: 'd2', grade: 1 },
    ];
    const queries = ['q1', 'q2', 'q3'].map((id) => aGoldenQuery({ id, judgments }));
    const answers = [
      anAnswer({ queryId: 'q1', documents: documents('d2', 'x', 'd1') }),
      anAnswer({ queryId: 'q2', documents: documents('d1', 'd2') }),
      aFailedAnswer({ queryId: 'q3' }),
    ];
    const settings = aRunSettings({ cutoffs: [3], gains: ['dcg', 'cg'] });
    const { scores } = scoreRun(queries, answers, settings);
    const [dcg, cg] = scores.slice(plainMeasures.length);
    expect(dcg).toMatchObject({ measure: 'dcg', k: 3, n: 3 });
    expect(dcg?.mean).toBeCloseTo((1 + 3 / 2 + (3 + 1 / Math.log2(3)) + 0) / 3, 12);
    expect(cg).toMatchObject({ measure: 'cg', mean: 8 / 3 });
    expect(dcg?.ciHigh).toBeGreaterThan(dcg?.mean ?? Number.NaN);
    const [alone] = scoreRun(queries.slice(0, 1), answers, settings).scores.slice(plainMeasures.length);
    expect(alone).toMatchObject({ mean: 2.5, ciLow: 0, ciHigh: Number.POSITIVE_INFINITY });
  });

  it('exist for every measure at every cutoff, with n and bounds that enclose the mean', () => {
    const { scores } = scoreRun([aGoldenQuery()], [anAnswer()], aRunSettings({ cutoffs: [1, 5] }));
    expect(scores.map(({ measure, k }) => `${measure}@${k}`)).toEqual(
      plainMeasures.flatMap((m) => [`${m}@1`, `${m}@5`]),
    );
    for (const { n, mean, ciLow, ciHigh } of scores) {
      expect(n).toBe(1);
      expect(ciLow).toBeLessThanOrEqual(mean);
      expect(ciHigh).toBeGreaterThanOrEqual(mean);
    }
  });

  it.each([
    ['failed', [aFailedAnswer({ queryId: 'q2' })]],
    ['timed out', [aFailedAnswer({ queryId: 'q2', outcome: 'timeout', errorCode: null })]],
    ['was answered without a document', [anAnswer({ queryId: 'q2', outcome: 'empty', documents: [] })]],
    ['has no answer at all', []],
  ])('count a query that %s as 0 and keep it in n', (_, answers) => {
    const queries = [aGoldenQuery({ id: 'q1' }), aGoldenQuery({ id: 'q2' })];
    const { scores } = scoreRun(queries, [anAnswer({ queryId: 'q1' }), ...answers], aRunSettings({ cutoffs: [1] }));
    const ofMeasures = scores.filter(({ measure }) => measure !== 'unjudged');
    for (const { measure, mean, n } of ofMeasures) expect({ measure, mean, n }).toEqual({ measure, mean: 0.5, n: 2 });
  });

  it('count a repeated document once, at its first rank, and close the gap', () => {
    const judgments = [
      { documentId: 'd1', grade: 1 },
      { documentId: 'd2', grade: 1 },
    ];
    const twice = means(
      [aGoldenQuery({ judgments })],
      [anAnswer({ documents: documents('d1', 'd1', 'd1', 'd2') })],
      aRunSettings({ cutoffs: [2] }),
    );
    const once = means(
      [aGoldenQuery({ judgments })],
      [anAnswer({ documents: documents('d1', 'd2') })],
      aRunSettings({ cutoffs: [2] }),
    );
    expect(twice).toEqual(once);
    expect(once['recall@2']).toBe(1);
  });

  it('use the returned order, not that of the document scores', () => {
    const retrieved = [
      { id: 'x', score: 0.1 },
      { id: 'd1', score: 0.9 },
    ];
    expect(means([aGoldenQuery()], [anAnswer({ documents: retrieved })])['mrr@10']).toBe(0.5);
  });

  it('count grades below the relevance level as not relevant, but as gain of nDCG', () => {
    const queries = [aGoldenQuery({ judgments: [{ documentId: 'd1', grade: 1 }] })];
    const scores = means(queries, [anAnswer()], aRunSettings({ relevanceLevel: 2 }));
    expect(scores).toMatchObject({ 'hit_rate@10': 0, 'recall@10': 0, 'ndcg@10': 1 });
  });

  it('ignore answers to queries that are not in the set', () => {
    const answers = [anAnswer(), aFailedAnswer({ queryId: 'unknown' })];
    expect(scoreRun([aGoldenQuery()], answers, aRunSettings())).toEqual(
      scoreRun([aGoldenQuery()], [anAnswer()], aRunSettings()),
    );
  });

  it('are also computed for each segment, over its queries alone', () => {
    const queries = [
      aGoldenQuery({ id: 'q1', tags: { lang: 'en' } }),
      aGoldenQuery({ id: 'q2', tags: { lang: 'fr' } }),
    ];
    const settings = aRunSettings({ segmentKeys: ['lang'] });
    expect(means(queries, [anAnswer()], settings, 'lang=en')['mrr@10']).toBe(1);
    expect(means(queries, [anAnswer()], settings, 'lang=fr')['mrr@10']).toBe(0);
    expect(means(queries, [anAnswer()], settings)['mrr@10']).toBe(0.5);
  });

  it('report how many segments were merged', () => {
    const queries = ['a', 'b', 'c'].map((lang) => aGoldenQuery({ id: lang, tags: { lang } }));
    const { scores, segmentsOverflow } = scoreRun(queries, [], aRunSettings({ segmentKeys: ['lang'], maxSegments: 1 }));
    expect(segmentsOverflow).toBe(2);
    expect(new Set(scores.map(({ segment }) => segment))).toEqual(new Set(['all', 'lang=a', 'other']));
  });

  it('do not depend on the order of the answers', () => {
    const queries = [aGoldenQuery({ id: 'q1' }), aGoldenQuery({ id: 'q2' })];
    const answers = [anAnswer({ queryId: 'q1' }), anAnswer({ queryId: 'q2', documents: documents('x') })];
    expect(scoreRun(queries, answers.toReversed(), aRunSettings())).toEqual(scoreRun(queries, answers, aRunSettings()));
  });

  it('never rise when an answer becomes a failure, in any measure, segment or cutoff, and n stays', () => {
    fc.assert(
      fc.property(aRun, ({ queries, answers, victim }) => {
        const settings = aRunSettings({ cutoffs: [1, 3, 10], segmentKeys: ['lang'] });
        const before = scoreRun(queries, answers, settings).scores;
        const broken = answers.map((answer, index) =>
          index === victim % answers.length ? aFailedAnswer({ queryId: answer.queryId }) : answer,
        );
        const after = scoreRun(queries, broken, settings).scores;
        expect(after.map(({ n }) => n)).toEqual(before.map(({ n }) => n));
        const risen = before.filter(
          ({ measure, mean }, index) => measure !== 'unjudged' && (after[index]?.mean ?? 2) > mean,
        );
        expect(risen).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});

const aDocumentId = fc.constantFrom('d1', 'd2', 'd3', 'd4', 'd5', 'x1', 'x2');

const aRun = fc
  .record({
    sizes: fc.array(
      fc.record({
        lang: fc.constantFrom('en', 'fr'),
        judged: fc.uniqueArray(fc.record({ documentId: aDocumentId, grade: fc.nat(3) }), {
          minLength: 1,
          maxLength: 5,
          selector: (j) => j.documentId,
        }),
        retrieved: fc.array(aDocumentId, { maxLength: 8 }),
      }),
      { minLength: 1, maxLength: 9 },
    ),
    victim: fc.nat(),
  })
  .map(({ sizes, victim }) => ({
    queries: sizes.map(({ lang, judged }, index) =>
      aGoldenQuery({ id: `q${index}`, tags: { lang }, judgments: judged }),
    ),
    answers: sizes.map(({ retrieved }, index) =>
      anAnswer({ queryId: `q${index}`, documents: documents(...retrieved) }),
    ),
    victim,
  }));

it('include every query in every measure at every cutoff, and one without an answer as 0', () => {
  const queries = [
    aGoldenQuery({ id: 'q1', judgments: [{ documentId: 'a', grade: 1 }] }),
    aGoldenQuery({ id: 'q2', judgments: [{ documentId: 'b', grade: 1 }] }),
    aGoldenQuery({ id: 'q3', judgments: [{ documentId: 'c', grade: 1 }] }),
  ];
  const answers = [
    anAnswer({ queryId: 'q2', documents: documents('x', 'b') }),
    anAnswer({ queryId: 'q1', documents: documents('a') }),
    anAnswer({ queryId: 'of-another-set', documents: documents('a') }),
  ];
  const { keys, columns } = scoreQueries(queries, answers, { cutoffs: [1, 2], relevanceLevel: 1 });
  expect(keys).toHaveLength(2 * plainMeasures.length);
  const column = (measure: string, k: number) =>
    columns[keys.findIndex((key) => key.measure === measure && key.k === k)];
  expect(column('hit_rate', 1)).toEqual(Float64Array.of(1, 0, 0));
  expect(column('hit_rate', 2)).toEqual(Float64Array.of(1, 1, 0));
  expect(column('mrr', 2)).toEqual(Float64Array.of(1, 0.5, 0));
});
