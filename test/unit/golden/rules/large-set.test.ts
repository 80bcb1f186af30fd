import { expect, it } from 'vitest';
import { statisticsOfCommands as statistics } from '../../../../src/golden/golden-statistics.ts';
import { noStatistics } from '../../../../src/golden/rules/compare-golden-runs.ts';
import { anAnswer, aRunSettings, documents, goldenQueries } from '../../../support/builders.ts';
import { evaluateFloor, evaluateRegression } from '../../../support/judge-check.ts';

const QUERIES = 100_000;
const never = new AbortController().signal;

it('a set of 100,000 queries is scored, compared and evaluated like any other', async () => {
  const queries = goldenQueries(QUERIES);
  const settings = aRunSettings({ cutoffs: [10] });
  /** Every n-th query is answered incorrectly. */
  const answersWrong = (every: number) =>
    queries.map(({ id }, i) =>
      anAnswer({ queryId: id, documents: documents((i + 1) % every === 0 ? 'x' : `d${i + 1}`) }),
    );
  const [before, after] = [answersWrong(10), answersWrong(8)];
  const { scores } = await statistics.scoreRun(queries, after, settings, new Set(), never);
  const floor = evaluateFloor({ measure: 'ndcg@10', below: 0.9, severity: 'critical' }, scores);
  expect(floor).toMatchObject({ verdict: 'critical', value: 0.875 });
  expect(floor.explanation).toContain('n = 100000');

  const side = (answers: typeof before) => ({ queries, answers, settings });
  const metrics = (await statistics.compareRuns(side(before), side(after), new Set(), noStatistics, never)) ?? [];
  const regression = evaluateRegression(
    { measure: 'ndcg@10', drop: 0.02, alpha: 0.01, severity: 'critical', runs: 1 },
    { runId: 'run-2', baselineRunId: 'run-1', metrics },
    [],
  );
  expect(regression.verdict).toBe('critical');
  expect(regression.value).toBeCloseTo(-0.025, 12);
}, 60_000);
