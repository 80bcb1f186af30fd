/**
 * Tests golden queries with steps: each step is sent, the union of the results is scored, and checks and pages use this
 * score.
 */
import { expect, it } from 'vitest';
import { readRunQueries, summarizeRun } from '../../../src/golden/runs/run-summary.ts';
import { importGoldenQueries } from '../../../src/golden/sets/import-golden-set.ts';
import { createGoldenSets } from '../../../src/golden/sql/golden-sets.ts';
import { aGoldenQuery } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { aGoldenWorld } from '../../support/golden-world.ts';

const database = useDatabase();
const START = new Date('2026-11-20T10:00:00.000Z');
const queries = Array.from({ length: 20 }, (_, i) =>
  aGoldenQuery({
    id: `q${i}`,
    text: `whole ${i}`,
    steps: [`first ${i}`, `second ${i}`],
    judgments: [
      { documentId: `first-${i}`, grade: 1 },
      { documentId: `second-${i}`, grade: 1 },
    ],
  }),
);
const found = (text: string): string[] => [text.replace(' ', '-'), 'x'];

it('a run sends the steps, scores the union of their results, and fails a check if the second step finds nothing relevant', async () => {
  const world = aGoldenWorld(
    database.pool,
    START,
    {},
    { checks: [{ kind: 'floor', name: 'hops', measure: 'all_found@1', below: 0.7, severity: 'critical' }] },
  );
  await world.importSet({ queries });
  world.answerWith(found);
  const [well] = await world.full(START);
  if (well === undefined) throw new Error('a run is due');
  expect(world.asked.toSorted()).toEqual(queries.flatMap(({ steps = [] }) => steps).toSorted());
  const before = await summarizeRun(world.runs, well);
  expect(before.metrics['all_found@1']).toMatchObject({ mean: 1, n: 20, ci_method: 'wilson' });
  expect(before.metrics['union_recall@1']).toMatchObject({ mean: 1, n: 20 });
  expect(before.metrics['recall@1']).toMatchObject({ mean: 0.5 });
  expect(before.verdict).toBe('ok');

  world.answerWith((text) => (text.startsWith('second') ? ['x'] : found(text)));
  const [bad] = await world.full(new Date(START.getTime() + 3_600_000));
  if (bad === undefined) throw new Error('a run is due');
  const after = await summarizeRun(world.runs, bad);
  expect(after.metrics['all_found@1']).toMatchObject({ mean: 0 });
  expect(after.metrics['union_recall@1']).toMatchObject({ mean: 0.5 });
  expect(after.checks[0]).toMatchObject({ verdict: 'critical', value: 0 });
  const gauge = await world.gauges();
  expect(gauge('recalld_golden_all_found', { k: '1', segment: 'all' })).toBe(0);
  expect(gauge('recalld_golden_union_recall', { k: '1', segment: 'all' })).toBe(0.5);

  const page = await readRunQueries(world.deps, bad, null, null, 0, 1);
  expect(page.page[0]?.query.steps).toEqual(['first 0', 'second 0']);
  expect(page.page[0]?.answer?.documents).toMatchObject([
    { id: 'first-0', step: 1 },
    { id: 'x', step: 2 },
    { id: 'x', step: 1 },
  ]);
});

it('an upload with reordered steps is a new version, and each version keeps the order of its steps', async () => {
  const sets = createGoldenSets(database.pool);
  const upload = (steps: readonly string[]) =>
    importGoldenQueries(sets, 'uploaded', [[{ id: 'q1', text: 'whole', steps, relevant: ['d1'] }]], START);
  expect(await upload(['b', 'a'])).toMatchObject({ created: true, set: { version: 1 } });
  expect(await upload(['b', 'a'])).toMatchObject({ created: false });
  expect(await upload(['a', 'b'])).toMatchObject({ created: true, set: { version: 2 } });
  expect(await sets.queries('uploaded', 1)).toMatchObject([{ steps: ['b', 'a'] }]);
  expect(await sets.requests('uploaded', 2, null)).toBe(2);
});
