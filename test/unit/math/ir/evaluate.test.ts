import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEvaluator, evaluateRanking } from '../../../../src/math/ir/evaluate.ts';
import { parseMetricKey } from '../../../../src/math/ir/metric-key.ts';
import { applyDuplicatePolicy } from '../../../../src/math/ir/ranking.ts';

const CUTOFFS = [1, 3, 5, 10];
const CUT = ['hit_rate', 'precision', 'recall', 'f1', 'mrr', 'map', 'ndcg', 'ndcg_exp', 'unjudged', 'cg', 'dcg'];
const UNCUT = ['mrr', 'map', 'ndcg', 'ndcg_exp', 'cg', 'dcg'];
const ALL_NAMES = [...UNCUT, ...CUT.flatMap((name) => CUTOFFS.map((k) => `${name}@${k}`))];
const ALL_KEYS = ALL_NAMES.map(parseMetricKey);

function scores(
  ranking: readonly (string | null)[],
  judgments: Readonly<Record<string, number>> | ReadonlyMap<string, number>,
  names: readonly string[] = ALL_NAMES,
  level = 1,
): Record<string, number> {
  const grades = judgments instanceof Map ? judgments : new Map(Object.entries(judgments));
  const values = evaluateRanking(ranking, grades, names.map(parseMetricKey), level);
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? Number.NaN]));
}

/** Returns true if `low` <= `high` <= 1; false if a value is missing. */
function isOrdered(low = 2, high = 2): boolean {
  return low <= high && high <= 1;
}

const ids = Array.from({ length: 12 }, (_, i) => `d${i}`);
const anyRanking = fc.shuffledSubarray(ids);
const anyJudgments = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...ids, 'x1', 'x2', 'x3'), fc.integer({ min: -2, max: 5 })), {
    selector: ([id]) => id,
  })
  .map((pairs) => new Map(pairs));

describe('evaluateRanking', () => {
  it('returns one value per key, in the order of the keys', () => {
    const keys = ['recall@10', 'ndcg@1', 'recall@1', 'recall@10'].map(parseMetricKey);
    expect(evaluateRanking(['a', 'b'], new Map([['b', 1]]), keys, 1)).toEqual([1, 0, 0, 1]);
  });

  it('returns nothing without keys', () => {
    expect(evaluateRanking(['a'], new Map([['a', 1]]), [], 1)).toEqual([]);
  });

  it('scores 0 for an empty ranking, for no judgments, and for no relevant document', () => {
    for (const [ranking, judgments] of [
      [[], { a: 1 }],
      [['a'], {}],
      [['a', 'b'], { a: 0, b: -1 }],
    ] as const) {
      const { unjudged: _, ...values } = scores(
        ranking,
        judgments,
        ALL_NAMES.filter((name) => !name.startsWith('unjudged')),
      );
      expect(Object.values(values).every((value) => value === 0)).toBe(true);
    }
  });

  it('computes the ideal ranking from all judged documents, not only from the retrieved ones', () => {
    expect(scores(['a'], { a: 1, b: 3 }, ['ndcg@1', 'ndcg@2'])).toEqual({
      'ndcg@1': 1 / 3,
      'ndcg@2': 1 / (3 + 1 / Math.log2(3)),
    });
  });

  it('applies the relevance level to the binary measures and not to the gains', () => {
    const judged = { a: 1, b: 2 };
    const names = ['mrr', 'recall@1', 'ndcg@2', 'dcg@2'];
    const low = scores(['a', 'b'], judged, names, 1);
    const high = scores(['a', 'b'], judged, names, 2);
    expect(high).toEqual({ ...low, mrr: 0.5, 'recall@1': 0 });
  });

  it('counts an empty rank as an unjudged document without gain', () => {
    expect(scores(['a', null, 'b'], { a: 1, b: 1 }, ['map', 'unjudged@3', 'precision@3'])).toEqual({
      map: (1 + 2 / 3) / 2,
      'unjudged@3': 1 / 3,
      'precision@3': 2 / 3,
    });
  });

  it('stays finite for grades whose 2^grade exceeds the range of a double', () => {
    const judged = { a: 5000, b: 4999, c: 1 };
    expect(scores(['a', 'b', 'c'], judged, ['ndcg_exp@3', 'ndcg@3'])).toEqual({
      'ndcg_exp@3': 1,
      'ndcg@3': 1,
    });
    expect(scores(['b', 'a'], judged, ['ndcg_exp'])['ndcg_exp']).toBeCloseTo(
      (1 + 2 / Math.log2(3)) / (2 + 1 / Math.log2(3)),
      12,
    );
    expect(scores(['c'], judged, ['ndcg_exp'])['ndcg_exp']).toBe(0);
  });

  it('returns separate scores for each query of one evaluator', () => {
    const evaluate = createEvaluator(ALL_KEYS, 1);
    fc.assert(
      fc.property(fc.array(fc.tuple(anyRanking, anyJudgments), { maxLength: 5 }), (queries) => {
        for (const [ranking, judgments] of queries) {
          expect(evaluate(ranking, judgments)).toEqual(evaluateRanking(ranking, judgments, ALL_KEYS, 1));
        }
      }),
    );
  });
});

