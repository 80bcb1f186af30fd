/** Drawn live queries that a shadow is asked too, over a real database and a judge behind a real endpoint. */
import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RetrieverRequest } from '../../../src/connectors/retrievers/retriever.ts';
import { createThrottleLimits } from '../../../src/connectors/throttle/limits.ts';
import { readTimeRange } from '../../../src/console/links.ts';
import { createGoldenRuns } from '../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../src/golden/sql/golden-sets.ts';
import { createGoldenTicks } from '../../../src/golden/sql/golden-ticks.ts';
import type { Shadow } from '../../../src/golden/watched-pipeline.ts';
import { readShadowGauges } from '../../../src/shadow/gauges.ts';
import { type JudgeShadowsDeps, judgeShadows } from '../../../src/shadow/judge-shadows.ts';
import { createRelevanceTables } from '../../../src/shadow/relevance-tables.ts';
import { type LivePair, sumLiveDay } from '../../../src/shadow/rules/relevance.ts';
import { shadowText } from '../../../src/shadow/shadow-command.ts';
import { ShadowPage } from '../../../src/shadow/shadow-page.tsx';
import { readShadow, readShadowPage } from '../../../src/shadow/shadow-reads.ts';
import { createShadowTables } from '../../../src/shadow/shadow-tables.ts';
import { DAY_MS } from '../../../src/time.ts';
import { aWatchedPipeline, NOON } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { documentOf, JudgingWorld, PIPELINE } from '../../support/judging-world.ts';

type Brings = readonly { readonly id: string; readonly text: string | null }[];

const database = useDatabase();
const signal = new AbortController().signal;
const DEPTH = 3;
let world: JudgingWorld;
beforeEach(async () => {
  world = await JudgingWorld.start(database.pool, { shadowLists: 1, queriesPerDay: 720 });
  await database.pool.query('truncate shadow_pairs, unshown_grades, shadow_live_days, shadow_answers');
});
afterEach(() => world.close());

/** What users got. */
const same = (question: string): Brings =>
  Array.from({ length: DEPTH }, (_, at) => documentOf(question, at + 1)).map(({ id, text }) => ({ id, text }));
/** What users got, and before it a document that answers. */
const better = (question: string): Brings => [
  { id: `${question}/best`, text: `It says of ${question}: quality 3.` },
  ...same(question),
];

function aJudgedShadow(brings: (question: string) => Brings | null, parts: Partial<Shadow> = {}) {
  const asked: RetrieverRequest[] = [];
  const shadow: Shadow = {
    name: 'next',
    fingerprint: 'f1',
    liveRate: 0.05,
    maxCallsPerDay: 1000,
    limits: { concurrency: 4, maxPerSecond: 10_000 },
    costPerCall: 0,
    difference: 0.03,
    chunkSeparator: null,
    judgedDepth: DEPTH,
    asked: aWatchedPipeline({
      name: `${PIPELINE}~next`,
      golden: [],
      shadowOf: PIPELINE,
      retriever: {
        async retrieve(request) {
          asked.push(request);
          const found = brings(request.text);
          const common = { latencyMs: 5, attempts: 1 };
          if (found === null) return { kind: 'error', code: 'http_500', message: 'it answered 500', ...common };
          return { kind: 'documents', documents: found.map((one) => ({ ...one, score: 1 })), ...common };
        },
      },
    }),
    ...parts,
  };
  const relevance = createRelevanceTables(database.pool);
  const key = { pipeline: PIPELINE, shadow: 'next', fingerprint: 'f1' };
  const deps: JudgeShadowsDeps = {
    ...world.deps,
    shadows: createShadowTables(database.pool),
    relevance,
    sets: createGoldenSets(database.pool),
    limits: createThrottleLimits(database.pool),
    pipelines: [aWatchedPipeline({ name: PIPELINE, golden: [], shadows: [shadow] })],
    holder: 'me',
  };
  return {
    asked,
    round: (maxCostPerDay = 1000) => judgeShadows(deps, [{ ...world.plan, maxCostPerDay }], signal),
    days: () => relevance.days(key, DEPTH),
    saveDay: (day: string, pairs: readonly LivePair[]) => relevance.saveDay(key, DEPTH, sumLiveDay(day, pairs, 2)),
    readFrom: {
      ...deps,
      shadows: createShadowTables(database.pool),
      sets: createGoldenSets(database.pool),
      runs: createGoldenRuns(database.pool),
      ticks: createGoldenTicks(database.pool),
    },
    shadow,
  };
}

