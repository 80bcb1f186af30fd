/** Unanswerable queries: an empty result list is right, any other list is a false answer, and no score is affected. */
import { expect, it } from 'vitest';
import { summarizeRun } from '../../../src/golden/runs/run-summary.ts';
import { aGoldenQuery, goldenQueries } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { type Answers, aGoldenWorld } from '../../support/golden-world.ts';

const database = useDatabase();
const START = new Date('2026-11-20T10:00:00.000Z');
const unanswerable = Array.from({ length: 8 }, (_, i) =>
  aGoldenQuery({ id: `none-${i}`, text: `off topic ${i}`, judgments: [], noAnswer: true }),
);
const right: Answers = (text) => (text.startsWith('off topic') ? [] : [text.replace('question ', 'd')]);

it('no-answer queries have a separate measure, check and list, and do not affect mean scores', async () => {
  const thresholds = [
    {
      measure: 'false_answer_ratio',
      threshold: 0.2,
      severity: 'critical',
      segments: 'all',
      minN: 5,
      confirm: 1,
      noData: 'silent',
    },
  ] as const;
  const world = aGoldenWorld(database.pool, START, {}, { thresholds });
  await world.importSet({ queries: [...goldenQueries(10), ...unanswerable] });
  world.answerWith(right);
  const [well] = await world.full(START);
  if (well === undefined) throw new Error('a run is due');
  const before = await summarizeRun(world.runs, well);
  expect(before.no_answer).toMatchObject({ false_answer_ratio: 0, n: 8, failed: 0, answered: 0, worst: [] });
  expect(before.metrics['ndcg@10']).toMatchObject({ mean: 1, n: 10 });
  const healthy = await world.gauges();
  expect(healthy('recalld_golden_false_answer_ratio')).toBe(0);
  expect(healthy('recalld_golden_no_answer_queries')).toBe(8);
  expect(healthy('recalld_check_state', { state: 'critical' })).toBe(0);

  world.answerWith((text) =>
    text === 'off topic 0' ? null : text.startsWith('off topic') ? ['d1', 'd2'] : right(text),
  );
  const [wrong] = await world.full(new Date(START.getTime() + 3_600_000));
  if (wrong === undefined) throw new Error('a run is due');
  const after = await summarizeRun(world.runs, wrong);
  expect(after.no_answer).toMatchObject({ false_answer_ratio: 1, n: 8, failed: 1, answered: 7 });
  expect(after.no_answer?.worst[0]).toEqual({ query: 'none-1', documents: 2, score: 1 });
  expect(after.metrics['ndcg@10']).toMatchObject({ mean: 1, n: 10 });
  const broken = await world.gauges();
  expect(broken('recalld_golden_false_answer_ratio_ci_low')).toBeGreaterThan(0.6);
  expect(broken('recalld_check_state', { state: 'critical' })).toBe(1);
});
