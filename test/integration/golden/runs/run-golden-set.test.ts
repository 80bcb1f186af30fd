/**
 * Tests golden runs that one worker processes, with PostgreSQL. Waits are shortened by a factor of 20; leases use the
 * database clock.
 */

import { describe, expect, it, onTestFinished } from 'vitest';
import { createDb } from '../../../../src/app/database.ts';
import { statisticsOfCommands as statistics } from '../../../../src/golden/golden-statistics.ts';
import type { QueryAnswer, RunSettings } from '../../../../src/golden/rules/run.ts';
import { endWithoutScores } from '../../../../src/golden/runs/end-golden-run.ts';
import { type RunProgress, runGoldenSet } from '../../../../src/golden/runs/run-golden-set.ts';
import { createGoldenRuns, type GoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets, type GoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import {
  aFailedAnswer,
  aFloor,
  aNewGoldenSet,
  anAnswer,
  aRunSettings,
  aWatchedPipeline,
  documents,
  goldenChecks,
  goldenQueries,
  NOON,
} from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { putRun } from '../../../support/golden-runs.ts';
import { hurriedClock } from '../../../support/hurried-clock.ts';
import { MemoryRetriever, type Reply } from '../../../support/memory-retriever.ts';
import { MemoryLogger } from '../../../support/memory-telemetry.ts';
import { limitsOfOne } from '../../../support/throttle.ts';
import { waitFor } from '../../../support/wait-for.ts';

const database = useDatabase();
const clock = hurriedClock(20);

interface Setting {
  readonly queries?: number;
  readonly settings?: Partial<RunSettings>;
  /** Results that an earlier worker stored. */
  readonly stored?: readonly QueryAnswer[];
  /** Returns the reply to the query with this number (counted from 1). By default, every reply is correct. */
  readonly reply?: (query: number) => Reply;
}

let made = 0;

/** Creates an in-progress run of a separate golden set; its queries take 5 ms each and are sent one at a time. */
async function aRun({ queries = 10, settings = {}, stored = [], reply = (n) => [`d${n}`] }: Setting = {}) {
  const runs = createGoldenRuns(database.pool);
  const sets = createGoldenSets(database.pool);
  const goldenSet = `set-${(made += 1)}`;
  await sets.add(aNewGoldenSet({ name: goldenSet, queries: goldenQueries(queries) }), NOON);
  const run = await putRun(
    { runs, sets },
    { goldenSet, settings: aRunSettings({ concurrency: 1, ...settings }) },
    { answers: stored },
  );
  const logger = new MemoryLogger();
  const progress: RunProgress[] = [];
  const worker = {
    stop: new AbortController(),
    retriever: new MemoryRetriever(clock, ({ text }) => reply(Number(text.replace('question ', ''))), 100),
  };
  onTestFinished(() => worker.stop.abort(new Error('the test has ended')));
  const deps = contextOf({
    db: { ...createDb(database.pool), limits: limitsOfOne(clock) },
    statistics,
    clock,
    logger,
    holder: 'me',
  });
  /** Starts the worker; the stores in `parts` replace the default stores. */
  const start = (parts: { readonly runs?: GoldenRuns; readonly sets?: GoldenSets } = {}) =>
    runGoldenSet(
      contextOf(deps, { db: { golden: { sets, runs, ...parts } } }),
      run,
      aWatchedPipeline({ retriever: worker.retriever, checks: goldenChecks({ floors: [aFloor()] }) }),
      worker.stop.signal,
      (step) => progress.push(step),
    );
  /** Returns the holder of the run's lease; null if there is none, or if the lease has expired. */
  const holder = async (): Promise<string | null> => {
    const { rows } = await database.pool.query<{ holder: string }>(
      'select lease_holder as holder from golden_runs where id = $1 and lease_until > now()',
      [run.id],
    );
    return rows[0]?.holder ?? null;
  };
  const end = async () => ({
    run: await runs.find(run.id),
    scores: await runs.scores(run.id),
    checks: await runs.checks(run.id),
  });
  return { id: run.id, goldenSet, sets, runs, worker, logger, progress, start, holder, end };
}

const answersTo = (...queries: readonly number[]): QueryAnswer[] =>
  queries.map((n) => anAnswer({ queryId: `q${n}`, documents: documents(`d${n}`) }));

/** Every fifth query fails; a third of the other queries have the relevant document at rank 2. */
function mixed(query: number): Reply {
  if (query % 5 === 0) return 'error';
  return query % 3 === 0 ? ['x', `d${query}`] : [`d${query}`];
}

/** Returns a function that makes the first `failures` queries fail. */
function failing(failures: number): (query: number) => Reply {
  return (query) => (query <= failures ? 'error' : [`d${query}`]);
}

/** Returns the error with which `work` rejects; null if it resolves. */
function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

describe('a golden run', () => {
  it('requests every query, computes scores and checks, and ends', async () => {
    const { goldenSet, worker, start, holder, end } = await aRun({ queries: 10 });
    expect(await start()).toBe('ended');
    expect(worker.retriever.texts).toEqual(goldenQueries(10).map(({ text }) => text));
    const { run, scores, checks } = await end();
    expect(run).toMatchObject({ status: 'completed', reason: null, finishedAt: expect.any(Date) });
    expect(scores.find(({ measure, k }) => measure === 'ndcg' && k === 10)).toMatchObject({ mean: 1, n: 10 });
    expect(checks).toEqual([
      expect.objectContaining({ name: `ndcg@10 below 0.8 on ${goldenSet}`, verdict: 'ok', value: 1 }),
    ]);
    expect(await holder()).toBeNull();
  });

  it('reports its progress from start to end', async () => {
    const { progress, start } = await aRun({ queries: 3 });
    await start();
    expect(progress).toEqual([0, 1, 2, 3].map((answered) => ({ answered, total: 3 })));
  });

  it('scores queries that failed as 0, and reports their outcomes', async () => {
    const { id, runs, start, end } = await aRun({
      queries: 4,
      reply: (n) => (n === 1 ? ['d1'] : n === 2 ? 'empty' : n === 3 ? 'error' : 'timeout'),
    });
    await start();
    expect(await runs.outcomes(id)).toEqual({ ok: 1, empty: 1, error: 1, timeout: 1 });
    const { scores, checks } = await end();
    expect(scores.find(({ measure, k }) => measure === 'mrr' && k === 10)).toMatchObject({ mean: 0.25, n: 4 });
    expect(checks[0]?.verdict).not.toBe('ok');
  });

  it('reads the version of the set that it was started with, even after a newer import', async () => {
    const { goldenSet: name, sets, worker, start } = await aRun({ queries: 2 });
    await sets.add(aNewGoldenSet({ name, contentHash: 'newer', queries: goldenQueries(7) }), NOON);
    await start();
    expect(worker.retriever.asked).toHaveLength(2);
  });

  it('stores answers during the run', async () => {
    const { id, runs, worker, start } = await aRun({ queries: 2000 });
    const failure = failureOf(start());
    await waitFor(async () => (await runs.answers(id)).length > 0);
    expect(worker.retriever.asked.length).toBeLessThan(2000);
    worker.stop.abort(new Error('enough was seen'));
    await failure;
  });
});

describe('a golden run that was interrupted', () => {
  it('requests only the queries without an answer, and counts the stored answers in its progress', async () => {
    const { id, runs, worker, progress, start } = await aRun({ queries: 5, stored: answersTo(1, 2, 4) });
    await start();
    expect(worker.retriever.texts).toEqual(['question 3', 'question 5']);
    expect(progress[0]).toEqual({ answered: 3, total: 5 });
    expect(await runs.answers(id)).toHaveLength(5);
  });

  it('keeps a stored failure: a restart does not repeat the request', async () => {
    const { id, runs, worker, start } = await aRun({ queries: 2, stored: [aFailedAnswer({ queryId: 'q1' })] });
    await start();
    expect(worker.retriever.texts).toEqual(['question 2']);
    expect(await runs.outcomes(id)).toEqual({ ok: 1, empty: 0, error: 1, timeout: 0 });
  });

  it('requests nothing and only computes scores if every query already has an answer', async () => {
    const { worker, start, end } = await aRun({ queries: 3, stored: answersTo(1, 2, 3) });
    expect(await start()).toBe('ended');
    expect(worker.retriever.asked).toEqual([]);
    expect((await end()).run?.status).toBe('completed');
  });

  it('ends with the same result as an uninterrupted run, wherever it was interrupted, and repeats no request', async () => {
    const straight = await aRun({ queries: 9, reply: mixed });
    await straight.start();
    const { scores, checks } = await straight.end();
    // The names of the checks differ, because each run has a golden set with a unique name.
    const judged = checks.map((check) => ({ ...check, name: expect.any(String) }));
    for (let before = 0; before <= 9; before += 1) {
      const { id, runs, worker, start, end } = await aRun({
        queries: 9,
        reply: (query) => {
          if (query > before) worker.stop.abort(new Error('the daemon stops'));
          return mixed(query);
        },
      });
      await failureOf(start());
      const stored = await runs.answers(id);
      expect(stored).toHaveLength(before);
      worker.stop = new AbortController();
      worker.retriever = new MemoryRetriever(clock, ({ text }) => mixed(Number(text.replace('question ', ''))));
      await start();
      const ended = await end();
      expect(ended.scores).toEqual(scores);
      expect(ended.checks).toEqual(judged);
      expect(worker.retriever.asked).toHaveLength(9 - before);
    }
  });
});

describe('a golden run under a lease', () => {
  it('is left to the worker that holds the lease', async () => {
    const { id, runs, worker, start, holder } = await aRun();
    await runs.hold(id, 'other', 15);
    expect(await start()).toBe('held_elsewhere');
    expect(worker.retriever.asked).toEqual([]);
    expect(await holder()).toBe('other');
  });

  it('is taken over when its lease has expired', async () => {
    const { id, runs, start } = await aRun();
    await runs.hold(id, 'dead', -1);
    expect(await start()).toBe('ended');
  });

  it('keeps its lease through renewals, however long it takes', async () => {
    const { id, worker, start, holder } = await aRun({ queries: 2000 });
    const failure = failureOf(start());
    const until = new Set<number>();
    await waitFor(async () => {
      const { rows } = await database.pool.query<{ until: Date }>(
        'select lease_until as until from golden_runs where id = $1 and lease_until is not null',
        [id],
      );
      for (const row of rows) until.add(row.until.getTime());
      return until.size > 3;
    });
    expect(await holder()).toBe('me');
    worker.stop.abort(new Error('enough was seen'));
    await failure;
  });

  it('stops when another worker has taken over the lease, and changes no data of that worker', async () => {
    const { id, runs, worker, start, holder, end } = await aRun({ queries: 2000 });
    const done = start();
    await waitFor(() => worker.retriever.asked.length > 0);
    await database.pool.query(
      `update golden_runs set lease_holder = 'other', lease_until = now() + interval '1 h' where id = $1`,
      [id],
    );
    expect(await done).toBe('held_elsewhere');
    expect(worker.retriever.asked.length).toBeLessThan(2000);
    expect(await holder()).toBe('other');
    expect((await runs.find(id))?.status).toBe('running');
    expect((await end()).scores).toEqual([]);
  });

  it('stops when it was cancelled, and stays cancelled', async () => {
    const { id, runs, worker, start, end } = await aRun({ queries: 2000 });
    const done = start();
    await waitFor(() => worker.retriever.asked.length > 0);
    await runs.finish(id, endWithoutScores('cancelled', null, NOON));
    expect(await done).toBe('held_elsewhere');
    expect((await end()).run?.status).toBe('cancelled');
  });

  it('is not ended twice when another worker ended it first', async () => {
    const { id, runs, start, end } = await aRun({ queries: 3 });
    const quicker: GoldenRuns = {
      ...runs,
      async finish(runId, own) {
        await runs.finish(id, endWithoutScores('completed', null, NOON));
        return runs.finish(runId, own);
      },
    };
    expect(await start({ runs: quicker })).toBe('held_elsewhere');
    expect((await end()).run?.finishedAt).toEqual(NOON);
  });

  it('continues when a renewal fails, since the lease may still be valid', async () => {
    const { id, runs, logger, start } = await aRun({ queries: 100 });
    let holds = 0;
    const away: GoldenRuns = {
      ...runs,
      hold: (...lease) =>
        (holds += 1) === 2 ? Promise.reject(new Error('the database is away')) : runs.hold(...lease),
    };
    expect(await start({ runs: away })).toBe('ended');
    expect(logger.lines).toEqual([
      {
        level: 'warn',
        message: 'the lease of a golden run could not be renewed',
        fields: { run_id: id, reason: 'the database is away' },
      },
    ]);
  });
});

describe('a golden run with an error budget', () => {
  it('is void above the budget, has no scores, and leaves its checks without data', async () => {
    const { start, end } = await aRun({
      queries: 20,
      settings: { onError: 'void', errorBudget: 0.1 },
      reply: failing(3),
    });
    expect(await start()).toBe('ended');
    expect(await end()).toMatchObject({
      run: {
        status: 'void',
        reason: '15 % of the queries failed, above the error budget of 10 %.',
      },
      scores: [],
      checks: [{ verdict: 'no_data', value: null }],
    });
  });

  it('completes within the budget, and scores failed queries as 0', async () => {
    const { start, end } = await aRun({
      queries: 20,
      settings: { onError: 'void', errorBudget: 0.1 },
      reply: failing(2),
    });
    await start();
    const { run, scores } = await end();
    expect(run).toMatchObject({ status: 'completed', reason: null });
    expect(scores.find(({ measure }) => measure === 'hit_rate')).toMatchObject({ mean: 0.9, n: 20 });
  });

  it('does not count empty answers as failures', async () => {
    const { start, end } = await aRun({
      queries: 4,
      settings: { onError: 'void', errorBudget: 0 },
      reply: () => 'empty',
    });
    await start();
    expect((await end()).run?.status).toBe('completed');
  });

  it('is never void when failed queries are configured to score 0', async () => {
    const { start, end } = await aRun({ queries: 20, settings: { onError: 'score_zero' }, reply: failing(20) });
    await start();
    expect(await end()).toMatchObject({
      run: { status: 'completed' },
      checks: [{ verdict: 'critical', value: 0 }],
    });
  });
});

describe('a golden run that is stopped', () => {
  it('stays in progress, keeps its answers and releases the lease, so that another worker continues at once', async () => {
    const { id, runs, worker, start, holder } = await aRun({ queries: 2000 });
    const failure = failureOf(start());
    await waitFor(() => worker.retriever.asked.length > 10);
    worker.stop.abort(new Error('the daemon stops'));
    expect(await failure).toEqual(new Error('the daemon stops'));
    expect(await runs.find(id)).toMatchObject({ status: 'running' });
    expect(await holder()).toBeNull();
    const answered = (await runs.answers(id)).map(({ queryId }) => queryId);
    expect(answered.length).toBeGreaterThanOrEqual(10);
    expect(answered).toEqual(goldenQueries(answered.length).map((query) => query.id));
  });

  it('rejects when its answers cannot be stored, sends no further requests and releases the lease', async () => {
    const { id, runs, worker, start, holder } = await aRun({ queries: 2000 });
    const full: GoldenRuns = { ...runs, saveAnswers: () => Promise.reject(new Error('the disk is full')) };
    expect(await failureOf(start({ runs: full }))).toEqual(new Error('the disk is full'));
    expect(worker.retriever.asked.length).toBeLessThan(2000);
    expect(await holder()).toBeNull();
    expect((await runs.find(id))?.status).toBe('running');
  });

  it('rejects without any request when the set cannot be read', async () => {
    const { sets, worker, start, holder } = await aRun();
    const away: GoldenSets = { ...sets, queries: () => Promise.reject(new Error('the database is away')) };
    expect(await failureOf(start({ sets: away }))).toEqual(new Error('the database is away'));
    expect(worker.retriever.asked).toEqual([]);
    expect(await holder()).toBeNull();
  });
});
