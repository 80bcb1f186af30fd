/** The golden runs that the exporter reads. */
import { describe, expect, it } from 'vitest';
import type { NewRun } from '../../../../src/golden/rules/run.ts';
import { createGoldenRuns, type GoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import type { LatestRun } from '../../../../src/golden/sql/latest-runs.ts';
import { anAnswer, noLabels } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import { anEnd, createRun, floor, type GoldenStores, minutes, ndcg, nine } from '../../../support/golden-runs.ts';

const database = useDatabase();
const open = (): GoldenStores => ({
  runs: createGoldenRuns(database.pool),
  sets: createGoldenSets(database.pool),
});
const runs = (): GoldenRuns => open().runs;
const create = (run: Partial<NewRun> = {}): Promise<NewRun> => createRun(open(), run);
const latestOf = async (pipeline: string): Promise<LatestRun | undefined> =>
  (await runs().latest()).find((latest) => latest.pipeline === pipeline);

describe('the latest run of a pipeline and set', () => {
  it('does not exist before the first run', async () => {
    expect(await latestOf('never-ran')).toBeUndefined();
  });

  it('is only an attempt while it runs: no run has ended or completed', async () => {
    await create({ pipeline: 'first' });
    expect(await latestOf('first')).toEqual({
      pipeline: 'first',
      goldenSet: 'faq',
      lastAttemptAt: nine,
      runsByStatus: { running: 1, completed: 0, void: 0, failed: 0, cancelled: 0 },
      ended: null,
      completed: null,
    });
  });

  it('has its scores, outcomes, checks and duration when it completed', async () => {
    const { id } = await create({ pipeline: 'complete' });
    await runs().saveAnswers(id, [
      anAnswer(),
      anAnswer({ queryId: 'q2', outcome: 'timeout', documents: [], errorMessage: 'It did not answer.' }),
    ]);
    await runs().finish(id, anEnd({ segmentsOverflow: 7 }));
    expect(await latestOf('complete')).toEqual({
      pipeline: 'complete',
      goldenSet: 'faq',
      lastAttemptAt: nine,
      runsByStatus: { running: 0, completed: 1, void: 0, failed: 0, cancelled: 0 },
      ended: {
        durationSeconds: 120,
        failedBecause: null,
        forbidden: null,
        outcomes: { ok: 1, empty: 0, error: 0, timeout: 1 },
        failure: { message: 'It did not answer.', code: 'timeout', queries: 1, others: 0, notAsked: 0, total: 2 },
        checks: [floor],
        finishedAt: minutes(2),
      },
      completed: {
        startedAt: nine,
        finishedAt: minutes(2),
        scores: [ndcg],
        segmentsOverflow: 7,
        labels: noLabels,
        baseline: null,
      },
    });
  });

  it.each(['void', 'failed'] as const)(
    'keeps the scores of the last completed run when a later one is %s',
    async (status) => {
      const pipeline = `later-${status}`;
      const good = await create({ pipeline });
      await runs().finish(good.id, anEnd());
      const bad = await create({ pipeline, startedAt: minutes(60) });
      const noData = { ...floor, verdict: 'no_data', value: null } as const;
      await runs().finish(bad.id, anEnd({ status, finishedAt: minutes(61), scores: [], checks: [noData] }));
      await create({ pipeline, startedAt: minutes(120) });

      const latest = await latestOf(pipeline);
      expect(latest?.lastAttemptAt).toEqual(minutes(120));
      expect(latest?.runsByStatus).toMatchObject({ running: 1, completed: 1, [status]: 1 });
      expect(latest?.ended).toMatchObject({
        durationSeconds: 60,
        finishedAt: minutes(61),
        checks: [noData],
      });
      expect(latest?.completed).toMatchObject({
        finishedAt: minutes(2),
        scores: [ndcg],
        segmentsOverflow: 0,
      });
    },
  );

  it('skips cancelled runs, because they reveal nothing about the retriever', async () => {
    const pipeline = 'later-cancelled';
    const good = await create({ pipeline });
    await runs().finish(good.id, anEnd());
    const stopped = await create({ pipeline, startedAt: minutes(60) });
    await runs().finish(stopped.id, anEnd({ status: 'cancelled', finishedAt: minutes(61), scores: [], checks: [] }));

    const latest = await latestOf(pipeline);
    expect(latest?.lastAttemptAt).toEqual(minutes(60));
    expect(latest?.runsByStatus).toMatchObject({ completed: 1, cancelled: 1 });
    expect(latest?.ended).toMatchObject({ finishedAt: minutes(2), checks: [floor] });
  });

  it('is separate for each pipeline and set', async () => {
    await create({ pipeline: 'two-sets' });
    await create({ pipeline: 'two-sets', goldenSet: 'other' });
    const latest = (await runs().latest()).filter(({ pipeline }) => pipeline === 'two-sets');
    expect(latest.map(({ goldenSet }) => goldenSet)).toEqual(['faq', 'other']);
  });
});