describe('a measure', () => {
  it('named cg sums the grades above 0 of the top k, whatever their order', () => {
    const judged = { a: 3, b: 1, c: -2 };
    expect(scores(['x', 'c', 'b', 'a'], judged, ['cg@3', 'cg@4', 'cg'])).toEqual({ 'cg@3': 1, 'cg@4': 4, cg: 4 });
  });

  it('lies in [0, 1], except cg and dcg, which are finite and at least 0', () => {
    fc.assert(
      fc.property(anyRanking, anyJudgments, fc.integer({ min: 1, max: 4 }), (ranking, judgments, level) => {
        const outside = Object.entries(scores(ranking, judgments, ALL_NAMES, level)).filter(
          ([name, value]) => !(value >= 0 && value <= (/^d?cg/.test(name) ? 1e6 : 1)),
        );
        expect(outside).toEqual([]);
      }),
    );
  });

  it('does not depend on the order of the judgments', () => {
    fc.assert(
      fc.property(anyRanking, anyJudgments, (ranking, judgments) => {
        const reversed = new Map([...judgments].toReversed());
        expect(scores(ranking, reversed)).toEqual(scores(ranking, judgments));
      }),
    );
  });

  it('named ndcg or ndcg_exp is 1 for a ranking by grade, at every cutoff', () => {
    fc.assert(
      fc.property(anyJudgments, (judgments) => {
        fc.pre([...judgments.values()].some((grade) => grade > 0));
        const best = [...judgments].toSorted((a, b) => b[1] - a[1]).map(([id]) => id);
        const names = ALL_NAMES.filter((name) => name.startsWith('ndcg'));
        expect(Object.values(scores(best, judgments, names)).every((value) => value === 1)).toBe(true);
      }),
    );
  });

  it('never drops when a better document swaps places with a worse one above it', () => {
    const rankedMeasures = ALL_NAMES.filter((name) => !name.startsWith('unjudged'));
    fc.assert(
      fc.property(anyRanking, anyJudgments, fc.nat(11), fc.nat(11), (ranking, judgments, x, y) => {
        const [above, below] = [Math.min(x, y), Math.max(x, y)];
        fc.pre(below < ranking.length && above < below);
        const gradeAt = (i: number): number => Math.max(0, judgments.get(ranking[i] ?? '') ?? 0);
        fc.pre(gradeAt(below) > gradeAt(above));
        const better = ranking.with(above, ranking[below] ?? '').with(below, ranking[above] ?? '');
        const before = scores(ranking, judgments, rankedMeasures);
        const fallen = Object.entries(scores(better, judgments, rankedMeasures)).filter(
          ([name, value]) => !(value >= (before[name] ?? 0) - 1e-15),
        );
        expect(fallen).toEqual([]);
      }),
    );
  });

  it('is at most 1 with repeated documents, and never lower with the policy collapse than with occupy', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...ids), { maxLength: 20 }), anyJudgments, (documents, judgments) => {
        const names = ALL_NAMES.filter((name) => !name.startsWith('unjudged') && !/^d?cg/.test(name));
        const collapsed = scores(applyDuplicatePolicy(documents, 'collapse').ranking, judgments, names);
        const occupied = scores(applyDuplicatePolicy(documents, 'occupy').ranking, judgments, names);
        expect(names.filter((name) => !isOrdered(occupied[name], collapsed[name]))).toEqual([]);
      }),
    );
  });
});
