import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Deployments } from '../../../../src/deployments/deployments.ts';
import { statisticsOfCommands as statistics } from '../../../../src/golden/golden-statistics.ts';
import type { QueryAnswer, RunSettings } from '../../../../src/golden/rules/run.ts';
import { endWithoutScores } from '../../../../src/golden/runs/end-golden-run.ts';
import { type RunProgress, runGoldenSet } from '../../../../src/golden/runs/run-golden-set.ts';
import {
  aFailedAnswer,
  aFloor,
  aGoldenRun,
  aNewGoldenSet,
  anAnswer,
  aRunSettings,
  aWatchedPipeline,
  documents,
  goldenChecks,
  goldenQueries,
  NOON,
} from '../../../support/builders.ts';
import { MemoryGoldenBaselines } from '../../../support/memory-golden-baselines.ts';
import { MemoryGoldenRotations } from '../../../support/memory-golden-rotations.ts';
import { MemoryGoldenRuns } from '../../../support/memory-golden-runs.ts';
import { MemoryGoldenSets } from '../../../support/memory-golden-sets.ts';
import { MemoryRetriever, type Reply } from '../../../support/memory-retriever.ts';
import { MemoryLogger } from '../../../support/memory-telemetry.ts';
import { limitsOfOne } from '../../../support/retriever-gate.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

interface Setting {
  readonly queries?: number;
  readonly settings?: Partial<RunSettings>;
  /** What an earlier worker stored. */
  readonly stored?: readonly QueryAnswer[];
  readonly latencyMs?: number;
  /** By the number of the query, from 1; a perfect answer unless told otherwise. */
  readonly reply?: (query: number) => Reply;
}

/** A running run of a set of queries that cost 100 ms each, one at a time, and all that works on it. */
async function aRun({
  queries = 10,
  settings = {},
  stored = [],
  latencyMs = 100,
  reply = (n) => [`d${n}`],
}: Setting = {}) {
  const clock = new SteerableClock();
  const sets = new MemoryGoldenSets();
  await sets.add(aNewGoldenSet({ queries: goldenQueries(queries) }), NOON);
  const runs = new MemoryGoldenRuns(clock);
  const run = aGoldenRun({ settings: aRunSettings({ concurrency: 1, ...settings }), queriesTotal: queries });
  runs.put(run, stored);
  const retriever = new MemoryRetriever(clock, ({ text }) => reply(Number(text.replace('question ', ''))), latencyMs);
  const logger = new MemoryLogger();
  const baselines = new MemoryGoldenBaselines();
  // Nobody has looked at what the pipeline is made of.
  const deployments = { fingerprints: async () => [] } as unknown as Deployments;
  const rotations = new MemoryGoldenRotations();
  const limits = limitsOfOne(clock);
  const pipeline = aWatchedPipeline({ retriever, checks: goldenChecks({ floors: [aFloor()] }) });
  const stop = new AbortController();
  const progress: RunProgress[] = [];
  const start = (holder = 'me'): ReturnType<typeof runGoldenSet> =>
    runGoldenSet(
      { sets, runs, statistics, baselines, deployments, rotations, limits, clock, logger, holder },
      run,
      pipeline,
      stop.signal,
      (step) => progress.push(step),
    );
  return { clock, sets, runs, run, retriever, logger, stop, progress, start, baselines };
}

const answersTo = (...queries: readonly number[]): QueryAnswer[] =>
  queries.map((n) => anAnswer({ queryId: `q${n}`, documents: documents(`d${n}`) }));

/** Every fifth query fails, every third of the others has its document in the second place. */
function mixed(query: number): Reply {
  if (query % 5 === 0) return 'error';
  return query % 3 === 0 ? ['x', `d${query}`] : [`d${query}`];
}

/** The first so many queries fail. */
function failing(failures: number): (query: number) => Reply {
  return (query) => (query <= failures ? 'error' : [`d${query}`]);
}

/** What it rejects with, watched from now on. */
function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

