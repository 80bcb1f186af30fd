import { describe, expect, it } from 'vitest';
import type { QueryOutcome } from '../../../../src/core/model.ts';
import { defaultNoAnswer, falseAnswerRatio, findFalseAnswers } from '../../../../src/golden/rules/forbidden-results.ts';
import type { QueryAnswer } from '../../../../src/golden/rules/run.ts';
import { aGoldenQuery } from '../../../support/builders.ts';

const queries = [
  aGoldenQuery({ id: 'judged' }),
  ...['q1', 'q2', 'q3'].map((id) => aGoldenQuery({ id, judgments: [], noAnswer: true })),
];

function answer(queryId: string, scores: readonly (number | null)[], outcome: QueryOutcome = 'ok'): QueryAnswer {
  const documents = scores.map((score, rank) => ({ id: `d${rank}`, score }));
  return { queryId, outcome, documents, latencyMs: 1, attempts: 1, errorCode: null, errorMessage: null };
}

describe('a no-answer query', () => {
  it('is answered correctly by an empty result, and wrongly by any document', () => {
    const answers = [
      answer('judged', [0.9]),
      answer('q1', [], 'empty'),
      answer('q2', [0.4, 0.7]),
      answer('q3', [null]),
    ];
    expect(findFalseAnswers(queries, answers, defaultNoAnswer)).toEqual({
      asked: 3,
      failed: 0,
      answered: 2,
      worst: [
        { query: 'q2', documents: 2, score: 0.7 },
        { query: 'q3', documents: 1, score: null },
      ],
    });
  });

  it.each([
    ['results at or below the maximum score are ignored', { maxScore: 0.5, maxResults: 0 }, [0.5, 0.3], 0],
    ['a result above the maximum score counts as an answer', { maxScore: 0.5, maxResults: 0 }, [0.51, 0.3], 1],
    ['a result without a score counts as an answer', { maxScore: 0.5, maxResults: 0 }, [null], 1],
    ['the maximum number of results is allowed', { maxScore: null, maxResults: 2 }, [0.9, 0.8], 0],
    ['one result more than the maximum counts as an answer', { maxScore: null, maxResults: 2 }, [0.9, 0.8, 0.1], 1],
  ])('is evaluated with the limits of the config: %s', (_, limits, scores, answered) => {
    const found = findFalseAnswers(queries.slice(1, 2), [answer('q1', scores)], limits);
    expect(found).toMatchObject({ asked: 1, failed: 0, answered });
  });

  it('that fails or is missing counts against the retriever, and not as an empty result', () => {
    const answers = [answer('q1', [], 'empty'), answer('q2', [], 'timeout')];
    const found = findFalseAnswers(queries, answers, defaultNoAnswer);
    expect(found).toMatchObject({ asked: 3, failed: 2, answered: 0 });
    expect(found === null ? null : falseAnswerRatio(found)).toMatchObject({ value: 2 / 3, n: 3 });
  });

  it('must be in the set for false answers to be reported', () => {
    expect(findFalseAnswers(queries.slice(0, 1), [], defaultNoAnswer)).toBeNull();
  });
});

it('the share of false answers has Wilson bounds, which contain the share even at 0 and 1', () => {
  const bounds = (answered: number) => falseAnswerRatio({ asked: 20, failed: 0, answered, worst: [] });
  // statsmodels.stats.proportion.proportion_confint(5, 20, method='wilson')
  expect(bounds(5).ciLow).toBeCloseTo(0.11186, 4);
  expect(bounds(5).ciHigh).toBeCloseTo(0.46869, 4);
  expect(bounds(0)).toMatchObject({ value: 0, ciLow: 0 });
  expect(bounds(20)).toMatchObject({ value: 1, ciHigh: 1 });
});
