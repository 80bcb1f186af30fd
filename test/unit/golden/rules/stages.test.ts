import { describe, expect, it } from 'vitest';
import type { GoldenQuery } from '../../../../src/core/model.ts';
import type { AnsweredStage, QueryAnswer } from '../../../../src/golden/rules/run.ts';
import { answeredStages, stagedQueries, summarizeStages } from '../../../../src/golden/rules/stages.ts';
import { aFailedAnswer, aGoldenQuery, anAnswer, goldenQueries } from '../../../support/builders.ts';

const listed = (...ids: readonly string[]) => ids.map((id) => ({ id, score: null }));
const stage = (name: string, ranks: Record<string, number>, more: Partial<AnsweredStage> = {}): AnsweredStage => ({
  name,
  isSide: false,
  documents: 50,
  latencyMs: null,
  ranks,
  ...more,
});

interface Answered {
  readonly query: GoldenQuery;
  readonly answer: QueryAnswer;
  readonly stages?: readonly AnsweredStage[];
}

function summary(answered: readonly Answered[], k = 2) {
  const stages = new Map(
    answered.flatMap((one) => (one.stages === undefined ? [] : [[one.query.id, one.stages] as const])),
  );
  const [queries, answers] = [answered.map(({ query }) => query), answered.map(({ answer }) => answer)];
  return summarizeStages(stagedQueries(queries, answers, stages, 1), k);
}

/** Query `n`, whose relevant document is `dn`, with its candidates and the reranked answer. */
function reranked(n: number, candidate: number | null, answer: readonly string[], latencyMs = 10): Answered {
  const [query = aGoldenQuery()] = goldenQueries(n).slice(-1);
  const ranks: Record<string, number> = candidate === null ? {} : { [`d${n}`]: candidate };
  return {
    query,
    answer: anAnswer({ queryId: query.id, documents: listed(...answer), latencyMs }),
    stages: [stage('candidates', ranks, { latencyMs: 4 })],
  };
}

describe('the stored part of a stage', () => {
  it('is the best rank of each judged document', () => {
    const query = aGoldenQuery({
      judgments: [
        { documentId: 'a', grade: 1 },
        { documentId: 'z', grade: 0 },
      ],
    });
    const stages = [{ name: 'candidates', documents: listed('b', 'b', 'a', 'z', 'a'), latencyMs: 7 }];
    expect(answeredStages(query, stages, undefined)).toEqual([
      stage('candidates', { a: 2, z: 3 }, { documents: 3, latencyMs: 7 }),
    ]);
  });

  it('contains the ranks of documents instead of chunks if runs are compared by document', () => {
    const query = aGoldenQuery({ judgments: [{ documentId: 'kb#1', grade: 1 }] });
    expect(answeredStages(query, [{ name: 'words', isSide: true, documents: listed('x#9', 'kb#7') }], '#')).toEqual([
      stage('words', { kb: 2 }, { documents: 2, isSide: true }),
    ]);
  });
});

describe('a run with reported stages', () => {
  it('shows the recall, loss and changed queries of each step, and recall and losses add up to 1', () => {
    const found = summary([
      reranked(1, 1, ['d1']),
      reranked(2, 9, ['x', 'd2']),
      reranked(3, 2, ['x', 'y']),
      reranked(4, 30, ['x', 'y', 'd4']),
      reranked(5, null, ['x']),
      { query: aGoldenQuery({ id: 'q6' }), answer: aFailedAnswer({ queryId: 'q6' }) },
    ]);
    expect(found).toMatchObject({ k: 2, n: 6, failed: 1, unreported: 0, lostToFailures: { mean: 1 / 6, n: 6 } });
    const [candidates, answer, ...others] = found?.steps ?? [];
    expect(others).toEqual([]);
    expect(candidates).toMatchObject({ name: 'candidates', moved: null, latencyP95Ms: 4, timed: 5 });
    expect(candidates?.recall).toMatchObject({ mean: 4 / 6, n: 6 });
    expect(candidates?.lost).toMatchObject({ mean: 1 / 6, n: 6 });
    expect(answer).toMatchObject({ name: 'answer', moved: { in: 1, out: 1, difference: 0 }, latencyP95Ms: 6 });
    expect(answer?.recall.mean).toBeCloseTo(2 / 6, 12);
    expect(answer?.lost.mean).toBeCloseTo(2 / 6, 12);
    for (const { recall, lost } of found?.steps ?? [])
      for (const { mean, ciLow, ciHigh } of [recall, lost])
        expect(ciLow <= mean && mean <= ciHigh && ciHigh - ciLow > 0).toBe(true);
    const sum = (found?.lostToFailures.mean ?? 0) + (candidates?.lost.mean ?? 0) + (answer?.lost.mean ?? 0);
    expect(sum + (answer?.recall.mean ?? 0)).toBeCloseTo(1, 12);
  });

  it('distinguishes documents that a filter drops from documents that are never found or are cut off', () => {
    const query = aGoldenQuery({
      judgments: ['kept', 'filtered', 'missing', 'low'].map((documentId) => ({ documentId, grade: 1 })),
    });
    const found = summary([
      {
        query,
        answer: anAnswer({ documents: listed('kept', 'x', 'low') }),
        stages: [stage('candidates', { kept: 1, filtered: 2, low: 8 }), stage('filtered', { kept: 1, low: 7 })],
      },
    ]);
    const losses = found?.steps.map(({ name, recall, lost }) => [name, recall.mean, lost.mean]);
    expect(losses).toEqual([
      ['candidates', 0.75, 0.25],
      ['filtered', 0.5, 0.25],
      ['answer', 0.25, 0.25],
    ]);
  });

  it('treats parallel searches as one step, with the latency of the slower one', () => {
    const [one] = goldenQueries(1);
    const found = summary([
      {
        query: one ?? aGoldenQuery(),
        answer: anAnswer({ documents: listed('d1'), latencyMs: 12 }),
        stages: [
          stage('words', {}, { isSide: true, latencyMs: 3 }),
          stage('vectors', { d1: 40 }, { isSide: true, latencyMs: 9 }),
        ],
      },
    ]);
    expect(found?.steps).toMatchObject([
      { name: 'words and vectors', recall: { mean: 1 }, latencyP95Ms: 9 },
      { name: 'answer', recall: { mean: 1 }, moved: null, latencyP95Ms: 3 },
    ]);
  });

  it('counts queries without stages separately, and has no summary if there are no others', () => {
    const unreported: Answered = { query: aGoldenQuery({ id: 'q9' }), answer: anAnswer({ queryId: 'q9' }) };
    expect(summary([reranked(1, 1, ['d1']), unreported])).toMatchObject({ n: 1, unreported: 1 });
    expect(summary([unreported, { query: aGoldenQuery(), answer: aFailedAnswer() }])).toBeNull();
  });
});
