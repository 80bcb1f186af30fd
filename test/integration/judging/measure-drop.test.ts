/** A drop in live relevance is detected by the model and confirmed by people. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/core/time.ts';
import { judgingGauges } from '../../../src/judging/gauges.ts';
import type { LiveSample } from '../../../src/live/sql/record-arrivals.ts';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import { useDatabase } from '../../support/database.ts';
import { documentOf, JudgingWorld, judgeWithBias, PIPELINE, promptOf } from '../../support/judging-world.ts';

const database = useDatabase();
let world: JudgingWorld;
beforeEach(async () => {
  world = await JudgingWorld.start(database.pool, { queriesPerDay: 1500, humanShare: 1 });
});
afterEach(() => world.close());

const midnight = (): number => Math.floor(world.clock.now().getTime() / DAY_MS) * DAY_MS;

/** Creates samples whose best documents are first (`order` 1) or last (`order` -1). */
function answered(name: string, order: 1 | -1): LiveSample[] {
  return world.samples(200).map((one, i) => ({
    ...one,
    id: `${name} ${i}`,
    sessionHash: `${name} session ${Math.floor(i / 2)}`,
    results: one.results.toSorted((a, b) => order * (qualityOf(b.id) - qualityOf(a.id))),
  }));
}

function qualityOf(id: string): number {
  const [question = '', rank] = id.split('/');
  return documentOf(question, Number(rank)).quality;
}

/** One good day that people also graded, three equally good weeks, and then a day with the best documents last. */
async function weeksAndABadDay(): Promise<void> {
  await world.hourOf(answered('good', 1));
  await world.round();
  await world.peopleGrade();
  // This round fills the panel.
  await world.round();
  world.clock.set(new Date(midnight() + 2 * DAY_MS + 10 * HOUR_MS));
  await world.round();
  await createMeasurements(database.pool).record(
    Array.from({ length: 21 }, (_, i) => ({
      kind: 'value' as const,
      pipeline: PIPELINE,
      segment: 'all',
      measure: 'judged_day',
      windowStart: new Date(midnight() - (i + 1) * DAY_MS),
      windowEnd: new Date(midnight() - i * DAY_MS),
      measuredAt: world.clock.now(),
      value: i % 2 === 0 ? 0.94 : 0.96,
      ciLow: 0.9,
      ciHigh: 0.99,
      ciMethod: 'jackknife',
      n: 200,
      details: { judge: world.plan.judge?.fingerprint, error: 0.01 },
    })),
  );
  await world.hourOf(answered('bad', -1));
  world.clock.set(new Date(midnight() + DAY_MS + HOUR_MS));
  await world.round();
}

const latestDrop = async () => (await world.latest('live_ndcg_drop')) ?? null;
const states = async () => {
  const now = world.clock.now();
  const measurements = await createMeasurements(database.pool).latest(now);
  return judgingGauges([world.plan], { measurements })(now).flatMap(({ name, labels, value }) =>
    name === 'recalld_live_drop_state' && value === 1 ? [labels['state']] : [],
  );
};

it('a drop is detected by the model while the judge is unchanged, and confirmed by people', async () => {
  await weeksAndABadDay();
  const called = await latestDrop();
  expect(called?.newest).toMatchObject({ details: { state: 'detected', by: 'model', days: 1 } });
  expect(called?.newest?.ciLow).toBeGreaterThan(0);
  expect(await states()).toEqual(['detected']);
  await world.peopleGrade();
  world.clock.set(new Date(world.clock.now().getTime() + HOUR_MS));
  await world.round();
  const confirmed = await latestDrop();
  expect(confirmed?.newest).toMatchObject({ details: { state: 'confirmed', by: 'human' } });
  expect(confirmed?.newest?.ciLow).toBeGreaterThan(0);
  expect(await states()).toEqual(['confirmed']);
});

it('a drop is not detected while the judge may have changed', async () => {
  let moved = 0;
  world.judge.respondWith((request, response) => {
    // Nine of the last day's query-document pairs get a higher grade.
    const isMoved = isLast && moved < 9 && !promptOf(request).includes('quality 3');
    if (isMoved) moved += 1;
    judgeWithBias(isMoved ? 1 : 0)(request, response);
  });
  let isLast = false;
  const round = world.round.bind(world);
  world.round = (...given) => {
    isLast = world.clock.now().getUTCHours() === 1;
    return round(...given);
  };
  await weeksAndABadDay();
  expect((await latestDrop())?.gap?.reason).toBe('judge_drift_suspected');
  expect(await states()).toEqual([]);
});

it('a drop is unknown without two weeks of baseline days, or when only people grade', async () => {
  await world.hourOf(answered('good', 1));
  await world.round();
  world.clock.set(new Date(midnight() + DAY_MS + HOUR_MS));
  await world.round();
  expect((await latestDrop())?.gap?.reason).toBe('no_baseline');
  await world.round(undefined, { judge: null });
  expect((await latestDrop())?.gap?.reason).toBe('no_judge');
});
