import { expect, it } from 'vitest';
import type { ComparedSide } from '../../../../../src/golden/rules/compare-golden-runs.ts';
import type { QueryAnswer } from '../../../../../src/golden/rules/run.ts';
import { observedRun } from '../../../../../src/incidents/diagnosis/rules/observations.ts';
import { aFailedAnswer, anAnswer, aRunSettings, documents, goldenQueries } from '../../../../support/builders.ts';

const queries = goldenQueries(40);
const side = (answer: (index: number) => Partial<QueryAnswer> = () => ({})): ComparedSide => ({
  queries,
  answers: queries.map(({ id: queryId }, index) =>
    anAnswer({ documents: documents(`d${index + 1}`, 'x'), ...answer(index), queryId }),
  ),
  settings: aRunSettings({ cutoffs: [5, 10] }),
});
const seen = (now: ComparedSide, parts: Partial<Parameters<typeof observedRun>[0]> = {}) =>
  observedRun({
    goldenSet: 'faq',
    now,
    labels: null,
    forbidden: null,
    stale: new Set(),
    lost: new Set(),
    level: null,
    key: null,
    reference: {
      side: side(),
      version: 1,
      isSameVersion: true,
      labels: null,
      stages: null,
      contexts: { before: [], now: [] },
    },
    previous: null,
    older: [],
    live: [],
    ...parts,
  });

it('a run without a reference run is described by itself', () => {
  const now = side((index) => (index < 10 ? aFailedAnswer() : {}));
  expect(seen(now, { reference: null })).toMatchObject({
    outcomes: { ok: 30, empty: 0, error: 10, timeout: 0 },
    failure: { code: 'http_500', queries: 10, total: 40 },
    returned: { documents: 60, judged: 30 },
    reference: null,
  });
});

it('runs are compared by the failing measure if both have a score for that measure', () => {
  const measured = (k: number) => seen(side(), { key: { measure: 'recall', k } }).reference?.loss?.measure;
  expect(measured(5)).toBe('recall@5');
  expect(measured(3)).toBe('ndcg@10');
});

it('text lengths are also compared for the queries with the same documents in both runs', () => {
  const now = side((index) => (index < 20 ? { documents: documents('new', 'x') } : {}));
  const contexts = (short: number) =>
    queries.map(({ id: queryId }, index) => ({ queryId, characters: index < 20 ? short : 900, repeated: 0 }));
  const reference = {
    side: side(),
    version: 1,
    isSameVersion: true,
    labels: null,
    stages: null,
    contexts: { before: contexts(900), now: contexts(100) },
  };
  expect(seen(now, { reference }).reference?.texts).toEqual({
    before: { characters: 900, repeated: 0 },
    now: { characters: 500, repeated: 0 },
    same: { before: { characters: 900, repeated: 0 }, now: { characters: 900, repeated: 0 } },
  });
});

it('the latencies of calls with changed results are compared with those of the other calls', () => {
  const now = side((index) => (index < 15 ? { documents: documents('new'), latencyMs: 700 } : {}));
  expect(seen(now).reference?.answers.calls).toMatchObject({ changed: 15, unchanged: 25, slower: 1 });
});

it('slow queries are counted, as are those at the start of the run', () => {
  const now = side((index) => ({ latencyMs: index < 6 || index === 30 ? 900 : 20 }));
  expect(seen(now).slow).toEqual({ queries: 7, early: 6 });
});

it('the preceding bad run and much older runs are included', () => {
  const other = side((index) => ({ documents: documents(`other-${index}`), latencyMs: 500 }));
  const { reference } = seen(other, { previous: other, older: [{ at: new Date(0), side: other }] });
  expect(reference).toMatchObject({
    latency95Ms: 12,
    previous: { latency95Ms: 500, answers: { changed: 40, alike: 40 } },
    older: { withNow: 1, withReference: 0, referenceWithNow: 0 },
  });
});
