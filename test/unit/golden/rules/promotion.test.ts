import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CandidateFeedback,
  type CandidateQuery,
  chooseQueries,
  suggestJudgments,
} from '../../../../src/golden/rules/promotion.ts';
import { documents, NOON } from '../../../support/builders.ts';

const thumb = (sentiment: CandidateFeedback['sentiment'], count = 1): CandidateFeedback => ({
  kind: 'thumb',
  sentiment,
  documentId: null,
  count,
});
const click = (documentId: string, count = 1): CandidateFeedback => ({
  kind: 'click',
  sentiment: 'positive',
  documentId,
  count,
});
const relevance = (documentId: string, sentiment: CandidateFeedback['sentiment'], count = 1) => ({
  kind: 'relevance',
  sentiment,
  documentId,
  count,
});

function aCandidate(id: string, text: string, parts: Partial<CandidateQuery> = {}): CandidateQuery {
  const nothing = { tags: {}, askedAt: NOON, probability: 1, userHash: null, results: [], feedback: [], grades: [] };
  return { id, text, ...nothing, ...parts };
}

const grades = (...given: readonly (readonly [string, number])[]): CandidateQuery['grades'] =>
  given.map(([documentId, grade]) => ({ documentId, grade, judge: 'model' }));

const choice = { max: 10, golden: [], uncovered: new Set<string>() };

describe('the choice of live queries', () => {
  it('alternates between the reasons for a choice, and omits queries without a reason', () => {
    const candidates = [
      aCandidate('bad', 'Why was I charged twice?', { feedback: [thumb('negative')] }),
      aCandidate('bad2', 'Where did my parcel go?', { feedback: [thumb('negative')] }),
      aCandidate('good', 'How do I reset my password?', { feedback: [thumb('positive')] }),
      aCandidate('clicked', 'Opening hours in May', { feedback: [click('d1')] }),
      aCandidate('new', 'Can I pay with shells?'),
      aCandidate('often1', 'refund policy'),
      aCandidate('often2', 'Refund policy?'),
      aCandidate('once', 'Something else entirely'),
    ];
    const chosen = chooseQueries(candidates, { ...choice, uncovered: new Set(['new']) });
    expect(chosen.map(({ source, reasons }) => `${source.id}: ${reasons[0]}`)).toEqual([
      'bad: negative_feedback',
      'new: uncovered',
      'good: positive_feedback',
      'clicked: clicked',
      'often1: frequent',
      'bad2: negative_feedback',
    ]);
    expect(chooseQueries(candidates, { ...choice, max: 2 })).toHaveLength(2);
  });

  it('chooses the lowest grades first, prefers human to model grades, and omits queries with a relevant document', () => {
    const person = { documentId: 'a', grade: 3, judge: 'person' } as const;
    const candidates = [
      aCandidate('no', 'How do I cancel?', { grades: grades(['a', 0], ['b', 1]) }),
      aCandidate('worst', 'Where is my invoice?', { grades: grades(['a', 0], ['b', 0]) }),
      aCandidate('regraded', 'Which banks are there?', { grades: [...grades(['a', 0]), person] }),
      aCandidate('answered', 'What does it cost?', { grades: grades(['a', 0], ['b', 3]) }),
      aCandidate('disliked', 'Why so slow today?', { feedback: [thumb('negative')] }),
    ];
    expect(chooseQueries(candidates, choice).map(({ source, reasons }) => `${source.id}: ${reasons[0]}`)).toEqual([
      'worst: judged_bad',
      'disliked: negative_feedback',
      'no: judged_bad',
    ]);
  });

  it('merges equal queries, and adds up their sampling weights and feedback', () => {
    const [chosen] = chooseQueries(
      [
        aCandidate('a', 'How do I pay?', { probability: 0.1, feedback: [thumb('negative', 2)] }),
        aCandidate('b', 'how do I PAY', { probability: 0.5, feedback: [click('d1'), thumb('positive')] }),
      ],
      choice,
    );
    expect(chosen).toMatchObject({
      source: { id: 'b' },
      asked: 12,
      tally: { positive: 1, negative: 2, clicks: 1 },
    });
  });

  it('keeps the same query of two tenants separate', () => {
    const feedback = [thumb('negative')];
    const candidates = ['x', 'y'].map((tenant) => aCandidate(tenant, 'Who may sign?', { tags: { tenant }, feedback }));
    expect(chooseQueries([aCandidate('z', 'other words here', { feedback }), ...candidates], choice)).toHaveLength(3);
  });

  it('omits queries that the golden set contains, or nearly contains', () => {
    const feedback = [thumb('negative')];
    const candidates = [
      aCandidate('a', 'How do I cancel my order today?', { feedback }),
      aCandidate('b', 'Where is the invoice?', { feedback }),
    ];
    const golden = [{ text: 'how do i cancel my order', tags: {} }];
    expect(chooseQueries(candidates, { ...choice, golden }).map(({ source }) => source.id)).toEqual(['b']);
  });
});

describe('suggested judgments', () => {
  it('cover documents that were shown, are returned now, or were clicked', () => {
    const pooled = suggestJudgments(documents('a', 'b', 'c'), documents('b', 'd'), [click('z')], [], 2);
    expect(pooled.map(({ documentId, shownRank, rank }) => [documentId, shownRank, rank])).toEqual([
      ['b', 2, 1],
      ['d', null, 2],
      ['a', 1, null],
      ['z', null, null],
    ]);
  });

  it.each<[string, CandidateFeedback[], number | null]>([
    ['no feedback suggests no grade', [], null],
    ['a click with negative feedback on the answer suggests grade 1', [click('a'), thumb('negative')], 1],
    ['a click alone suggests grade 1', [click('a')], 1],
    ['a click with positive feedback on the answer suggests grade 2', [click('a'), thumb('positive')], 2],
    ['positive feedback without a click suggests no grade', [thumb('positive')], null],
    ['negative feedback without a click suggests no grade', [thumb('negative')], null],
    [
      'the majority of relevance feedback decides, despite a click',
      [relevance('a', 'negative', 2), relevance('a', 'positive'), click('a')],
      0,
    ],
    ['positive relevance feedback suggests grade 2', [relevance('a', 'positive')], 2],
    [
      'a click decides if relevance feedback is tied',
      [relevance('a', 'negative'), relevance('a', 'positive'), click('a')],
      1,
    ],
  ])('follow feedback: %s', (_, feedback, grade) => {
    expect(suggestJudgments(documents('a'), [], feedback, [], 10)[0]?.grade).toBe(grade);
  });

  it.each([
    [3, 2],
    [2, 1],
    [1, 0],
    [0, 0],
  ])('turn grade %i of the Judge page into grade %i', (given, grade) => {
    const grades = [{ documentId: 'a', grade: given, judge: 'person' }] as const;
    expect(suggestJudgments(documents('a'), [], [click('a')], grades, 10)[0]?.grade).toBe(grade);
  });

  it('ignore grades of the model', () => {
    expect(suggestJudgments(documents('a'), [], [], grades(['a', 3]), 10)[0]?.grade).toBeNull();
  });

  it('list each document once', () => {
    const ids = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 5 });
    fc.assert(
      fc.property(ids, ids, (shown, retrieved) => {
        const pooled = suggestJudgments(documents(...shown), documents(...retrieved), [], [], 10);
        expect(pooled.map(({ documentId }) => documentId).toSorted()).toEqual(
          [...new Set([...shown, ...retrieved])].toSorted(),
        );
      }),
    );
  });
});
