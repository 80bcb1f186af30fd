import { describe, expect, it } from 'vitest';
import {
  type GradedDocument,
  type GradedQuery,
  humanAgreement,
  humanSessions,
  judgeAgreement,
  judgedMeasures,
} from '../../../../src/judging/rules/judged-measures.ts';

const JUDGE = 'judge';
const window = { depth: 2, counted: {}, segmentKeys: [], maxSegments: 5, judge: JUDGE };

function document(model: GradedDocument['model'], person: number | null = null, hasText = true): GradedDocument {
  return { hasText, model, person, second: null };
}

function query(cluster: number, documents: readonly GradedDocument[], parts: Partial<GradedQuery> = {}): GradedQuery {
  const judges = documents.some(({ model }) => model !== null) ? [JUDGE] : [];
  return { cluster, outcome: 'ok', tags: {}, probability: 0.5, needsHuman: true, judges, documents, ...parts };
}

const of = (queries: readonly GradedQuery[], measure: string, counted = {}) =>
  judgedMeasures(queries, { ...window, counted }).find((one) => one.measure === measure);

const sessions = (count: number, make: (i: number) => readonly GradedDocument[]): GradedQuery[] =>
  Array.from({ length: count }, (_, i) => query(i, make(i)));

describe('judged live measures', () => {
  it('are uncorrected while people have graded only 7 sessions', () => {
    const queries = sessions(20, (i) => [document(i % 4, i < 7 ? i % 4 : null)]);
    expect(of(queries, 'live_precision')).toMatchObject({ kind: 'no_data', reason: 'too_few_judgments' });
    expect(of(queries, 'live_precision_uncorrected')).toMatchObject({ kind: 'value', value: 0.25, n: 20 });
    expect(humanSessions(queries)).toBe(7);
  });

  it('are corrected from the eighth graded session on, and then no longer published as uncorrected', () => {
    const queries = sessions(20, (i) => [document(3, i < 8 ? i % 4 : null)]);
    expect(of(queries, 'live_hit_rate')).toMatchObject({ kind: 'value', value: 0.5, details: { human_sessions: 8 } });
    expect(of(queries, 'live_hit_rate_uncorrected')).toBeUndefined();
  });

  it('ignore human judgments of queries that were not selected for people', () => {
    const chosen = sessions(20, () => [document(0, 3)]).map((one) => ({ ...one, needsHuman: false }));
    expect(of(chosen, 'live_mrr')).toMatchObject({ kind: 'no_data' });
    expect(humanSessions(chosen)).toBe(0);
  });

  it('count a failed document as grade 0, and are withheld when the judge fails too often', () => {
    const some = sessions(20, (i) => [document(i < 4 ? 'failed' : 3), document(3)]);
    expect(of(some, 'live_precision_uncorrected')).toMatchObject({ value: 0.9, details: { failed: 4 } });
    const many = sessions(20, (i) => [document(i < 5 ? 'failed' : 3), document(3)]);
    expect(of(many, 'live_precision_uncorrected')).toMatchObject({ kind: 'no_data', reason: 'judge_failing' });
  });

  it('need grades of all readable documents of a query', () => {
    const half = sessions(10, () => [document(3, 3), document(3, null)]);
    expect(humanSessions(half)).toBe(0);
    const gone = sessions(10, () => [document(3, 3), document(null, null, false)]);
    expect(of(gone, 'live_precision')).toMatchObject({ kind: 'value', value: 0.5 });
  });

  it('calibrate weights to the counted arrivals of each outcome', () => {
    const answered = sessions(10, () => [document(3)]);
    const failed = Array.from({ length: 3 }, (_, i) => query(100 + i, [], { outcome: 'error', probability: 1 }));
    const found = of([...answered, ...failed], 'live_hit_rate_uncorrected', { ok: 60, error: 40 });
    expect(found).toMatchObject({ kind: 'value', n: 10 });
    expect(found?.kind === 'value' && found.value).toBeCloseTo(0.6, 9);
  });

  it('are estimated for each segment too', () => {
    const tagged = sessions(20, (i) => [document(i % 2 === 0 ? 3 : 0)]).map((one, i) => ({
      ...one,
      tags: { course: i % 2 === 0 ? 'maths' : 'history' },
    }));
    const found = judgedMeasures(tagged, { ...window, segmentKeys: ['course'] });
    const value = (segment: string) =>
      found.find((one) => one.segment === segment && one.measure === 'live_hit_rate_uncorrected');
    expect(value('course=maths')).toMatchObject({ value: 1 });
    expect(value('course=history')).toMatchObject({ value: 0 });
  });

  it('use the current judge alone when uncorrected, and every judge when corrected', () => {
    const before = sessions(10, (i) => [document(0, i < 8 ? 3 : null)]).map((one) => ({ ...one, judges: ['old'] }));
    const now = sessions(10, () => [document(3)]).map((one, i) => ({ ...one, cluster: 50 + i }));
    const failed = query(100, [], { outcome: 'error', probability: 1 });
    const alone = before.map((one) => ({ ...one, needsHuman: false }));
    const found = of([...alone, ...now, failed, { ...failed, cluster: 101 }], 'live_hit_rate_uncorrected', {
      ok: 60,
      error: 20,
    });
    expect(found).toMatchObject({ kind: 'value', n: 10 });
    expect(found?.kind === 'value' && found.value).toBeCloseTo(0.75, 9);
    expect(of([...before, ...now], 'live_hit_rate')).toMatchObject({ kind: 'value', n: 20, details: { model: 20 } });
  });

  it('have no data when nothing was graded', () => {
    expect(of([], 'live_ndcg')).toMatchObject({ kind: 'no_data', reason: 'too_few_judgments' });
  });
});

describe('judge agreement', () => {
  it('covers documents that the judge and a person graded in queries selected for people', () => {
    const both = sessions(10, (i) => [document(i % 4, i % 4), document('failed', 0), document(2, null)]);
    expect(judgeAgreement(both, JUDGE)).toMatchObject({ kappa: 1, pairs: 10, sessions: 10 });
    expect(
      judgeAgreement(
        both.map((one) => ({ ...one, needsHuman: false })),
        JUDGE,
      ),
    ).toBeNull();
  });

  it('ignores grades of an earlier judge', () => {
    const now = sessions(10, (i) => [document(i % 4, i % 4)]);
    const before = sessions(10, (i) => [document(3 - (i % 4), i % 4)]).map((one) => ({ ...one, judges: ['old'] }));
    expect(judgeAgreement([...now, ...before], JUDGE)).toMatchObject({ kappa: 1, pairs: 10 });
  });
});

describe('the agreement between two people', () => {
  it("covers documents that both people graded, whatever the judge's grades", () => {
    const second = (i: number, grade: number | null) => ({ ...document(3, i % 4), second: grade });
    expect(humanAgreement(sessions(10, (i) => [second(i, i % 4), second(i, null)]))).toMatchObject({
      kappa: 1,
      pairs: 10,
      sessions: 10,
    });
    expect(humanAgreement(sessions(10, (i) => [second(i, 3 - (i % 4))]))?.kappa).toBeLessThan(0);
    expect(humanAgreement(sessions(10, (i) => [second(i, null)]))).toBeNull();
  });
});
