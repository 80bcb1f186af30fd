/**
 * Tests variants on several days of live queries in a real database. The queries are sampled by chance and by rule, and
 * have clicks, feedback and grades.
 */
import { beforeEach, expect, it } from 'vitest';
import { createDb } from '../../../src/app/database.ts';
import { experimentsPage, readExperimentsPage } from '../../../src/experiments/edge/experiments-page.ts';
import { readExperimentGauges } from '../../../src/experiments/gauges.ts';
import type { VariantPlan } from '../../../src/experiments/plan.ts';
import { readVariants } from '../../../src/experiments/read-reports.ts';
import { sumDays } from '../../../src/experiments/sum-arms.ts';
import type { StoredFeedback } from '../../../src/live/sql/feedback-rows.ts';
import { createLiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import type { LiveSample } from '../../../src/live/sql/record-arrivals.ts';
import { readTimeRange } from '../../../src/report/console/links.ts';
import { renderPage } from '../../../src/report/console/render.tsx';
import { NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { aLiveSample, aStoredClick } from '../../support/live-rows.ts';
import { aStoredFeedback } from '../../support/live-traffic.ts';

const database = useDatabase();
const signal = new AbortController().signal;
const DAY_MS = 86_400_000;
const SESSIONS = 600;
const RATE = 0.5;

function aPlan(parts: Partial<VariantPlan> = {}): VariantPlan {
  return {
    pipeline: 'docs',
    experiment: 'variant',
    fingerprint: 'c1',
    since: null,
    arms: [
      { name: 'current', share: 1 },
      { name: 'next', share: 1 },
    ],
    difference: 0.02,
    measures: ['positive_feedback', 'clicked_queries', 'ndcg'],
    rates: { rate: RATE, segments: {} },
    retentionDays: 30,
    judged: { depth: 3, by: 'model' },
    ...parts,
  };
}

/**
 * Stores a day of sessions with one query each, half of them in each arm. A session is sampled if its random number is
 * below `RATE` or if it has negative feedback. The shares of sessions with negative feedback and with clicks depend on
 * the arm.
 */
async function aDay(
  day: number,
  {
    bad = { current: 0.1, next: 0.1 },
    clicks = {},
    lost = 0,
  }: {
    readonly bad?: Readonly<Record<string, number>>;
    readonly clicks?: Readonly<Record<string, number>>;
    /** Share of the sessions with the variant `next` that are not stored. */
    readonly lost?: number;
  },
): Promise<void> {
  const at = new Date(NOON.getTime() + day * DAY_MS);
  const samples: LiveSample[] = [];
  const feedback: StoredFeedback[] = [];
  for (let i = 0; i < SESSIONS; i++) {
    const variant = i % 2 === 0 ? 'current' : 'next';
    // Neither feedback nor clicks depend on the random number.
    const [draw, opinion, click] = [i / SESSIONS, (i * 0.618_034) % 1, (i * 0.414_214) % 1];
    const isBad = opinion < (bad[variant] ?? 0);
    if ((draw >= RATE && !isBad) || (variant === 'next' && (i * 0.732_051) % 1 < lost)) continue;
    const id = `day ${day} query ${i}`;
    const times = { receivedAt: at, occurredAt: at };
    samples.push(
      aLiveSample({
        ...times,
        id,
        segments: { variant },
        sessionHash: id,
        unitHash: draw,
        rateProbability: RATE,
        ...(isBad ? { probability: 1, keepReason: 'negative_feedback' } : { probability: RATE, keepReason: 'rate' }),
      }),
    );
    const sentiment = isBad ? 'negative' : 'positive';
    feedback.push(aStoredFeedback({ ...times, id: `said of ${id}`, queryId: id, sentiment, userHash: id }));
    if (click < (clicks[variant] ?? 0))
      feedback.push(aStoredClick({ ...times, id: `click on ${id}`, queryId: id, userHash: id }));
  }
  const traffic = createLiveTraffic(database.pool, 'me');
  await traffic.createPartitions(at);
  await traffic.record({ samples, counts: [], levels: [] });
  await traffic.recordFeedback(feedback);
}

function aWorld(parts: Partial<VariantPlan> = {}) {
  const plan = aPlan(parts);
  const clock = new HandClock(NOON);
  const db = createDb(database.pool);
  const context = contextOf({
    db,
    reads: db,
    clock,
    config: { storage: { measurement_retention_days: 400 } },
    pipelines: [],
    variantPlans: [plan],
  });
  return {
    /** Sets the clock to this number of days after NOON, and sums the days that are due. */
    async sumAfter(days: number): Promise<void> {
      clock.set(new Date(NOON.getTime() + days * DAY_MS));
      await sumDays(context, plan, signal);
    },
    report: async () => readVariants(context, plan),
    /** Text of the page. */
    async page(): Promise<string> {
      const data = await readExperimentsPage(context, 'docs', true);
      const range = readTimeRange({ range: '7d' }, NOON);
      const frame = { path: '/', query: {}, range, now: NOON, visitor: null, version: '1', notice: null };
      const html = renderPage(frame, experimentsPage(data));
      return html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
    },
    /** Returns the nonzero gauge values this number of days after NOON, keyed by name and labels. */
    async gauges(days: number): Promise<Record<string, number>> {
      const at = new Date(NOON.getTime() + days * DAY_MS);
      const samples = (await readExperimentGauges(context))(at).filter(({ value }) => value !== 0);
      return Object.fromEntries(
        samples.map(({ name, labels, value }) => {
          const values = Object.entries(labels).flatMap(([label, text]) => (label === 'pipeline' ? [] : [text]));
          return [[name.replace(/^recalld_(experiment|variant)_/, ''), ...values].join(' '), value];
        }),
      );
    },
  };
}

beforeEach(() =>
  database.pool.query('truncate live_queries, feedback, judged_queries, judgments, interim_analyses cascade'),
);

it('a worse variant is a regression by user feedback, weighted by inverse sampling probability', async () => {
  const world = aWorld();
  for (let day = 0; day < 5; day++)
    await aDay(day, { bad: { current: 0.1, next: 0.4 }, clicks: { current: 0.3, next: 0.3 } });
  await world.sumAfter(5);
  const { split, arms, first_day, last_day } = await world.report();
  expect(first_day).toBe(NOON.toISOString().slice(0, 10));
  expect(last_day).toBe(new Date(NOON.getTime() + 4 * DAY_MS).toISOString().slice(0, 10));
  // Sessions sampled because of negative feedback are excluded.
  expect(split).toMatchObject({ verdict: 'as_declared', arms: [{ sessions: 750 }, { sessions: 750 }] });
  expect(arms[0]).toMatchObject({ name: 'next', verdict: 'regression' });
  const [feedback, clicks, relevance] = arms[0]?.comparisons ?? [];
  expect(feedback?.baseline).toBeCloseTo(0.9, 1);
  expect(feedback?.candidate).toBeCloseTo(0.6, 1);
  expect(clicks).toMatchObject({ verdict: 'inconclusive' });
  expect(clicks?.candidate).toBeCloseTo(0.3, 1);
  expect(relevance).toMatchObject({ verdict: 'no_data', baseline: null, measure: 'ndcg@3' });
  expect(await world.page()).toMatch(
    /Positive feedback regression since 2026-11-20 90 % 60 % \u221230 % \u2212[\d.]+ % to \u2212[\d.]+ % 825, 1\s050/,
  );
  const gauges = await world.gauges(5);
  expect(gauges).toMatchObject({
    'split as_declared': 1,
    'sessions current': 750,
    'sessions next': 750,
    'verdict next traffic positive_feedback regression': 1,
    'verdict next traffic clicked_queries inconclusive': 1,
    'verdict next traffic ndcg@3 no_data': 1,
    'difference next traffic positive_feedback': (feedback?.candidate ?? 0) - (feedback?.baseline ?? 0),
  });
  expect(gauges['difference_ci_high next traffic positive_feedback']).toBeLessThan(0);
  // The verdict is still exported, but the current values are not.
  const late = await world.gauges(9);
  expect(late).toMatchObject({ 'verdict next traffic positive_feedback regression': 1 });
  expect(late).not.toHaveProperty('difference next traffic positive_feedback');
});

it('a day is summed once, some time after it ends, and later data changes nothing', async () => {
  const world = aWorld();
  await aDay(0, {});
  await world.sumAfter(0.7);
  expect((await world.report()).last_day).not.toBe(NOON.toISOString().slice(0, 10));
  await world.sumAfter(1);
  const before = await world.report();
  expect(before.last_day).toBe(NOON.toISOString().slice(0, 10));
  await database.pool.query(`update feedback set sentiment = 'negative'`);
  await world.sumAfter(1.5);
  expect(await world.report()).toEqual(before);
  // A different start date begins a new comparison.
  const changed = aWorld({ fingerprint: 'c2', since: new Date('2026-01-01T00:00:00Z') });
  expect((await changed.report()).first_day).toBeNull();
});

it('missing sessions are reported as a split mismatch, and no arms are compared', async () => {
  const world = aWorld();
  for (let day = 0; day < 3; day++) await aDay(day, { bad: { current: 0.1, next: 0.5 }, lost: 0.4 });
  await world.sumAfter(3);
  const { split, arms } = await world.report();
  expect(split.verdict).toBe('mismatch');
  expect(split.explanation).toContain('differs from the declared split');
  expect(arms).toEqual([]);
  expect(await world.page()).toContain('Split mismatch');
  const gauges = await world.gauges(3);
  expect(gauges).toMatchObject({ 'split mismatch': 1 });
  expect(Object.keys(gauges).filter((name) => /^(difference|verdict)/.test(name))).toEqual([]);
});

it('an arm with a higher configured sampling rate still has the declared split', async () => {
  const world = aWorld({ rates: { rate: RATE, segments: { 'variant=next': 1 } } });
  await aDay(0, { bad: {} });
  await database.pool.query(
    `insert into live_queries select received_on, pipeline, 'more ' || id, received_at, occurred_at, session_hash, trace_id,
       episode, episode_step, original_text,
       text, text_hash, embedding, dimensions, top_k, outcome, error, results, latency_ms, segments, user_hash, index_version,
       embedder_version, retriever_version, 1, keep_reason, unit_hash + 0.5, 1, level, context_characters, context_repeated
       from live_queries where segments ->> 'variant' = 'next'`,
  );
  await database.pool.query(
    `update live_queries set probability = 1, rate_probability = 1 where segments ->> 'variant' = 'next'`,
  );
  await world.sumAfter(1);
  expect((await world.report()).split).toMatchObject({
    verdict: 'as_declared',
    arms: [{ sessions: 150 }, { sessions: 150 }],
  });
});

it('grades of the judge are compared if there are any', async () => {
  const world = aWorld();
  await aDay(0, {});
  await database.pool.query(
    `with drawn as (
       insert into judged_queries (pipeline, query_id, received_on, received_at, cluster, outcome, segments, probability,
                                   human_draw, needs_human, documents, state, due_at)
       select pipeline, id, received_on, received_at, unit_hash, outcome, segments, probability / 2, 0.5, false,
              '[["d1", "h1"], ["d2", "h2"]]', 'graded', received_at
         from live_queries where keep_reason = 'rate' returning *)
     insert into judgments (pipeline, query_id, document_id, judge, grade, judged_at)
     select pipeline, query_id, document, 'model',
            mod(abs(hashtext(query_id || document)), 3) + 1
              - case when document = 'd1' and segments ->> 'variant' = 'next' then 1 else 0 end,
            received_at
       from drawn cross join unnest(array['d1', 'd2']) as document`,
  );
  await world.sumAfter(1);
  const relevance = (await world.report()).arms[0]?.comparisons[2];
  expect(relevance).toMatchObject({ measure: 'ndcg@3', verdict: 'regression' });
  expect(relevance?.candidate).toBeLessThan(relevance?.baseline ?? 0);
});