describe('a golden run', () => {
  it('asks every query, scores, judges and ends', async () => {
    const { clock, runs, retriever, start } = await aRun({ queries: 10 });
    expect(await clock.until(start())).toBe('ended');
    expect(retriever.texts).toEqual(goldenQueries(10).map(({ text }) => text));
    const end = runs.endOf('run-1');
    expect(end).toMatchObject({
      status: 'completed',
      reason: null,
      segmentsOverflow: 0,
      finishedAt: clock.now(),
    });
    expect(end?.scores.find(({ measure, k }) => measure === 'ndcg' && k === 10)).toMatchObject({
      mean: 1,
      n: 10,
    });
    expect(end?.checks).toEqual([
      expect.objectContaining({ name: 'ndcg@10 below 0.8 on faq', verdict: 'ok', value: 1 }),
    ]);
    expect(runs.holderOf('run-1')).toBeNull();
  });

  it('tells its progress from nothing to everything', async () => {
    const { clock, progress, start } = await aRun({ queries: 3 });
    await clock.until(start());
    expect(progress).toEqual([0, 1, 2, 3].map((answered) => ({ answered, total: 3 })));
  });

  it('counts queries that the retriever failed as 0, and says what became of them', async () => {
    const { clock, runs, start } = await aRun({
      queries: 4,
      reply: (n) => (n === 1 ? ['d1'] : n === 2 ? 'empty' : n === 3 ? 'error' : 'timeout'),
    });
    await clock.until(start());
    expect(await runs.outcomes('run-1')).toEqual({ ok: 1, empty: 1, error: 1, timeout: 1 });
    expect(runs.endOf('run-1')?.scores.find(({ measure, k }) => measure === 'mrr' && k === 10)).toMatchObject({
      mean: 0.25,
      n: 4,
    });
    expect(runs.endOf('run-1')?.checks[0]?.verdict).not.toBe('ok');
  });

  it('reads the version of the set that it was started with, also when a newer one is imported', async () => {
    const { clock, sets, retriever, start } = await aRun({ queries: 2 });
    await sets.add(aNewGoldenSet({ contentHash: 'newer', queries: goldenQueries(7) }), NOON);
    await clock.until(start());
    expect(retriever.asked).toHaveLength(2);
  });

  it('stores answers as it goes, so that a crash costs half a second of asking', async () => {
    const { clock, runs, start } = await aRun({ queries: 40 });
    const done = start();
    await clock.advance(2050);
    expect((await runs.answers('run-1')).length).toBeGreaterThanOrEqual(15);
    await clock.until(done);
    expect(await runs.answers('run-1')).toHaveLength(40);
  });
});

describe('a golden run that was begun before', () => {
  it('asks only what has no answer, and starts its progress there', async () => {
    const { clock, runs, retriever, progress, start } = await aRun({
      queries: 5,
      stored: answersTo(1, 2, 4),
    });
    await clock.until(start());
    expect(retriever.texts).toEqual(['question 3', 'question 5']);
    expect(progress[0]).toEqual({ answered: 3, total: 5 });
    expect(await runs.answers('run-1')).toHaveLength(5);
  });

  it('keeps a failure that is stored: a restart is no second chance', async () => {
    const { clock, runs, retriever, start } = await aRun({
      queries: 2,
      stored: [aFailedAnswer({ queryId: 'q1' })],
    });
    await clock.until(start());
    expect(retriever.texts).toEqual(['question 2']);
    expect(await runs.outcomes('run-1')).toEqual({ ok: 1, empty: 0, error: 1, timeout: 0 });
  });

  it('only scores when every query has its answer', async () => {
    const { clock, runs, retriever, start } = await aRun({ queries: 3, stored: answersTo(1, 2, 3) });
    expect(await clock.until(start())).toBe('ended');
    expect(retriever.asked).toEqual([]);
    expect(runs.endOf('run-1')?.status).toBe('completed');
  });

  it('comes to the same end as one that ran through, wherever it was interrupted, and asks nothing twice', async () => {
    const reply = mixed;
    const straight = await aRun({ queries: 9, reply });
    await straight.clock.until(straight.start());
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 950 }), async (interruptedAtMs) => {
        const first = await aRun({ queries: 9, reply });
        const failure = failureOf(first.start());
        await first.clock.advance(interruptedAtMs);
        first.stop.abort(new Error('the daemon stops'));
        await failure;
        const stored = await first.runs.answers('run-1');
        const second = await aRun({ queries: 9, reply, stored });
        await second.clock.until(second.start());
        expect(second.runs.endOf('run-1')?.scores).toEqual(straight.runs.endOf('run-1')?.scores);
        expect(second.runs.endOf('run-1')?.checks).toEqual(straight.runs.endOf('run-1')?.checks);
        expect(second.retriever.asked).toHaveLength(9 - stored.length);
      }),
      { numRuns: 30 },
    );
  });
});

