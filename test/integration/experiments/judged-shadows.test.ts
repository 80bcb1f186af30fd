/** Live queries are judged and also sent to a shadow, with a real database and a judge behind a real endpoint. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RetrieverRequest } from '../../../src/connectors/retrievers/retriever.ts';
import { DAY_MS } from '../../../src/core/time.ts';
import { experimentsPage, readExperimentsPage } from '../../../src/experiments/edge/experiments-page.ts';
import { shadowSection } from '../../../src/experiments/edge/shown.ts';
import { readExperimentGauges } from '../../../src/experiments/gauges.ts';
import { judgeShadows } from '../../../src/experiments/judge-shadows.ts';
import { readShadow } from '../../../src/experiments/read-reports.ts';
import { type LivePair, sumPairs } from '../../../src/experiments/rules/live-pairs.ts';
import { createInterimAnalyses, judgedSeries } from '../../../src/experiments/sql/interim-analyses.ts';
import type { Shadow } from '../../../src/golden/watched-pipeline.ts';
import { readTimeRange } from '../../../src/report/console/links.ts';
import { renderPage } from '../../../src/report/console/render.tsx';
import { terminalText } from '../../../src/report/terminal.ts';
import { aWatchedPipeline, NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { documentOf, JudgingWorld, PIPELINE } from '../../support/judging-world.ts';

type Results = readonly { readonly id: string; readonly text: string | null }[];

const database = useDatabase();
const signal = new AbortController().signal;
const DEPTH = 3;
let world: JudgingWorld;
beforeEach(async () => {
  world = await JudgingWorld.start(database.pool, { shadowLists: 1, queriesPerDay: 720 });
  await database.pool.query('truncate shadow_answers, interim_analyses, pool_judgments');
});
afterEach(() => world.close());

/** Results that users got. */
const same = (question: string): Results =>
  Array.from({ length: DEPTH }, (_, at) => documentOf(question, at + 1)).map(({ id, text }) => ({ id, text }));
/** The results that users got, preceded by a relevant document. */
const better = (question: string): Results => [
  { id: `${question}/best`, text: `It says of ${question}: quality 3.` },
  ...same(question),
];

function aJudgedShadow(resultsFor: (question: string) => Results | null, parts: Partial<Shadow> = {}) {
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
          const found = resultsFor(request.text);
          const common = { latencyMs: 5, attempts: 1 };
          if (found === null) return { kind: 'error', code: 'http_500', message: 'it returned 500', ...common };
          return { kind: 'documents', documents: found.map((one) => ({ ...one, score: 1 })), ...common };
        },
      },
    }),
    ...parts,
  };
  const analyses = createInterimAnalyses(database.pool);
  const key = { pipeline: PIPELINE, experiment: 'next', fingerprint: 'f1' };
  const context = contextOf(world.deps, {
    variantPlans: [],
    pipelines: [aWatchedPipeline({ name: PIPELINE, golden: [], shadows: [shadow] })],
    holder: 'me',
  });
  return {
    asked,
    round: (maxCostPerDay = 1000) =>
      judgeShadows(contextOf(context, { judgingPlans: [{ ...world.plan, maxCostPerDay }] }), signal),
    days: () => analyses.days(key, judgedSeries(DEPTH)),
    saveDay: (day: string, pairs: readonly LivePair[]) =>
      analyses.saveDay(key, judgedSeries(DEPTH), sumPairs(day, pairs, 2), NOON),
    readFrom: context,
    shadow,
  };
}

const range = readTimeRange({ range: '7d' }, NOON);
const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

const pairs = (where: string): Promise<number> => world.count(`shadow_answers where purpose = 'judged' and ${where}`);

