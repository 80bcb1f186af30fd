/** A new version of a golden set replaces the old one without manual work. */
import { describe, expect, it } from 'vitest';
import { goldenChecks, goldenQueries } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { type Answers, aGoldenWorld } from '../../support/golden-world.ts';

const database = useDatabase();
const START = new Date('2026-11-20T10:00:00.000Z');
const hour = (count: number): Date => new Date(START.getTime() + count * 3_600_000);

const FLOOR = { measure: 'ndcg@10', below: 0.8, severity: 'critical' } as const;
const REGRESSION = {
  measure: 'ndcg@10',
  drop: 0.02,
  alpha: 0.01,
  severity: 'critical',
  runs: 1,
} as const;
const floorName = (set: string): string => `ndcg@10 below 0.8 on ${set}`;
const regressionName = (set: string): string => `ndcg@10 regression by 0.02 on ${set}`;

/** The first n queries have their document at rank 1, and all other queries at rank 3. */
const rightUpTo =
  (easy: number): Answers =>
  (text) => {
    const number = Number(text.replace('question ', ''));
    return number <= easy ? [`d${number}`] : ['x', 'y', `d${number}`];
  };

const aWorld = (rotationRuns = 3) =>
  aGoldenWorld(
    database.pool,
    START,
    { rotationRuns },
    { checks: goldenChecks({ floors: [FLOOR], regressions: [REGRESSION] }) },
  );

/** Version 1 of the set is easy and has a pinned baseline; version 2 keeps half of its queries and adds hard ones. */
async function aRotation(rotationRuns = 3) {
  const world = aWorld(rotationRuns);
  world.answerWith(rightUpTo(40));
  await world.importSet({ contentHash: 'v1', queries: goldenQueries(40) });
  const [first] = await world.full(hour(0));
  if (first === undefined) throw new Error('no run');
  await world.baselines.pin(
    {
      pipeline: first.pipeline,
      goldenSet: first.goldenSet,
      runId: first.id,
      note: null,
      pinnedAt: hour(0),
      noise: {},
    },
    'ada',
  );
  await world.full(hour(1));
  await world.importSet({ contentHash: 'v2', queries: goldenQueries(60).slice(20) });
  return { world, set: world.golden.set };
}

