import { expect, it } from 'vitest';
import { describeCost, expectedCost } from '../../../src/judging/expected-cost.ts';
import { createChatJudge, type Judge } from '../../../src/judging/judge.ts';
import type { JudgingPlan } from '../../../src/judging/plan.ts';

const model = { model: 'stand-in', answer: () => Promise.reject(new Error('must not be called')) };
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

it('estimates the daily cost of queries and drift panel from typical calls, which cost far less than the maximum', () => {
  const cost = expectedCost(plan(judge, 2));
  expect(cost).toMatchObject({ pipeline: 'docs', gradesPerDay: 1000, panelPairsPerDay: 150, maxCostPerDay: 2 });
  // A grade costs about 900 tokens (rubric, query and document), at 0.4 dollars per million.
  expect(cost?.dollarsPerDay).toBeGreaterThan(0.3);
  expect(cost?.dollarsPerDay).toBeLessThan(0.6);
  const request = { query: 'q', document: 'd'.repeat(1500) };
  expect(judge.typicalCost(request)).toBeLessThan(judge.maxCost(request) / 2);
  expect(cost === null ? '' : describeCost(cost)).toMatch(
    /^docs: the judge grades 1000 documents of live queries and 150 pairs of the drift panel per day, for about \$0\.\d\d .*judged\.max_cost_per_day is \$2\.$/,
  );
});

it('warns about a daily limit that is too low, and states what to change', () => {
  const cost = expectedCost(plan(judge, 0.1));
  expect(cost === null ? '' : describeCost(cost)).toMatch(
    /Warning: judged\.max_cost_per_day is \$0\.1, so only about \d\d % of these documents and pairs are graded\. Raise this limit, or lower judged\.queries_per_day/,
  );
});

it('estimates no cost when only people grade', () => {
  expect(expectedCost(plan(null, 2))).toBeNull();
});

it('adds pooled documents for the pooled share of the queries', () => {
  const pooling = { ...plan(judge, 2), pooling: { share: 0.05, documents: 20 } };
  expect(expectedCost(pooling)).toMatchObject({ gradesPerDay: 1200, panelPairsPerDay: 150 });
  expect(expectedCost(pooling)?.dollarsPerDay).toBeGreaterThan(expectedCost(plan(judge, 2))?.dollarsPerDay ?? 0);
});