describe('a shadow of a judged pipeline', () => {
  it('receives each selected query once, and documents that users also got are graded and paid for once', async () => {
    const shadow = aJudgedShadow(better);
    await world.hourOf(world.samples(80));
    await world.round();
    const drawn = await world.count('judged_queries');
    const paid = world.judge.requests.length;
    await shadow.round();
    await shadow.round();
    expect(shadow.asked.length).toBe(drawn);
    expect(shadow.asked.every(({ withText, k }) => withText === true && k === DEPTH)).toBe(true);
    expect(await pairs('baseline is not null')).toBe(drawn);
    expect(world.judge.requests.length).toBe(paid + drawn);
    // The probability stored for the shadow equals the probability with which the query was sampled and selected for
    // judging.
    expect(
      await world.count(
        'shadow_answers join judged_queries using (pipeline, query_id) where shadow_answers.probability <> judged_queries.probability',
      ),
    ).toBe(0);
    expect(await pairs('candidate < baseline')).toBe(0);
    expect(await pairs('candidate > baseline')).toBeGreaterThan(drawn / 2);
  });

  it('with identical results has a difference of exactly 0, and its days are stored when they end', async () => {
    const shadow = aJudgedShadow(same);
    await world.hourOf(world.samples(40));
    await world.round();
    await shadow.round();
    expect(await shadow.days()).toEqual([]);
    world.clock.set(new Date(NOON.getTime() + DAY_MS));
    await shadow.round();
    const [day] = await shadow.days();
    expect(day).toMatchObject({
      day: NOON.toISOString().slice(0, 10),
      counts: { leftOut: 0, queries: await pairs('true') },
    });
    expect(day?.sums['baseline']).toEqual(day?.sums['candidate']);
    expect(day?.sums['baseline']?.[1]).toBeGreaterThan(0);
  });

  it('does not exceed the daily budget of the judge', async () => {
    const shadow = aJudgedShadow(better);
    await world.hourOf(world.samples(40));
    await world.round();
    const paid = world.judge.requests.length;
    await shadow.round(0);
    expect(world.judge.requests.length).toBe(paid);
    expect(await pairs('true')).toBe(0);
    await shadow.round();
    expect(await pairs('baseline is not null')).toBe(await world.count('judged_queries'));
  });

  it('stays within its call limit, and gets no queries while it fails', async () => {
    await world.hourOf(world.samples(80));
    await world.round();
    await aJudgedShadow(better, { maxCallsPerDay: 7 }).round();
    expect(await pairs('true')).toBe(7);
    await database.pool.query('truncate shadow_answers');
    await aJudgedShadow(() => null).round();
    expect(await pairs(`outcome = 'error' and baseline is null`)).toBe(await pairs('true'));
    expect(await pairs('true')).toBeLessThan(10);
  });

  it('gets credit for results where users got none, for as many queries as the judge may grade', async () => {
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

  it('is not penalized if its texts cannot be read, and erasure deletes its results', async () => {
    const shadow = aJudgedShadow((question) => [...same(question).slice(1), { id: 'unknown', text: null }]);
    await world.hourOf(world.samples(40));
    await world.round();
    await shadow.round();
    expect(await pairs(`outcome = 'ok' and baseline is null`)).toBe(await world.count('judged_queries'));
    const { rows } = await database.pool.query<{ id: string }>('select query_id as id from shadow_answers limit 1');
    await world.eraseQuery(rows[0]?.id ?? '');
    expect(await pairs(`query_id = '${rows[0]?.id}'`)).toBe(0);
  });

  it('is reported in the console, on the terminal and to Prometheus, from the sums of its days', async () => {
    const { shadow, saveDay, readFrom } = aJudgedShadow(better);
    const [pipeline] = readFrom.pipelines;
    if (pipeline === undefined) throw new Error('there is no pipeline');
    const shown = async (): Promise<string> => {
      const data = await readExperimentsPage(readFrom, PIPELINE, true);
      const frame = { path: '/', query: {}, range, now: NOON, visitor: null, version: '1', notice: null };
      return textOf(renderPage(frame, experimentsPage(data)));
    };
    expect(await shown()).toContain('none yet');
    expect(terminalText(shadowSection(await readShadow(readFrom, pipeline, shadow)), NOON)).toContain(
      'nDCG@3, judged live queries: The time needed to detect a difference of 0.03 will be known after some days with graded queries.',
    );
    // The shadow has worse results for every fourth query.
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
    expect(page).toMatch(
      /nDCG@3, judged live queries regression since 2026-11-\d\d 0\.75 0\.65 \u22120\.1 \u22120\.\d+ to \u22120\.\d+ 0\.\d+ 480 in 8 days/,
    );
    expect(page).toContain('nDCG@3, judged live queries: The comparison is decided.');
    const text = terminalText(shadowSection(report), NOON);
    expect(text).toMatch(/next {2}regression\n.*The candidate is worse\./);
    expect(text).toMatch(
      /nDCG@3, judged live queries +regression since 2026-11-\d\d +0\.75 +0\.65 +\u22120\.1 \(\u22120\.\d+ to \u22120\.\d+\) +[\d.]* +480 in 8 days/,
    );
    expect(text).toContain('nDCG@3, judged live queries: 16 queries excluded.');
    const gauges = async (at: Date) =>
      Object.fromEntries(
        (await readExperimentGauges(readFrom))(at)
          .filter(({ labels }) => labels['source'] === 'judged')
          .map(({ name, labels, value }) => [`${name} ${labels['verdict'] ?? labels['measure'] ?? ''}`, value]),
      );
    const live = await gauges(NOON);
    expect(live).toMatchObject({
      'recalld_experiment_verdict regression': 1,
      'recalld_experiment_verdict improvement': 0,
      'recalld_experiment_n ndcg@3': 480,
      'recalld_experiment_difference ndcg@3': expect.closeTo(-0.1, 12),
    });
    expect(live['recalld_experiment_difference_ci_high ndcg@3']).toBeLessThan(0);
    const old = await gauges(new Date(NOON.getTime() + 4 * DAY_MS));
    expect(old['recalld_experiment_verdict regression']).toBe(1);
    expect(Object.keys(old).filter((name) => name.includes('difference'))).toEqual([]);
  });
});
