import { describe, expect, it } from 'vitest';
import type { AnsweredStage } from '../../../../../src/golden/rules/run.ts';
import { observedRun } from '../../../../../src/incidents/diagnosis/rules/observations.ts';
import { rankCauses } from '../../../../../src/incidents/diagnosis/rules/rank-causes.ts';
import { readRunSigns } from '../../../../../src/incidents/diagnosis/rules/read-run-signs.ts';
import { anAnswer, aRunSettings, goldenQueries } from '../../../../support/builders.ts';

const QUESTIONS = 60;
const queries = goldenQueries(QUESTIONS);
const settings = aRunSettings({ cutoffs: [10] });
const stage = (name: string, ranks: Record<string, number>): AnsweredStage => ({
  name,
  isSide: false,
  documents: 50,
  latencyMs: null,
  ranks,
});

/**
 * For each query: the rank of its document among the candidates, whether the filter keeps it, and whether it is
 * returned.
 */
function aRun(of: (question: number) => readonly [candidate: number | null, isKept: boolean, isAnswered: boolean]) {
  const stages = new Map<string, readonly AnsweredStage[]>();
  const answers = queries.map(({ id, judgments: [judgment] }, question) => {
    const document = judgment?.documentId ?? '';
    const [candidate, isKept, isAnswered] = of(question);
    const ranks: Record<string, number> = candidate === null ? {} : { [document]: candidate };
    stages.set(id, [stage('candidates', ranks), stage('access_filter', isKept ? ranks : {})]);
    const others = ['x', 'y', 'z'].map((name) => ({ id: `${name}${question}`, score: null }));
    return anAnswer({ queryId: id, documents: isAnswered ? [{ id: document, score: null }, ...others] : others });
  });
  return { side: { queries, answers, settings }, stages };
}

const good = aRun((question) => [question < 54 ? 1 + (question % 20) : null, true, question < 48]);

function stageSign(now: ReturnType<typeof aRun>) {
  const run = observedRun({
    goldenSet: 'faq',
    now: now.side,
    labels: null,
    forbidden: null,
    stale: new Set(),
    lost: new Set(),
    level: null,
    key: null,
    reference: {
      side: good.side,
      version: 1,
      isSameVersion: true,
      labels: null,
      stages: { before: good.stages, now: now.stages },
      contexts: { before: [], now: [] },
    },
    previous: null,
    older: [],
    live: [],
  });
  return { signs: readRunSigns(run), reported: readRunSigns(run).find(({ name }) => name === 'stage') };
}

describe('a drop between two runs whose retriever reports stages', () => {
  it('is attributed to the candidates, with numbers, if they lost the same documents as the answers', () => {
    const { reported } = stageSign(
      aRun((question) => [question < 36 ? 1 + (question % 20) : null, true, question < 32]),
    );
    expect(reported).toMatchObject({ state: 'candidates' });
    expect(reported?.sentence).toMatch(
      /^Most of the loss is at the stage candidates: 40 % of the relevant documents are lost there \(previously 10 %; 95 % CI of the change \+0\.\d+ to \+0\.\d+\); the top 10 results contain 53 % of them \(previously 80 %; 60 queries\)\.$/,
    );
  });

  it('is attributed to ordering if the candidates are unchanged, which supports the ranking cause', () => {
    const { reported, signs } = stageSign(
      aRun((question) => [question < 54 ? 1 + (question % 20) : null, true, question < 30]),
    );
    expect(reported).toMatchObject({ state: 'later' });
    const probability = (of: typeof signs) =>
      rankCauses(of).ranked.find(({ cause }) => cause === 'ranking')?.probability ?? 0;
    expect(probability(signs)).toBeGreaterThan(probability(signs.filter(({ name }) => name !== 'stage')));
  });

  it('is attributed to a filter that drops relevant documents', () => {
    const { reported } = stageSign(
      aRun((question) => [question < 54 ? 1 + (question % 20) : null, question < 32, question < 32]),
    );
    expect(reported).toMatchObject({ state: 'filter' });
    expect(reported?.sentence).toContain('the stage access_filter');
  });

  it('is not reported if the answers are unchanged', () => {
    expect(stageSign(good).reported).toMatchObject({ state: 'steady' });
  });

  it('is also shown if no cause is named', () => {
    const { reported } = stageSign(
      aRun((question) => [question < 36 ? 1 + (question % 20) : null, true, question < 32]),
    );
    const unknown = rankCauses(reported === undefined ? [] : [reported]).ranked.find(
      ({ cause }) => cause === 'unknown',
    );
    expect(unknown?.supporting).toEqual([reported]);
  });

  it('is inconclusive for few queries', () => {
    const few = { ...good, side: { ...good.side, queries: queries.slice(0, 10) } };
    expect(stageSign(few).reported).toBeUndefined();
  });
});
