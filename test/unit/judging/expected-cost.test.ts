import { expect, it } from 'vitest';
import { costInWords, expectedCost } from '../../../src/judging/expected-cost.ts';
import { createChatJudge, type Judge } from '../../../src/judging/judge.ts';
import type { JudgingPlan } from '../../../src/judging/plan.ts';

const model = { model: 'stand-in', answer: () => Promise.reject(new Error('nobody asks')) };
const judge = createChatJudge(model, 'http://localhost', { input: 0.4, output: 1.6 });

const plan = (judge: Judge | null, maxCostPerDay: number): JudgingPlan =>
  ({
    pipeline: 'docs',
    judge,
    queriesPerDay: 200,
    depth: 5,
    pooling: null,
    shadowLists: 0,
    maxCostPerDay,
  }) as JudgingPlan;

it('a day of grades costs what its texts and the panel come to, and no more than half of the dearest', () => {
  const cost = expectedCost(plan(judge, 2));
  expect(cost).toMatchObject({ pipeline: 'docs', gradesPerDay: 1000, panelPairsPerDay: 150, maxCostPerDay: 2 });
  // Some 900 tokens of rubric, question and document, at 0.4 dollars a million.
  expect(cost?.dollarsPerDay).toBeGreaterThan(0.3);
  expect(cost?.dollarsPerDay).toBeLessThan(0.6);
  const request = { query: 'q', document: 'd'.repeat(1500) };
  expect(judge.usual(request)).toBeLessThan(judge.dearest(request) / 2);
  expect(cost === null ? '' : costInWords(cost)).toMatch(
    /^The judge of docs grades 1000 documents of live queries and 150 pairs of the panel a day, for about \$0\.\d\d .*; judged\.max_cost_per_day is \$2\.$/,
  );
});

it('a cap that will not pay for the day is warned of, with the way out', () => {
  const cost = expectedCost(plan(judge, 0.1));
  expect(cost === null ? '' : costInWords(cost)).toMatch(
    /Warning: judged\.max_cost_per_day is \$0\.1, so that about \d\d % of it is graded; raise it, or lower judged\.queries_per_day/,
  );
});

it('people cost nothing that a config knows', () => {
  expect(expectedCost(plan(null, 2))).toBeNull();
});

it('a deeper search counts with its share of the queries', () => {
  const pooling = { ...plan(judge, 2), pooling: { share: 0.05, documents: 20 } };
  expect(expectedCost(pooling)).toMatchObject({ gradesPerDay: 1200, panelPairsPerDay: 150 });
  expect(expectedCost(pooling)?.dollarsPerDay).toBeGreaterThan(expectedCost(plan(judge, 2))?.dollarsPerDay ?? 0);
});
