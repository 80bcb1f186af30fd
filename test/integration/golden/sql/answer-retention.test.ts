import { describe, expect, it } from 'vitest';
import { statisticsOfCommands } from '../../../../src/golden/golden-statistics.ts';
import { summarizeRun } from '../../../../src/golden/runs/run-summary.ts';
import { compareRunsById, readComparedSide } from '../../../../src/golden/runs/stored-runs.ts';
import { createGoldenBaselines } from '../../../../src/golden/sql/golden-baselines.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { aFailedAnswer, anAnswer, aScore } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { anEnd, importSet, minutes, putRun } from '../../../support/golden-runs.ts';

const database = useDatabase();
const { signal } = new AbortController();
let pipelines = 0;

/** Stores `count` runs that start two hours apart, the first at noon, each with a result list and a failure. */
async function aDayOfRuns(count: number) {
  const stores = {
    runs: createGoldenRuns(database.pool),
    sets: createGoldenSets(database.pool),
    baselines: createGoldenBaselines(database.pool),
    statistics: statisticsOfCommands,
  };
  await importSet(stores, 'faq');
  const pipeline = `docs ${(pipelines += 1)}`;
  const ids: string[] = [];
  for (let place = 0; place < count; place += 1) {
    const startedAt = minutes(place * 120);
    const end = anEnd({ finishedAt: minutes(place * 120 + 1), scores: [aScore({ mean: 0.8 })] });
    const answers = [anAnswer({ queryId: 'q1' }), aFailedAnswer({ queryId: 'q2' })];
    ids.push((await putRun(stores, { pipeline, startedAt }, { end, answers })).id);
  }
  const forget = () =>
    stores.runs.deleteAnswers({ pipeline, goldenSet: 'faq' }, minutes(100_000), minutes(200_000), signal);
  const withAnswers = async () => {
    const kept: number[] = [];
    for (const [place, id] of ids.entries()) if ((await stores.runs.answers(id)).length > 0) kept.push(place);
    return kept;
  };
  const run = async (place: number) => {
    const found = await stores.runs.find(ids[place] ?? '');
    if (found === null) throw new Error(`there is no run ${place}`);
    return found;
  };
  return { stores, pipeline, ids, forget, withAnswers, run };
}

describe('the answers of old golden runs', () => {
  it('are deleted, except those of the first and the last run of a day', async () => {
    const world = await aDayOfRuns(5);
    expect(await world.forget()).toBe(3);
    expect(await world.withAnswers()).toEqual([0, 4]);
    expect(await world.forget()).toBe(0);
  });

  it('are kept for baselines, including former ones, and for runs that incidents refer to', async () => {
    const { stores, pipeline, ids, forget, withAnswers } = await aDayOfRuns(6);
    for (const place of [1, 2]) {
      const pin = {
        pipeline,
        goldenSet: 'faq',
        runId: ids[place] ?? '',
        note: null,
        noise: {},
        pinnedAt: minutes(place),
      };
      await stores.baselines.pin(pin, 'a test', null);
    }
    await database.pool.query(
      `with i as (
         insert into incidents (pipeline, opened_at, severity, evaluated_at, timeline)
         values ($1::text, now(), 'critical', now(), '[]') returning id)
       insert into diagnoses (incident_id, diagnosed_at, cause, confidence, probability, summary, alerts, run_id, findings)
       select id, now(), 'unknown', 'low', 0.5, '', '{}', $2::text, '{}' from i`,
      [pipeline, ids[3]],
    );
    expect(await forget()).toBe(1);
    expect(await withAnswers()).toEqual([0, 1, 2, 3, 5]);
  });

  it('are deleted, but the scores and the outcome counts remain', async () => {
    const { stores, forget, run } = await aDayOfRuns(3);
    const before = await summarizeRun(stores.runs, await run(1));
    await forget();
    const after = await summarizeRun(stores.runs, await run(1));
    expect(after).toMatchObject({ queries: before.queries, metrics: before.metrics, verdict: before.verdict });
    expect(after.queries).toMatchObject({ ok: 1, error: 1 });
    expect(after.answers_deleted_at).toBe(minutes(200_000).toISOString());
  });

  it('are never mistaken for empty answers of the retriever', async () => {
    const { stores, ids, forget, run } = await aDayOfRuns(3);
    await forget();
    await expect(readComparedSide(contextOf({ db: { golden: stores } }), await run(1))).rejects.toMatchObject({
      code: 'answers_deleted',
    });
    const compared = compareRunsById(
      contextOf({ db: { golden: stores } }),
      ids[1] ?? '',
      ids[2] ?? '',
      null,
      'as_stored',
      signal,
    );
    await expect(compared).rejects.toMatchObject({ code: 'answers_deleted' });
  });
});
