/**
 * Checks examples that can be calculated by hand: recalld computes the right values, which differ from those that known
 * bugs produce.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { evaluateRanking } from '../../../../src/math/ir/evaluate.ts';
import { parseMetricKey } from '../../../../src/math/ir/metric-key.ts';

type Values = Readonly<Record<string, unknown>>;

interface Example {
  readonly id: string;
  readonly retrieved?: readonly string[];
  readonly qrels?: Readonly<Record<string, number>>;
  readonly expected?: Values;
  readonly variants?: readonly {
    readonly qrels: Readonly<Record<string, number>>;
    readonly expected: Values;
  }[];
  readonly wrong_values?: Readonly<Record<string, Values>>;
  readonly relevance_lines?: readonly (readonly number[])[];
  readonly retrieved_all?: readonly string[];
  readonly qrels_list?: readonly Readonly<Record<string, number>>[];
}

const path = new URL('../../../fixtures/conformance/ir/worked-examples.json', import.meta.url);
const { examples }: { readonly examples: readonly Example[] } = JSON.parse(readFileSync(path, 'utf8'));

function example(id: string): Example {
  const found = examples.find((candidate) => candidate.id === id);
  if (found === undefined) throw new Error(`There is no example ${id}.`);
  return found;
}

function value(metric: string, retrieved: readonly string[], qrels: Readonly<Record<string, number>>): number {
  const [result] = evaluateRanking(retrieved, new Map(Object.entries(qrels)), [parseMetricKey(metric)], 1);
  return result ?? Number.NaN;
}

/** Returns the values of the metrics that recalld supports; `ap` is another name for the `map` of one query. */
function comparable(values: Values): [string, number][] {
  return Object.entries(values).flatMap(([name, number]): [string, number][] => {
    const metric = name.replace(/^ap@/, 'map@');
    return typeof number === 'number' && /^(?!idcg|dcg_exp|map_minkr|recall_cap|f1$)\w+(@\d+)?$/.test(metric)
      ? [[metric, number]]
      : [];
  });
}

const cases = examples.flatMap(({ id, retrieved, qrels, expected, variants, wrong_values }) => {
  if (retrieved === undefined) return [];
  const all = variants ?? (qrels === undefined || expected === undefined ? [] : [{ qrels, expected }]);
  return all.map((variant, i) => ({
    name: `${id} ${i + 1}`,
    retrieved,
    wrong: wrong_values ?? {},
    ...variant,
  }));
});

describe('worked examples', () => {
  it('include at least 11 cases', () => {
    expect(cases.length).toBeGreaterThanOrEqual(11);
  });

  it.each(cases)('$name has the right values', ({ retrieved, qrels, expected }) => {
    const pairs = comparable(expected);
    expect(pairs.length).toBeGreaterThan(0);
    const ours = pairs.map(([metric]) => [metric, value(metric, retrieved, qrels)]);
    expect(ours).toEqual(pairs.map(([metric, right]) => [metric, expect.closeTo(right, 12)]));
  });

  it.each(cases.filter(({ wrong }) => Object.keys(wrong).length > 0))(
    '$name does not have the values of known bugs',
    ({ retrieved, qrels, expected, wrong }) => {
      const bugs = Object.entries(wrong).flatMap(([bug, values]) =>
        comparable(values)
          // Some bugs do not affect some metrics: the base of the logarithm cancels in a ratio.
          .filter(([metric, number]) => Math.abs(Number(expected[metric]) - number) > 1e-9)
          .filter(([metric, number]) => Math.abs(value(metric, retrieved, qrels) - number) < 1e-3)
          .map(([metric]) => `${bug}: ${metric}`),
      );
      expect(bugs).toEqual([]);
    },
  );

  it('pinecone-mrr-map has the right values for each of its three queries', () => {
    const { retrieved_all = [], qrels_list = [], expected = {} } = example('pinecone-mrr-map');
    const each = (metric: string): number[] => qrels_list.map((qrels) => value(metric, retrieved_all, qrels));
    expect(each('mrr')).toEqual(expected['mrr_per_query']);
    expect(each('map@8')).toEqual(expected['ap@8_per_query']);
    expect(each('ndcg@8')).toEqual(expected['ndcg@8_per_query']);
    expect(each('map@4')).toEqual([0.25, 0.375, 0]);
    expect(each('recall@8')).toEqual([1, 1, 1]);
  });

  it.each(['llm-zoomcamp-example', 'llm-zoomcamp-mrr-bug'])(
    '%s has the right means, which count only the first hit in MRR',
    (id) => {
      const { relevance_lines = [], expected = {} } = example(id);
      const mean = (metric: string): number => {
        const values = relevance_lines.map((line) => {
          const ranking = line.map((_, i) => `d${i}`);
          const hits = ranking.filter((_, i) => line[i] === 1);
          return value(metric, ranking, Object.fromEntries([...hits, 'other'].map((document) => [document, 1])));
        });
        return values.reduce((sum, next) => sum + next, 0) / values.length;
      };
      const pairs = comparable(expected);
      expect(pairs.length).toBeGreaterThan(0);
      expect(pairs.map(([metric]) => mean(metric))).toEqual(pairs.map(([, right]) => expect.closeTo(right, 12)));
    },
  );

  it('f1-aggregation averages the F1 of each query instead of computing F1 from the means', () => {
    const top = ['d1', 'd2', 'd3', 'd4', 'd5'];
    const fifty = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`d${i + 1}`, 1]));
    const mean = (value('f1@5', top, fifty) + value('f1@5', top, { d1: 1 })) / 2;
    expect([value('precision@5', top, fifty), value('precision@5', top, { d1: 1 })]).toEqual([1, 0.2]);
    expect([value('recall@5', top, fifty), value('recall@5', top, { d1: 1 })]).toEqual([0.1, 1]);
    expect(mean).toBeCloseTo(Number(example('f1-aggregation').expected?.['mean_of_f1']), 12);
  });
});
