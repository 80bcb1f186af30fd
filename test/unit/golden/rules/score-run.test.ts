import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GoldenQuery } from '../../../../src/core/model.ts';
import { statisticsOfCommands } from '../../../../src/golden/golden-statistics.ts';
import type { QueryAnswer, RunSettings } from '../../../../src/golden/rules/run.ts';
import { measuresOf, scoreQueries } from '../../../../src/golden/rules/score-run.ts';
import { aFailedAnswer, aGoldenQuery, anAnswer, aRunSettings, documents } from '../../../support/builders.ts';

/** Measures of a set without steps. */
const plainMeasures = measuresOf([]);

const never = new AbortController().signal;

const scoreRun = (queries: readonly GoldenQuery[], answers: readonly QueryAnswer[], settings: RunSettings) =>
  statisticsOfCommands.scoreRun(queries, answers, settings, new Set(), never);

/** Returns the mean scores of one segment, keyed by metric, such as `{'ndcg@10': 0.5}`. */
async function means(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  settings: RunSettings = aRunSettings(),
  segment = 'all',
): Promise<Record<string, number>> {
  const { scores } = await scoreRun(queries, answers, settings);
  return Object.fromEntries(
    scores.filter((score) => score.segment === segment).map(({ measure, k, mean }) => [`${measure}@${k}`, mean]),
  );
}

