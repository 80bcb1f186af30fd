import { describe, expect, it } from 'vitest';
import { statisticsOfCommands } from '../../../../src/golden/golden-statistics.ts';
import {
  type BaselineStatistics,
  type ComparedSide,
  noStatistics,
  type RunDifference,
  sharedQueries,
} from '../../../../src/golden/rules/compare-golden-runs.ts';
import { runMeasures, runMetricKeys } from '../../../../src/golden/rules/score-run.ts';
import { formatMetricKey } from '../../../../src/math/ir/metric-key.ts';
import { aGoldenQuery, anAnswer, aRerunNoise, aRunSettings, documents } from '../../../support/builders.ts';

const queries = Array.from({ length: 20 }, (_, n) =>
  aGoldenQuery({
    id: `q${n}`,
    tags: { language: n % 2 === 0 ? 'en' : 'de' },
    judgments: [{ documentId: `d${n}`, grade: 1 }],
  }),
);
const settings = aRunSettings({ cutoffs: [1, 5], segmentKeys: ['language'] });

/** A run that finds each query's relevant document, except for the queries whose index is in `missed`. */
function aSide(missed: readonly number[] = [], parts: Partial<ComparedSide> = {}): ComparedSide {
  const answers = queries.map(({ id }, n) =>
    anAnswer({ queryId: id, documents: documents(missed.includes(n) ? 'x' : `d${n}`) }),
  );
  return { queries, answers, settings, ...parts };
}

const none = new Set<string>();
const never = new AbortController().signal;

const compare = (baseline: ComparedSide, candidate: ComparedSide, stale = none, known = noStatistics) =>
  statisticsOfCommands.compareRuns(baseline, candidate, stale, known, never);

const find = (differences: readonly RunDifference[] | null, measure: string, k: number, segment = 'all') =>
  differences?.find((one) => one.key.measure === measure && one.key.k === k && one.segment === segment);

describe('a golden run compared to another one', () => {
  it('has no difference when the answers are identical', async () => {
    const differences = await compare(aSide(), aSide(), none);
    expect(differences).not.toBeNull();
    for (const { difference, p, verdict } of differences ?? []) {
      expect({ difference, p, verdict }).toEqual({ difference: 0, p: 1, verdict: 'no_change' });
    }
  });

  it('shows a drop over all queries and in the affected segment', async () => {
    const fallen = aSide([0, 2, 4, 6, 8, 10, 12, 14]);
    const differences = await compare(aSide(), fallen, none);
    expect(find(differences, 'hit_rate', 1)).toMatchObject({
      n: 20,
      excluded: 0,
      difference: -0.4,
      losses: 8,
      verdict: 'regression',
    });
    expect(find(differences, 'hit_rate', 1, 'language=en')?.difference).toBe(-0.8);
    expect(find(differences, 'hit_rate', 1, 'language=de')?.difference).toBe(0);
  });

  it('excludes queries with stale labels, because the retriever did not cause their drop', async () => {
    const stale = new Set(['q0', 'q2', 'q4']);
    const differences = await compare(aSide(), aSide([0, 2, 4]), stale);
    expect(find(differences, 'ndcg', 5)).toMatchObject({
      n: 17,
      excluded: 3,
      difference: 0,
      verdict: 'no_change',
    });
  });

  it('uses the cutoffs and the queries that both runs contain', async () => {
    const older = aSide([], { queries: queries.slice(0, 12), settings: aRunSettings({ cutoffs: [5, 10] }) });
    const differences = await compare(older, aSide([15]), none);
    expect(new Set(differences?.map(({ key }) => key.k))).toEqual(new Set([5]));
    expect(find(differences, 'recall', 5)).toMatchObject({ n: 12, excluded: 8, difference: 0 });
  });

  it('is not compared if the runs have no usable query or no cutoff in common', async () => {
    expect(await compare(aSide([], { queries: [] }), aSide(), none)).toBeNull();
    const other = aSide([], { settings: aRunSettings({ cutoffs: [100] }) });
    expect(await compare(other, aSide(), none)).toBeNull();
    expect(await compare(aSide(), aSide(), new Set(queries.map(({ id }) => id)))).toBeNull();
  });

  it('has wider bounds if its retriever is noisy', async () => {
    const fallen = aSide([0, 2, 4, 6, 8, 10, 12, 14]);
    const noise = { all: { 'mrr@5': aRerunNoise({ reruns: 5, standardDeviation: 0.5, sharedVariance: 0.25 }) } };
    const quiet = find(await compare(aSide(), fallen, none), 'mrr', 5);
    const loud = find(await compare(aSide(), fallen, none, { ...noStatistics, noise }), 'mrr', 5);
    expect(quiet?.verdict).toBe('regression');
    expect(loud?.verdict).toBe('inconclusive');
    expect(loud?.ciLow).toBeLessThan(quiet?.ciLow ?? -1);
  });
});