describe('a new version of a golden set', () => {
  it('runs alongside the old version, replaces it after the configured number of runs, and fails no check', async () => {
    const { world, set } = await aRotation();
    const seen: { readonly ndcg: number | undefined; readonly left: number | undefined }[] = [];
    for (let at = 2; at < 8; at += 1) {
      const runs = await world.full(hour(at));
      expect(runs.map(({ goldenSetVersion }) => goldenSetVersion)).toEqual(at < 5 ? [1, 2] : [2]);
      const gauge = await world.gauges();
      seen.push({
        ndcg: gauge('recalld_golden_ndcg', { segment: 'all', k: '10' }),
        left: gauge('recalld_golden_rotation_runs_remaining'),
      });
      for (const check of [floorName(set), regressionName(set)])
        expect(gauge('recalld_check_state', { check, state: 'ok' })).toBe(1);
    }
    expect(seen).toEqual([
      { ndcg: 1, left: 2 },
      { ndcg: 1, left: 1 },
      { ndcg: 0.75, left: 0 },
      { ndcg: 0.75, left: 0 },
      { ndcg: 0.75, left: 0 },
      { ndcg: 0.75, left: 0 },
    ]);
  });

  it('is recorded as a change of the golden set, with the mean scores of both versions', async () => {
    const { world, set } = await aRotation(1);
    await world.full(hour(2));
    const [change] = await world.deployments.list({ pipeline: world.pipeline.name, limit: 10 });
    expect(change).toMatchObject({
      kind: 'golden',
      source: 'detected',
      version: `${set} v2`,
      note: `Version 2 of ${set} took over from version 1. At the scheduled times when runs of both versions completed, the mean ndcg@10 was 1 for the old version and 0.75 for the new one (−0.25).`,
    });
    expect(change?.changes).toEqual(
      expect.arrayContaining([
        { trait: 'version', before: '1', after: '2' },
        { trait: 'ndcg@10', before: '1', after: '0.75' },
      ]),
    );
  });

  it('shifts the threshold by the difference in scores, and a real regression is still detected', async () => {
    const { world, set } = await aRotation(1);
    await world.full(hour(2));
    expect((await world.gauges())('recalld_threshold', { check: floorName(set) })).toBeCloseTo(0.55, 9);
    world.answerWith(() => ['x', 'y', 'z']);
    await world.full(hour(3));
    const gauge = await world.gauges();
    for (const check of [floorName(set), regressionName(set)])
      expect(gauge('recalld_check_state', { check, state: 'critical' })).toBe(1);
  });

  it('keeps the threshold when judgments of the same queries changed, so that a wrong import is critical', async () => {
    const { world, set } = await aRotation(1);
    const wrong = goldenQueries(40).map((query) => ({
      ...query,
      judgments: query.judgments.map((judgment) => ({ ...judgment, documentId: 'd-wrong' })),
    }));
    await world.importSet({ contentHash: 'v3', queries: wrong });
    await world.full(hour(2));
    const gauge = await world.gauges();
    expect(gauge('recalld_threshold', { check: floorName(set) })).toBeCloseTo(0.8, 9);
    expect(gauge('recalld_check_state', { check: floorName(set), state: 'critical' })).toBe(1);
  });

  it.each([
    ['were cut off', (text: string) => text.slice(0, -1)],
    ['were edited', (text: string) => `it, as in ${text}`],
  ])('keeps the threshold when texts of the same queries %s, so that a damaged import is critical', async (_, edit) => {
    const { world, set } = await aRotation(1);
    const edited = goldenQueries(40).map((query) => ({ ...query, text: edit(query.text) }));
    await world.importSet({ contentHash: 'v3', queries: edited });
    await world.full(hour(2));
    const gauge = await world.gauges();
    expect(gauge('recalld_threshold', { check: floorName(set) })).toBeCloseTo(0.8, 9);
    expect(gauge('recalld_check_state', { check: floorName(set), state: 'critical' })).toBe(1);
  });

  it('does not hide a regression that occurs while both versions run', async () => {
    const { world, set } = await aRotation(3);
    await world.full(hour(2));
    world.answerWith(() => ['x', 'y', 'z']);
    for (const at of [3, 4, 5]) {
      await world.full(hour(at));
      expect((await world.gauges())('recalld_check_state', { check: floorName(set), state: 'critical' })).toBe(1);
    }
  });

  it('without queries in common with the pinned baseline is not compared, and the reason names the version to pin', async () => {
    const { world, set } = await aRotation(1);
    await world.importSet({ contentHash: 'v3', queries: goldenQueries(120).slice(80) });
    await world.full(hour(2));
    const [, run] = await world.runs
      .list({
        pipeline: world.pipeline.name,
        goldenSet: set,
        version: 3,
        limit: 2,
      })
      .then(async (runs) => [null, runs[0]] as const);
    const check = (await world.runs.checks(run?.id ?? '')).find(({ name }) => name === regressionName(set));
    expect(check?.verdict).toBe('no_data');
    expect(check?.explanation).toMatch(/no query or no cutoff in common with its baseline .*Pin a run of version 3/);
  });

  it('restarts its overlap when a newer version is imported, and the old version remains exported', async () => {
    const { world, set } = await aRotation(2);
    await world.full(hour(2));
    await world.importSet({ contentHash: 'v3', queries: goldenQueries(70).slice(30) });
    const runs = await world.full(hour(3));
    expect(runs.map(({ goldenSetVersion }) => goldenSetVersion)).toEqual([1, 3]);
    expect((await world.gauges())('recalld_golden_ndcg', { segment: 'all', k: '10' })).toBe(1);
    await world.full(hour(4));
    expect((await world.gauges())('recalld_golden_ndcg', { segment: 'all', k: '10' })).toBe(0.625);
    const rotations = await world.rotations.list({ goldenSet: set });
    expect(rotations.map(({ outcome }) => outcome)).toEqual(['completed', 'replaced']);
  });

  it('replaces the old version at once when no overlap is configured', async () => {
    const { world } = await aRotation(0);
    const runs = await world.full(hour(2));
    expect(runs.map(({ goldenSetVersion }) => goldenSetVersion)).toEqual([2]);
    expect((await world.gauges())('recalld_golden_ndcg', { segment: 'all', k: '10' })).toBe(0.75);
  });

  it('starts one overlap, and one run per version and tick, however many schedulers there are', async () => {
    const { world, set } = await aRotation(1);
    await world.full(hour(2), 5);
    expect(await world.rotations.list({ goldenSet: set })).toHaveLength(1);
    const runs = await world.runs.list({ pipeline: world.pipeline.name, goldenSet: set, limit: 10 });
    expect(runs.filter(({ scheduledFor }) => scheduledFor?.getTime() === hour(2).getTime())).toHaveLength(2);
  });
});
