/**
 * Tests shadows with a real database: a shadow gets its queries after the pipeline's run and within its limits, and the
 * results of both are compared.
 */

import { describe, expect, it } from 'vitest';
import { followWithShadows } from '../../../src/experiments/ask-golden.ts';
import { askShadows } from '../../../src/experiments/ask-live.ts';
import { readExperimentsPage } from '../../../src/experiments/edge/experiments-page.ts';
import { readExperimentGauges } from '../../../src/experiments/gauges.ts';
import { readShadow } from '../../../src/experiments/read-reports.ts';
import { runGoldenSet } from '../../../src/golden/runs/run-golden-set.ts';
import type { Shadow, WatchedPipeline } from '../../../src/golden/watched-pipeline.ts';
import { createLiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import { aSchedule, aWatchedPipeline, documents, goldenQueries, NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { type Answers, aGoldenWorld } from '../../support/golden-world.ts';
import { aLiveSample } from '../../support/live-rows.ts';
import { MemoryMeter } from '../../support/memory-telemetry.ts';

const database = useDatabase();
const signal = new AbortController().signal;
const DAY_MS = 86_400_000;
const QUESTIONS = 60;
/** `d7` is relevant to `question 7`. */
const right: Answers = (text) => [`d${text.replaceAll(/\D/g, '')}`, 'other'];

function aShadow(pipeline: string, answers: () => Answers, parts: Partial<Shadow> = {}): Shadow {
  const asked: WatchedPipeline = aWatchedPipeline({
    name: `${pipeline}~next`,
    golden: [],
    shadowOf: pipeline,
    fingerprints: { retriever: 'f1' },
    retriever: {
      async retrieve({ text }) {
        const ids = answers()(text);
        const common = { latencyMs: 5, attempts: 1 };
        return ids === null
          ? { kind: 'error', code: 'http_500', message: 'it returned 500', ...common }
          : { kind: 'documents', documents: documents(...ids), ...common };
      },
    },
  });
  return {
    name: 'next',
    fingerprint: 'f1',
    liveRate: 1,
    maxCallsPerDay: 1000,
    limits: { concurrency: 4, maxPerSecond: 10_000 },
    costPerCall: 0.001,
    difference: 0.03,
    chunkSeparator: null,
    judgedDepth: null,
    asked,
    ...parts,
  };
}

function aShadowWorld(parts: Partial<Shadow> = {}) {
  const world = aGoldenWorld(database.pool, NOON, aSchedule({ cron: null }));
  let answers = right;
  const shadow = aShadow(world.pipeline.name, () => answers, parts);
  const pipeline = { ...world.pipeline, shadows: [shadow] };
  let now = NOON;
  const clock = { ...world.deps.clock, now: () => now };
  const started: string[] = [];
  const context = contextOf(world.deps, {
    clock,
    judgingPlans: [],
    pipelines: [pipeline],
    variantPlans: [],
    meter: new MemoryMeter(),
    hooks: { resume: async ({ id }: { id: string }) => void started.push(id) },
  });
  world.answerWith(right);
  return {
    deps: context,
    pipeline,
    shadow,
    answerWith(next: Answers): void {
      answers = next;
    },
    moveTo(next: Date): void {
      now = next;
      world.moveTo(next);
    },
    importSet: () => world.importSet({ queries: goldenQueries(QUESTIONS) }),
    /** Runs the set on the pipeline, then on its shadow; returns the id of the shadow run, or null if there is none. */
    async day(): Promise<string | null> {
      const [run] = await world.full(now);
      if (run === undefined) throw new Error('there is no run');
      await followWithShadows(context, run, pipeline, signal);
      const id = started.pop();
      const beside = id === undefined ? null : await world.runs.find(id);
      if (beside === null) return null;
      await runGoldenSet(context, beside, shadow.asked, signal);
      await followWithShadows(context, beside, shadow.asked, signal);
      return beside.id;
    },
    find: (id: string) => world.runs.find(id),
    report: () => readShadow(context, pipeline, shadow),
  };
}

/** Every third query finds no relevant document. */
const worse: Answers = (text) => (Number(text.replaceAll(/\D/g, '')) % 3 === 0 ? ['wrong'] : right(text));

describe('a shadow on the golden set', () => {
  it('runs once a day after the pipeline, as a separate run that checks and baselines ignore', async () => {
    const world = aShadowWorld();
    await world.importSet();
    const run = await world.find((await world.day()) ?? '');
    expect(run).toMatchObject({ status: 'completed', queriesTotal: QUESTIONS, pipeline: world.shadow.asked.name });
    expect(run?.cause).toContain('Started for comparison with run');
    world.moveTo(new Date(NOON.getTime() + 3_600_000));
    expect(await world.day()).toBeNull();
    world.moveTo(new Date(NOON.getTime() + DAY_MS));
    expect(await world.day()).not.toBeNull();
    const { comparisons, verdict } = await world.report();
    expect(verdict).toBe('no_change');
    expect(comparisons).toMatchObject([
      { source: 'golden:faq', evidence: { state: 'enough' }, difference: 0, n: QUESTIONS, test: { runs: 2 } },
    ]);
    const latest = await world.deps.db.golden.runs.list({ pipeline: world.pipeline.name, limit: 10 });
    expect(latest.map(({ pipeline }) => pipeline)).toEqual(Array(3).fill(world.pipeline.name));
  });

  it('that is worse is a regression at the first test, and remains one after its results improve', async () => {
    const world = aShadowWorld();
    await world.importSet();
    world.answerWith(worse);
    await world.day();
    expect(await world.report()).toMatchObject({ verdict: 'regression', comparisons: [{ difference: -1 / 3 }] });
    world.answerWith(right);
    world.moveTo(new Date(NOON.getTime() + DAY_MS));
    await world.day();
    expect(await world.report()).toMatchObject({
      verdict: 'regression',
      comparisons: [{ called_on: NOON.toISOString().slice(0, 10), test: { number: 1, runs: 1, alpha: 0.005 } }],
    });
    const samples = (await readExperimentGauges(world.deps))(new Date(NOON.getTime() + DAY_MS));
    const called = samples.find(
      ({ name, labels }) => name === 'recalld_experiment_verdict' && labels['verdict'] === 'regression',
    );
    expect(called?.value).toBe(1);
    expect(samples.find(({ name }) => name === 'recalld_experiment_difference')?.value).toBeCloseTo(-1 / 3, 12);
    const late = (await readExperimentGauges(world.deps))(new Date(NOON.getTime() + 5 * DAY_MS));
    expect(late.filter(({ name }) => name === 'recalld_experiment_difference')).toEqual([]);
  });

  it('that fails for a tenth of the queries has a void run and no verdict', async () => {
    const world = aShadowWorld();
    await world.importSet();
    world.answerWith((text) => (text.endsWith('0') ? null : right(text)));
    expect((await world.find((await world.day()) ?? ''))?.status).toBe('void');
    expect(await world.report()).toMatchObject({
      verdict: 'no_data',
      comparisons: [{ latest_run: { status: 'void' } }],
    });
  });

  it('stays within its daily limit', async () => {
    const world = aShadowWorld({ maxCallsPerDay: QUESTIONS - 1 });
    await world.importSet();
    expect(await world.day()).toBeNull();
    expect((await world.report()).calls).toMatchObject({ today: 0, max_live_per_day: QUESTIONS - 1 });
  });

  it('with differently chunked documents is compared by document', async () => {
    const world = aShadowWorld({ chunkSeparator: '#' });
    await world.importSet();
    world.answerWith((text) => right(text)?.map((id) => `${id}#new`) ?? null);
    const run = await world.find((await world.day()) ?? '');
    expect(run?.settings.chunkSeparator).toBe('#');
    expect(await world.report()).toMatchObject({
      verdict: 'no_change',
      comparisons: [{ difference: 0, candidate: 1 }],
    });
  });

  it('with a changed configuration under the same name starts a new comparison', async () => {
    const world = aShadowWorld();
    await world.importSet();
    world.answerWith(worse);
    await world.day();
    const rebuilt = { ...world.shadow, fingerprint: 'f2' };
    expect((await readShadow(world.deps, world.pipeline, rebuilt)).verdict).toBe('no_data');
  });
});

describe('a shadow on live queries', () => {
  async function liveDay(world: ReturnType<typeof aShadowWorld>, count: number): Promise<void> {
    const traffic = createLiveTraffic(database.pool, 'me');
    await traffic.createPartitions(NOON);
    const samples = Array.from({ length: count }, (_, i) =>
      aLiveSample({
        pipeline: world.pipeline.name,
        id: `live ${i}`,
        text: `question ${i}`,
        results: documents(`d${i}`, 'other'),
        receivedAt: NOON,
        occurredAt: NOON,
        unitHash: i / count,
        sessionHash: `s${i}`,
      }),
    );
    await traffic.record({ samples, counts: [], levels: [] });
  }

  it('receives each sampled query once, and its overlap is reported without judgments', async () => {
    const world = aShadowWorld();
    await liveDay(world, 40);
    world.answerWith(worse);
    await askShadows(world.deps, signal);
    await askShadows(world.deps, signal);
    const { live, calls } = await world.report();
    expect(live).toMatchObject({ asked: 40, failed: 0, overlap: { n: 40 } });
    expect(live.changed?.value).toBeCloseTo(14 / 40, 12);
    expect(live.changed?.ci_low).toBeLessThan(14 / 40);
    expect(calls).toMatchObject({ today: 40, dollars_today: 0.04 });
    const page = await readExperimentsPage(world.deps, world.pipeline.name, true);
    expect(page.shadows[0]?.changed[0]).toMatchObject({ documentIds: ['wrong'], overlap: 0 });
  });

  it('receives a share of the sampled queries, within its limit', async () => {
    const some = aShadowWorld({ liveRate: 0.5 });
    await liveDay(some, 200);
    await askShadows(some.deps, signal);
    const { asked } = (await some.report()).live;
    expect(asked).toBeGreaterThan(70);
    expect(asked).toBeLessThan(130);
    const few = aShadowWorld({ maxCallsPerDay: 10 });
    await liveDay(few, 40);
    await askShadows(few.deps, signal);
    expect((await few.report()).live.asked).toBe(10);
  });

  it('that fails gets no queries until the next round, and its failures are counted', async () => {
    const world = aShadowWorld();
    await liveDay(world, 100);
    world.answerWith(() => null);
    await askShadows(world.deps, signal);
    const { live } = await world.report();
    expect(live.failed).toBe(live.asked);
    expect(live.asked).toBeLessThan(20);
    expect(live.overlap).toBeNull();
  });
});