describe('the scores of a golden run', () => {
  it('equal those of a calculation by hand', async () => {
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
    const actual = await means(queries, answers, aRunSettings({ cutoffs: [2] }));
    expect(Object.keys(actual)).toEqual(Object.keys(expected));
    const differences = Object.entries(expected).map(([key, value]) => Math.abs((actual[key] ?? Number.NaN) - value));
    expect(Math.max(...differences)).toBeLessThan(1e-12);
  });

  it('include the configured gain measures, whose upper bound is infinite for a single query', async () => {
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
    const { scores } = await scoreRun(queries, answers, settings);
    const [dcg, cg] = scores.slice(plainMeasures.length);
    expect(dcg).toMatchObject({ measure: 'dcg', k: 3, n: 3 });
    expect(dcg?.mean).toBeCloseTo((1 + 3 / 2 + (3 + 1 / Math.log2(3)) + 0) / 3, 12);
    expect(cg).toMatchObject({ measure: 'cg', mean: 8 / 3 });
    expect(dcg?.ciHigh).toBeGreaterThan(dcg?.mean ?? Number.NaN);
    const { scores: ofOne } = await scoreRun(queries.slice(0, 1), answers, settings);
    const [alone] = ofOne.slice(plainMeasures.length);
    expect(alone).toMatchObject({ mean: 2.5, ciLow: 0, ciHigh: Number.POSITIVE_INFINITY });
  });

  it('exist for every measure at every cutoff, with n and bounds that enclose the mean', async () => {
    const { scores } = await scoreRun([aGoldenQuery()], [anAnswer()], aRunSettings({ cutoffs: [1, 5] }));
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
  ])('count a query that %s as 0 and keep it in n', async (_, answers) => {
    const queries = [aGoldenQuery({ id: 'q1' }), aGoldenQuery({ id: 'q2' })];
    const { scores } = await scoreRun(
      queries,
      [anAnswer({ queryId: 'q1' }), ...answers],
      aRunSettings({ cutoffs: [1] }),
    );
    const ofMeasures = scores.filter(({ measure }) => measure !== 'unjudged');
    for (const { measure, mean, n } of ofMeasures) expect({ measure, mean, n }).toEqual({ measure, mean: 0.5, n: 2 });
  });

  it('count a repeated document once, at its first rank, and close the gap', async () => {
    const judgments = [
      { documentId: 'd1', grade: 1 },
      { documentId: 'd2', grade: 1 },
    ];
    const twice = await means(
      [aGoldenQuery({ judgments })],
      [anAnswer({ documents: documents('d1', 'd1', 'd1', 'd2') })],
      aRunSettings({ cutoffs: [2] }),
    );
    const once = await means(
      [aGoldenQuery({ judgments })],
      [anAnswer({ documents: documents('d1', 'd2') })],
      aRunSettings({ cutoffs: [2] }),
    );
    expect(twice).toEqual(once);
    expect(once['recall@2']).toBe(1);
  });

  it('leave a rank empty if its result repeats both the id and the score of an earlier result', async () => {
    const judgments = [
      { documentId: 'd1', grade: 1 },
      { documentId: 'd2', grade: 1 },
    ];
    const copied = [
      { id: 'd1', score: 0.9 },
      { id: 'd1', score: 0.9 },
      { id: 'd2', score: 0.8 },
    ];
    const mean = await means(
      [aGoldenQuery({ judgments })],
      [anAnswer({ documents: copied })],
      aRunSettings({ cutoffs: [2] }),
    );
    expect(mean['recall@2']).toBe(0.5);
    expect(mean['precision@2']).toBe(0.5);
  });

  it('treat repeated ids without scores as chunks of one document', async () => {
    const judgments = [{ documentId: 'd2', grade: 1 }];
    const unscored = ['d1', 'd1', 'd2'].map((id) => ({ id, score: null }));
    const mean = await means(
      [aGoldenQuery({ judgments })],
      [anAnswer({ documents: unscored })],
      aRunSettings({ cutoffs: [2] }),
    );
    expect(mean['mrr@2']).toBe(0.5);
  });

  it('use the returned order, not the order of the document scores', async () => {
    const retrieved = [
      { id: 'x', score: 0.1 },
      { id: 'd1', score: 0.9 },
    ];
    expect(await means([aGoldenQuery()], [anAnswer({ documents: retrieved })])).toMatchObject({ 'mrr@10': 0.5 });
  });

  it('count grades below the relevance level as not relevant, but include them in the gain of nDCG', async () => {
    const queries = [aGoldenQuery({ judgments: [{ documentId: 'd1', grade: 1 }] })];
    const scores = await means(queries, [anAnswer()], aRunSettings({ relevanceLevel: 2 }));
    expect(scores).toMatchObject({ 'hit_rate@10': 0, 'recall@10': 0, 'ndcg@10': 1 });
  });

  it('ignore answers to queries that are not in the set', async () => {
    const answers = [anAnswer(), aFailedAnswer({ queryId: 'unknown' })];
    expect(await scoreRun([aGoldenQuery()], answers, aRunSettings())).toEqual(
      await scoreRun([aGoldenQuery()], [anAnswer()], aRunSettings()),
    );
  });

  it('are also computed for each segment, over its queries alone', async () => {
    const queries = [
      aGoldenQuery({ id: 'q1', tags: { lang: 'en' } }),
      aGoldenQuery({ id: 'q2', tags: { lang: 'fr' } }),
    ];
    const settings = aRunSettings({ segmentKeys: ['lang'] });
    expect(await means(queries, [anAnswer()], settings, 'lang=en')).toMatchObject({ 'mrr@10': 1 });
    expect(await means(queries, [anAnswer()], settings, 'lang=fr')).toMatchObject({ 'mrr@10': 0 });
    expect(await means(queries, [anAnswer()], settings)).toMatchObject({ 'mrr@10': 0.5 });
  });

  it('report how many segments were merged', async () => {
    const queries = ['a', 'b', 'c'].map((lang) => aGoldenQuery({ id: lang, tags: { lang } }));
    const { scores, segmentsOverflow } = await scoreRun(
      queries,
      [],
      aRunSettings({ segmentKeys: ['lang'], maxSegments: 1 }),
    );
    expect(segmentsOverflow).toBe(2);
    expect(new Set(scores.map(({ segment }) => segment))).toEqual(new Set(['all', 'lang=a', 'other']));
  });

  it('do not depend on the order of the answers', async () => {
    const queries = [aGoldenQuery({ id: 'q1' }), aGoldenQuery({ id: 'q2' })];
    const answers = [anAnswer({ queryId: 'q1' }), anAnswer({ queryId: 'q2', documents: documents('x') })];
    expect(await scoreRun(queries, answers.toReversed(), aRunSettings())).toEqual(
      await scoreRun(queries, answers, aRunSettings()),
    );
  });

  it('never rise if an answer becomes a failure, in any measure, segment or cutoff, and n does not change', async () => {
    await fc.assert(
      fc.asyncProperty(aRun, async ({ queries, answers, victim }) => {
        const settings = aRunSettings({ cutoffs: [1, 3, 10], segmentKeys: ['lang'] });
        const { scores: before } = await scoreRun(queries, answers, settings);
        const broken = answers.map((answer, index) =>
          index === victim % answers.length ? aFailedAnswer({ queryId: answer.queryId }) : answer,
        );
        const { scores: after } = await scoreRun(queries, broken, settings);
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

it('the scores of queries cover every measure at every cutoff, and are 0 for a query without an answer', () => {
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
