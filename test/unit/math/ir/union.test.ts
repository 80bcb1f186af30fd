import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluateRanking } from '../../../../src/math/ir/evaluate.ts';
import { parseMetricKey } from '../../../../src/math/ir/metric-key.ts';
import type { Ranking } from '../../../../src/math/ir/ranking.ts';
import { createUnionEvaluator, interleave } from '../../../../src/math/ir/union.ts';

const NAMES = ['union_recall@1', 'union_recall@2', 'all_found@1', 'all_found@2', 'recall@2', 'mrr@5', 'ndcg@5'];
const keys = NAMES.map(parseMetricKey);

function scores(steps: readonly Ranking[], judgments: Readonly<Record<string, number>>, level = 1) {
  const values = createUnionEvaluator(keys, level)(steps, new Map(Object.entries(judgments)));
  return Object.fromEntries(NAMES.map((name, i) => [name, values[i]]));
}

const ids = Array.from({ length: 8 }, (_, i) => `d${i}`);
const anyRanking = fc.shuffledSubarray(ids);
const anySteps = fc.array(anyRanking, { minLength: 1, maxLength: 4 });
const anyJudgments = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...ids, 'x'), fc.integer({ min: 0, max: 3 })), { selector: ([id]) => id })
  .map((pairs) => Object.fromEntries(pairs));

describe('the union of steps', () => {
  it('contains the first k documents of every step, so that each hop may find its own document at rank 1', () => {
    expect(
      scores(
        [
          ['a', 'x'],
          ['b', 'y'],
        ],
        { a: 1, b: 1 },
      ),
    ).toMatchObject({ 'union_recall@1': 1, 'all_found@1': 1 });
  });

  it('does not contain a document below rank k of its step, whatever its rank in the merged ranking', () => {
    expect(scores([['x', 'a'], []], { a: 1 })).toMatchObject({ 'union_recall@1': 0, 'union_recall@2': 1 });
  });

  it('counts a document only once if several steps return it', () => {
    expect(scores([['a'], ['a'], ['a']], { a: 1, b: 1 })).toMatchObject({ 'union_recall@2': 0.5, 'all_found@2': 0 });
  });

  it('requires only documents at the relevance level, and scores 0 if no document is relevant', () => {
    expect(scores([['a']], { a: 2, b: 1 }, 2)).toMatchObject({ 'all_found@1': 1 });
    expect(scores([['a']], { a: 0 })).toMatchObject({ 'union_recall@1': 0, 'all_found@1': 0 });
  });

  it('is the same in any order of the steps', () => {
    fc.assert(
      fc.property(anySteps, anyJudgments, (steps, judgments) => {
        const [one, other] = [scores(steps, judgments), scores(steps.toReversed(), judgments)];
        for (const name of NAMES.slice(0, 4)) expect(other[name]).toBe(one[name]);
      }),
    );
  });

  it('scores the share of relevant documents that are in the first k of any step', () => {
    fc.assert(
      fc.property(anySteps, anyJudgments, (steps, judgments) => {
        const relevant = Object.entries(judgments).flatMap(([id, grade]) => (grade > 0 ? [id] : []));
        for (const k of [1, 2]) {
          const found = relevant.filter((id) => steps.some((ranking) => ranking.slice(0, k).includes(id)));
          const all = scores(steps, judgments);
          expect(all[`union_recall@${k}`]).toBe(relevant.length === 0 ? 0 : found.length / relevant.length);
          expect(all[`all_found@${k}`]).toBe(Number(relevant.length > 0 && found.length === relevant.length));
        }
      }),
    );
  });

  it('is scored like a plain ranking if there is one step', () => {
    fc.assert(
      fc.property(anyRanking, anyJudgments, (ranking, judgments) => {
        const plain = evaluateRanking(ranking, new Map(Object.entries(judgments)), keys, 1);
        expect(Object.values(scores([ranking], judgments))).toEqual(plain);
        expect(plain[1]).toBe(plain[4]);
      }),
    );
  });
});

describe('the merged ranking of steps', () => {
  it('takes rank 1 of each step, then rank 2 of each step, and skips steps that have ended', () => {
    expect(interleave([['a', 'b', 'c'], ['d'], [], ['e', 'f']])).toEqual(['a', 'd', 'e', 'b', 'f', 'c']);
  });

  it('is scored by every other measure, with a repeated document at its first rank', () => {
    // The merged list is x, b, a, y.
    const merged = scores(
      [
        ['x', 'a'],
        ['b', 'x', 'y'],
      ],
      { a: 1, b: 1 },
    );
    expect(merged).toMatchObject({ 'mrr@5': 0.5, 'recall@2': 0.5 });
    expect(merged['ndcg@5']).toBeCloseTo((1 / Math.log2(3) + 0.5) / (1 + 1 / Math.log2(3)), 12);
  });
});