describe('a golden run of a retriever with known noise', () => {
  const constant = aRerunNoise({ isConstant: true });
  const metrics = ['mrr@5', 'mrr@1'];
  const table = <T>(value: T) => Object.fromEntries(metrics.map((metric) => [metric, value]));
  const known = (parts: Partial<BaselineStatistics> = {}): BaselineStatistics => ({
    noise: { all: table(constant), 'language=en': table(constant) },
    means: Object.fromEntries(
      runMetricKeys([1, 5], runMeasures).map((key) => [formatMetricKey(key), queries.map(() => 1)]),
    ),
    accepted: noStatistics.accepted,
    ...parts,
  });
  const one = aSide([3]);
  const methods = (differences: readonly RunDifference[] | null) =>
    ['all', 'language=en', 'language=de'].map((segment) => find(differences, 'mrr', 5, segment)?.ciMethod);

  it('is compared using that noise in each segment where it was measured, even if only one query changed', async () => {
    const differences = await compare(aSide(), one, none, known());
    expect(methods(differences)).toEqual(['reruns', 'reruns', 'bca']);
    expect(find(differences, 'mrr', 5)).toMatchObject({ difference: -0.05, p: 0, verdict: 'regression' });
    expect(find(await compare(aSide(), one, none), 'mrr', 5)?.verdict).toBe('inconclusive');
  });

  it('is compared to the mean score of each query over the reruns, for any subset of the queries in any order', async () => {
    const means = { ...known().means, 'mrr@5': queries.map((_, n) => n / 20) };
    const after = { ...aSide(), queries: queries.toReversed() };
    const differences = await compare(aSide(), after, new Set(['q0', 'q19']), known({ means }));
    expect(find(differences, 'mrr', 5)?.difference).toBeCloseTo(1 - 0.475, 12);
  });

  it('is compared by query scores alone if the known means are of other settings, metrics or queries', async () => {
    const stricter = { ...one, settings: { ...settings, relevanceLevel: 2 } };
    const firstOnly = { means: { 'mrr@1': queries.map(() => 1) } };
    const fewer = { means: Object.fromEntries(Object.keys(known().means ?? {}).map((key) => [key, [1, 1]])) };
    for (const differences of [
      await compare(aSide(), stricter, none, known()),
      await compare(aSide(), one, none, known(firstOnly)),
      await compare(aSide(), one, none, known(fewer)),
    ]) {
      expect(methods(differences)).not.toContain('reruns');
    }
  });

  it('of another index generation is compared by query scores alone', async () => {
    const accepted = { unit: 'generation', differences: {} } as const;
    expect(methods(await compare(aSide(), one, none, known({ accepted })))).not.toContain('reruns');
  });

  it('is compared using the variance between days once five days are known', async () => {
    const after = async (count: number) => {
      const differences = { all: table(Array.from({ length: count }, () => -0.008)) };
      return find(await compare(aSide(), one, none, known({ accepted: { unit: 'day', differences } })), 'mrr', 5);
    };
    expect(await after(4)).toMatchObject({ ciMethod: 'reruns', verdict: 'regression' });
    expect((await after(5))?.p).toBeGreaterThan((await after(4))?.p ?? 1);
  });
});

describe('the queries that two versions have in common', () => {
  it('have the same id, text and judgments, in any order', () => {
    const judgments = [
      { documentId: 'a', grade: 1 },
      { documentId: 'b', grade: 2 },
    ];
    const before = [
      aGoldenQuery({ id: 'same', judgments }),
      aGoldenQuery({ id: 'rejudged', judgments }),
      aGoldenQuery({ id: 'reworded', text: 'old words', judgments }),
    ];
    const after = [
      aGoldenQuery({ id: 'same', judgments: judgments.toReversed() }),
      aGoldenQuery({ id: 'rejudged', judgments: judgments.map((one) => ({ ...one, grade: 2 })) }),
      aGoldenQuery({ id: 'reworded', text: 'new words', judgments }),
      aGoldenQuery({ id: 'new', judgments }),
    ];
    expect(sharedQueries(before, after).map(({ id }) => id)).toEqual(['same']);
  });
});
