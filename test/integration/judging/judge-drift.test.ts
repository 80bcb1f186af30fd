/** Daily regrading of fixed pairs detects a judge whose model changes behind an unchanged name. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DAY_MS } from '../../../src/core/time.ts';
import { judgingGauges } from '../../../src/judging/gauges.ts';
import { createDeployments } from '../../../src/live/deployments/deployments.ts';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import { useDatabase } from '../../support/database.ts';
import { status } from '../../support/fault-server.ts';
import { chatAnswer, JudgingWorld, judgeWithBias, PIPELINE } from '../../support/judging-world.ts';

const database = useDatabase();
let world: JudgingWorld;
beforeEach(async () => {
  world = await JudgingWorld.start(database.pool, { queriesPerDay: 1200, depth: 1 });
  await world.hourOf(world.samples(200));
  await world.round();
  // The day's pairs join the panel once the day's queries have been graded.
  await world.round();
});
afterEach(() => world.close());

const days = (count: number): void => world.clock.set(new Date(world.clock.now().getTime() + count * DAY_MS));
const pairs = (): Promise<number> => world.count('judge_panel_pairs');
const drift = async () => (await world.latest('judge_drift'))?.newest ?? null;
const changes = async () => (await createDeployments(database.pool).list({ pipeline: PIPELINE, limit: 9 })) ?? [];
const samples = async (name: string) => {
  const now = world.clock.now();
  const measurements = await createMeasurements(database.pool).latest(now);
  return judgingGauges([world.plan], { measurements })(now).filter((one) => one.name === name);
};

it('the judge panel grades the same pairs once a day, and reports an unchanged judge as steady', async () => {
  const joined = await pairs();
  expect(joined).toBe(30);
  const asked = world.judge.requests.length;
  days(1);
  await world.round();
  expect(world.judge.requests.length).toBe(asked + joined);
  expect(await drift()).toMatchObject({ value: 0, n: joined, details: { verdict: 'steady', changed_at: null } });
  await Promise.all([world.round(), world.round()]);
  expect(world.judge.requests.length).toBe(asked + joined);
  expect(await changes()).toEqual([]);
  expect(await samples('recalld_judge_panel_pairs')).toMatchObject([{ value: joined }]);
  expect(await samples('recalld_judge_changed_timestamp_seconds')).toEqual([]);
});

it('the judge panel records a changed judge as one deployment, and stores its grades separately', async () => {
  world.judge.respondWith(judgeWithBias(1));
  days(1);
  await world.round();
  await world.round();
  const found = await drift();
  expect(found?.details).toMatchObject({ verdict: 'changed' });
  expect(found?.ciLow).toBeGreaterThan(0.3);
  expect(await changes()).toMatchObject([
    { kind: 'judge', source: 'detected', changes: [{ trait: 'grades', before: 'as of 2026-11-20' }] },
  ]);
  expect(await samples('recalld_judge_changed_timestamp_seconds')).toHaveLength(1);
  // Grades of the old judge and the new judge are not mixed.
  expect((await world.latest('live_ndcg_uncorrected'))?.gap).not.toBeNull();
  // The grades of that day are the new judge's first grades.
  days(1);
  await world.round();
  expect(await drift()).toMatchObject({ value: 0, details: { verdict: 'steady' } });
  expect(await changes()).toHaveLength(1);
});

it('the judge panel counts a failing judge as grade 0, as in the scores', async () => {
  world.judge.respondWith(chatAnswer('I would rather not say.'));
  days(1);
  await world.round();
  expect(await drift()).toMatchObject({ details: { verdict: 'changed' } });
});

it('the judge panel loses no pair and grades none twice after a worker is killed', async () => {
  const asked = world.judge.requests.length;
  const stop = new AbortController();
  world.judge.respondWith((request, response) => {
    if (world.judge.requests.length === asked + 10) stop.abort(new Error('killed'));
    else judgeWithBias(0)(request, response);
  });
  days(1);
  await expect(world.round(stop.signal)).rejects.toThrow('killed');
  expect(await drift()).toBeNull();
  world.judge.respondWith(judgeWithBias(0));
  world.clock.set(new Date(world.clock.now().getTime() + 20 * 60_000));
  await world.round();
  // The call in flight is repeated.
  expect(world.judge.requests.length).toBe(asked + 31);
  expect(await drift()).toMatchObject({ n: 30 });
});

it('the judge panel defers the remaining pairs when the judge is down or the budget is spent', async () => {
  world.judge.respondWith(status(503));
  days(1);
  await world.round();
  expect(await drift()).toBeNull();
  world.judge.respondWith(judgeWithBias(0));
  await database.pool.query(
    `insert into judge_spending (pipeline, day, dollars) values ($1, ($2::timestamptz at time zone 'utc')::date, 1000)
     on conflict (pipeline, day) do update set dollars = 1000`,
    [PIPELINE, world.clock.now()],
  );
  const asked = world.judge.requests.length;
  await world.round();
  expect(world.judge.requests.length).toBe(asked);
  await database.pool.query('truncate judge_spending');
  await world.round();
  expect(await drift()).toMatchObject({ n: 30 });
});

it('a new model in the config starts an empty panel and records a deployment', async () => {
  const judge = world.plan.judge;
  if (judge === null) throw new Error('the world has a judge');
  const other = { ...judge, fingerprint: 'another', name: 'another' };
  await world.round(undefined, { judge: other });
  expect(await pairs()).toBe(0);
  expect(await changes()).toMatchObject([{ kind: 'judge', changes: [{ trait: 'judge', after: 'another another' }] }]);
});

it('the judge panel deletes the pairs of an erased query', async () => {
  const { rows } = await database.pool.query<{ query_id: string }>('select query_id from judge_panel_pairs limit 1');
  await world.eraseQuery(rows[0]?.query_id ?? '');
  expect(await pairs()).toBe(29);
});