const range = readTimeRange({ range: '7d' }, NOON);
const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

const pairs = (where: string): Promise<number> => world.count(`shadow_pairs where ${where}`);

describe('a shadow of a judged pipeline', () => {
  it('is asked each drawn query once, and what it shares with users is graded and paid for once', async () => {
    const shadow = aJudgedShadow(better);
    await world.hourOf(world.samples(80));
    await world.round();
    const drawn = await world.count('judged_queries');
    const paid = world.judge.requests.length;
    await shadow.round();
    await shadow.round();
    expect(shadow.asked.length).toBe(drawn);
    expect(shadow.asked.every(({ withText, k }) => withText === true && k === DEPTH)).toBe(true);
    expect(await pairs(`outcome = 'graded'`)).toBe(drawn);
    expect(world.judge.requests.length).toBe(paid + drawn);
    // Each with its chance of being kept and drawn.
    expect(
      await world.count(
        'shadow_pairs join judged_queries using (pipeline, query_id) where shadow_pairs.probability <> judged_queries.probability',
      ),
    ).toBe(0);
    expect(await pairs('candidate < baseline')).toBe(0);
    expect(await pairs('candidate > baseline')).toBeGreaterThan(drawn / 2);
  });

  it('that brings the same is alike to the last digit, and its days are written when they are over', async () => {
    const shadow = aJudgedShadow(same);
    await world.hourOf(world.samples(40));
    await world.round();
    await shadow.round();
    expect(await shadow.days()).toEqual([]);
    world.clock.set(new Date(NOON.getTime() + DAY_MS));
    await shadow.round();
    const [day] = await shadow.days();
    expect(day).toMatchObject({ day: NOON.toISOString().slice(0, 10), leftOut: 0, queries: await pairs('true') });
    expect(day?.baseline).toBe(day?.candidate);
    expect(day?.baseline).toBeGreaterThan(0);
  });

  it('asks the judge for no more money than the day has', async () => {
    const shadow = aJudgedShadow(better);
    await world.hourOf(world.samples(40));
    await world.round();
    const paid = world.judge.requests.length;
    await shadow.round(0);
    expect(world.judge.requests.length).toBe(paid);
    expect(await pairs('true')).toBe(0);
    await shadow.round();
    expect(await pairs(`outcome = 'graded'`)).toBe(await world.count('judged_queries'));
  });

  it('is held to its budget of calls, and left alone when it fails', async () => {
    await world.hourOf(world.samples(80));
    await world.round();
    await aJudgedShadow(better, { maxCallsPerDay: 7 }).round();
    expect(await pairs('true')).toBe(7);
    await database.pool.query('truncate shadow_pairs');
    await aJudgedShadow(() => null).round();
    expect(await pairs(`outcome = 'failed'`)).toBe(await pairs('true'));
    expect(await pairs('true')).toBeLessThan(10);
  });

  it('is credited where users got nothing, for as many queries as a judge can be asked about', async () => {
    const empty = world.samples(100, { outcome: 'empty', results: [], probability: 1 }).map((one, i) => ({
      ...one,
      id: `empty ${i}`,
      sessionHash: `empty session ${i}`,
    }));
    await world.hourOf([...world.samples(40), ...empty]);
    await world.round();
    const shadow = aJudgedShadow(better);
    await shadow.round();
    const found = await pairs(`query_id like 'empty%' and baseline = 0 and candidate > 0`);
    expect(found).toBeGreaterThan(0);
    expect(found).toBeLessThan(20);
  });

  it('whose texts cannot be read is not held against users, and erasure reaches it', async () => {
    const shadow = aJudgedShadow((question) => [...same(question).slice(1), { id: 'unknown', text: null }]);
    await world.hourOf(world.samples(40));
    await world.round();
    await shadow.round();
    expect(await pairs(`outcome = 'ungraded'`)).toBe(await world.count('judged_queries'));
    const { rows } = await database.pool.query<{ id: string }>('select query_id as id from shadow_pairs limit 1');
    await world.eraseQuery(rows[0]?.id ?? '');
    expect(await pairs(`query_id = '${rows[0]?.id}'`)).toBe(0);
  });

  it('is reported to a colleague, to a terminal and to Prometheus, from days with what they came to', async () => {
    const { shadow, saveDay, readFrom } = aJudgedShadow(better);
    const [pipeline] = readFrom.pipelines;
    if (pipeline === undefined) throw new Error('there is no pipeline');
    const shown = async (): Promise<string> => {
      const data = await readShadowPage(readFrom, PIPELINE, true);
      const frame = { path: '/', query: {}, range, now: NOON, visitor: null, version: '1', notice: null };
      return textOf(renderToString(h(ShadowPage, { frame, data })));
    };
    expect(await shown()).toContain('no day is over yet');
    expect(shadowText(await readShadow(readFrom, pipeline, shadow))).toContain(
      'Judged live relevance, ndcg@3: no data; no day is over on which both lists were graded.',
    );
    // Every fourth query is answered worse by it.
    for (let day = 1; day <= 8; day++) {
      const pairs = Array.from({ length: 60 }, (_, i) => ({
        cluster: i / 60,
        probability: 0.25,
        baseline: 0.75,
        candidate: i % 4 === 0 ? 0.35 : 0.75,
      }));
      await saveDay(`2026-11-${10 + day}`, pairs);
    }
    const report = await readShadow(readFrom, pipeline, shadow);
    const page = await shown();
    expect(page).toContain('Beside what users got, by the judge of live queries');
    expect(page).toMatch(/nDCG@3 Worse 0\.7500 0\.6500 \u22120\.1000 \u22120\.\d+ to \u22120\.\d+ 0\.\d+ 480, 8 16/);
    expect(page).toContain('Judged live relevance: It is decided.');
    const text = shadowText(report);
    expect(text).toMatch(/next beside docs: worse.*It is worse: do not let it take the place of the retriever\./);
    expect(text).toMatch(
      /Judged live relevance, ndcg@3: worse: 0\.7500 -> 0\.6500 \(-0\.1000, at every look -0\.\d+ to -0\.\d+; 480 queries of 8 days, 16 left out\)\./,
    );
    const gauges = async (at: Date) =>
      Object.fromEntries(
        (await readShadowGauges(readFrom))(at)
          .filter(({ name }) => name.startsWith('recalld_shadow_live_'))
          .map(({ name, labels, value }) => [`${name} ${labels['verdict'] ?? labels['k'] ?? ''}`, value]),
      );
    const live = await gauges(NOON);
    expect(live).toMatchObject({
      'recalld_shadow_live_verdict worse': 1,
      'recalld_shadow_live_verdict better': 0,
      'recalld_shadow_live_judged_queries 3': 480,
      'recalld_shadow_live_difference 3': expect.closeTo(-0.1, 12),
    });
    expect(live['recalld_shadow_live_difference_ci_high 3']).toBeLessThan(0);
    const old = await gauges(new Date(NOON.getTime() + 4 * DAY_MS));
    expect(old['recalld_shadow_live_verdict worse']).toBe(1);
    expect(Object.keys(old).filter((name) => name.includes('difference'))).toEqual([]);
  });
});