describe('a golden run that somebody else works on', () => {
  it('is left to them', async () => {
    const { clock, runs, retriever, start } = await aRun();
    await runs.hold('run-1', 'other', 15);
    expect(await clock.until(start())).toBe('held_elsewhere');
    expect(retriever.asked).toEqual([]);
    expect(runs.holderOf('run-1')).toBe('other');
  });

  it('is taken over when their lease has run out', async () => {
    const { clock, runs, start } = await aRun();
    await runs.hold('run-1', 'dead', 15);
    await clock.advance(15_001);
    expect(await clock.until(start())).toBe('ended');
  });

  it('is kept by renewing the lease, however long it takes', async () => {
    const { clock, runs, start } = await aRun({ queries: 600 });
    const done = start();
    for (let second = 0; second < 55; second += 5) {
      await clock.advance(5000);
      expect(runs.holderOf('run-1')).toBe('me');
    }
    expect(await clock.until(done)).toBe('ended');
  });

  it('is put down when the lease was lost on the way: nothing is ended, nothing is taken from the new holder', async () => {
    const { clock, runs, retriever, start } = await aRun({ queries: 600 });
    const done = start();
    await clock.advance(1000);
    await runs.release('run-1', 'me');
    await runs.hold('run-1', 'other', 3600);
    expect(await clock.until(done)).toBe('held_elsewhere');
    expect(clock.monotonicMs()).toBeLessThanOrEqual(4100);
    expect(retriever.asked.length).toBeLessThanOrEqual(41);
    expect(runs.holderOf('run-1')).toBe('other');
    expect(runs.endOf('run-1')).toBeNull();
  });

  it('is put down when it was cancelled on the way, and stays cancelled', async () => {
    const { clock, runs, start } = await aRun({ queries: 600 });
    const done = start();
    await clock.advance(1000);
    await runs.finish('run-1', endWithoutScores('cancelled', null, clock.now()));
    expect(await clock.until(done)).toBe('held_elsewhere');
    expect(runs.endOf('run-1')?.status).toBe('cancelled');
  });

  it('is not ended twice when they were quicker', async () => {
    const { clock, runs, start } = await aRun({ queries: 3 });
    const done = start();
    await clock.advance(150);
    await runs.finish('run-1', endWithoutScores('completed', null, NOON));
    expect(await clock.until(done)).toBe('held_elsewhere');
    expect(runs.endOf('run-1')?.finishedAt).toBe(NOON);
  });

  it('is gone on with when a renewal fails, as the lease may still hold', async () => {
    const { clock, runs, logger, start } = await aRun({ queries: 100 });
    const hold = runs.hold.bind(runs);
    const done = start();
    runs.hold = () => Promise.reject(new Error('the database is away'));
    await clock.advance(5000);
    runs.hold = hold;
    expect(await clock.until(done)).toBe('ended');
    expect(logger.lines).toEqual([
      {
        level: 'warn',
        message: 'the lease of a golden run could not be renewed',
        fields: { run_id: 'run-1', reason: 'the database is away' },
      },
    ]);
  });
});

describe('a golden run with an error budget', () => {
  it('is void above the budget: no scores, and checks that do not know', async () => {
    const { clock, runs, start } = await aRun({
      queries: 20,
      settings: { onError: 'void', errorBudget: 0.1 },
      reply: failing(3),
    });
    expect(await clock.until(start())).toBe('ended');
    expect(runs.endOf('run-1')).toMatchObject({
      status: 'void',
      reason: '15.0 % of the queries failed, more than the error budget of 10.0 %.',
      scores: [],
      checks: [{ verdict: 'no_data', value: null }],
    });
  });

  it('completes within the budget, the failed queries counting 0', async () => {
    const { clock, runs, start } = await aRun({
      queries: 20,
      settings: { onError: 'void', errorBudget: 0.1 },
      reply: failing(2),
    });
    await clock.until(start());
    expect(runs.endOf('run-1')).toMatchObject({ status: 'completed', reason: null });
    expect(runs.endOf('run-1')?.scores.find(({ measure }) => measure === 'hit_rate')).toMatchObject({
      mean: 0.9,
      n: 20,
    });
  });

  it('does not count empty answers as failures', async () => {
    const { clock, runs, start } = await aRun({
      queries: 4,
      settings: { onError: 'void', errorBudget: 0 },
      reply: () => 'empty',
    });
    await clock.until(start());
    expect(runs.endOf('run-1')?.status).toBe('completed');
  });

  it('is never void when failed queries are to score 0', async () => {
    const { clock, runs, start } = await aRun({
      queries: 20,
      settings: { onError: 'score_zero' },
      reply: failing(20),
    });
    await clock.until(start());
    expect(runs.endOf('run-1')).toMatchObject({
      status: 'completed',
      checks: [{ verdict: 'critical', value: 0 }],
    });
  });
});

describe('a golden run that is stopped', () => {
  it('stays running, keeps its answers and gives the lease back, so that another goes on at once', async () => {
    const { clock, runs, run, stop, start } = await aRun({ queries: 50 });
    const failure = failureOf(start());
    await clock.advance(1050);
    stop.abort(new Error('the daemon stops'));
    expect(await failure).toEqual(new Error('the daemon stops'));
    expect(await runs.find(run.id)).toMatchObject({ status: 'running' });
    expect(runs.endOf('run-1')).toBeNull();
    expect(runs.holderOf('run-1')).toBeNull();
    expect((await runs.answers('run-1')).map(({ queryId }) => queryId)).toEqual(goldenQueries(10).map(({ id }) => id));
  });

  it('rejects when its answers cannot be stored, asks no further and gives the lease back', async () => {
    const { clock, runs, retriever, start } = await aRun({ queries: 50 });
    runs.saveAnswers = () => Promise.reject(new Error('the disk is full'));
    const failure = failureOf(start());
    await clock.advance(60_000);
    expect(await failure).toEqual(new Error('the disk is full'));
    expect(retriever.asked.length).toBeLessThanOrEqual(7);
    expect(runs.holderOf('run-1')).toBeNull();
    expect(runs.endOf('run-1')).toBeNull();
  });

  it('rejects when the set cannot be read, without having asked', async () => {
    const { clock, sets, runs, retriever, start } = await aRun();
    sets.queries = () => Promise.reject(new Error('the database is away'));
    const failure = failureOf(start());
    await clock.advance(1);
    expect(await failure).toEqual(new Error('the database is away'));
    expect(retriever.asked).toEqual([]);
    expect(runs.holderOf('run-1')).toBeNull();
  });
});
