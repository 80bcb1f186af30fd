import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QueryAnswer, RunSettings } from '../../../../src/golden/rules/run.ts';
import { askRetriever } from '../../../../src/golden/runs/ask-retriever.ts';
import { aGoldenQuery, aRunSettings, documents, goldenQueries } from '../../../support/builders.ts';
import { MemoryRetriever, type Reply } from '../../../support/memory-retriever.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';
import { aGate } from '../../../support/throttle.ts';

interface Asking {
  readonly queries: number;
  readonly settings?: Partial<RunSettings>;
  readonly latencyMs?: number;
  /** The response of the retriever to its `index`th request. */
  readonly reply?: (index: number) => Reply;
}

async function ask({ queries, settings = {}, latencyMs = 10, reply = () => ['d1'] }: Asking) {
  const clock = new SteerableClock();
  const retriever = new MemoryRetriever(clock, (_, index) => reply(index), latencyMs);
  const answers: QueryAnswer[] = [];
  const gate = await aGate(clock, settings);
  const done = askRetriever(
    retriever,
    clock,
    gate,
    goldenQueries(queries),
    aRunSettings(settings),
    (answer) => answers.push(answer),
    new AbortController().signal,
  );
  await clock.until(done);
  const elapsedMs = clock.monotonicMs();
  await gate.close();
  return { answers, retriever, elapsedMs };
}

/** Returns the reason for the rejection. */
function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

const notAsked = (answers: readonly QueryAnswer[]): QueryAnswer[] =>
  answers.filter(({ errorCode }) => errorCode === 'not_asked');

describe('askRetriever', () => {
  it('requests every query once, with its text, its tags and the largest cutoff', async () => {
    const clock = new SteerableClock();
    const retriever = new MemoryRetriever(clock, () => ['d1']);
    const query = aGoldenQuery({ text: 'Wie spät?', tags: { lang: 'de' } });
    const settings = aRunSettings({ cutoffs: [1, 50, 10] });
    const gate = await aGate(clock, settings);
    await clock.until(
      askRetriever(retriever, clock, gate, [query], settings, () => undefined, new AbortController().signal),
    );
    expect(retriever.asked.map(({ request }) => request)).toEqual([
      { text: 'Wie spät?', k: 50, tags: { lang: 'de' }, withText: true, withStages: true },
    ]);
  });

  it('returns one answer for each query, whatever its outcome', async () => {
    const replies: Reply[] = [['d1', 'd2'], 'empty', 'error', 'timeout'];
    const { answers } = await ask({
      queries: 4,
      settings: { concurrency: 1 },
      reply: (index) => replies[index] ?? 'error',
    });
    const common = { latencyMs: 10, attempts: 1, errorCode: null, errorMessage: null };
    expect(answers).toEqual([
      { ...common, queryId: 'q1', outcome: 'ok', documents: documents('d1', 'd2') },
      { ...common, queryId: 'q2', outcome: 'empty', documents: [] },
      {
        ...common,
        queryId: 'q3',
        outcome: 'error',
        documents: [],
        errorCode: 'http_500',
        errorMessage: 'it returned 500',
      },
      { ...common, queryId: 'q4', outcome: 'timeout', documents: [], errorMessage: 'It did not respond in time.' },
    ]);
  });

  it('reaches the configured concurrency and never exceeds it', async () => {
    const { retriever } = await ask({
      queries: 40,
      settings: { concurrency: 3, maxPerSecond: 100_000 },
      latencyMs: 1000,
    });
    expect(retriever.mostAtOnce).toBe(3);
  });

  it('never sends more queries per second than configured, and is no slower than necessary', async () => {
    const { retriever, elapsedMs } = await ask({
      queries: 50,
      settings: { concurrency: 16, maxPerSecond: 10 },
    });
    const times = retriever.asked.map(({ atMs }) => atMs);
    const busiest = Math.max(
      ...times.map((start) => times.filter((time) => time >= start && time < start + 1000).length),
    );
    expect(busiest).toBe(10);
    expect(elapsedMs).toBeLessThanOrEqual(5000);
  });

  it('respects both limits for any set, rate limit, concurrency and latency', async () => {
    const anAsking = fc.record({
      queries: fc.integer({ min: 0, max: 40 }),
      concurrency: fc.integer({ min: 1, max: 12 }),
      maxPerSecond: fc.integer({ min: 1, max: 50 }),
      latencyMs: fc.integer({ min: 0, max: 900 }),
    });
    await fc.assert(
      fc.asyncProperty(anAsking, async ({ queries, concurrency, maxPerSecond, latencyMs }) => {
        const { answers, retriever } = await ask({
          queries,
          settings: { concurrency, maxPerSecond },
          latencyMs,
        });
        expect(answers.map(({ queryId }) => queryId).toSorted()).toEqual(
          goldenQueries(queries)
            .map(({ id }) => id)
            .toSorted(),
        );
        expect(retriever.mostAtOnce).toBeLessThanOrEqual(concurrency);
        const gaps = retriever.asked.slice(1).map(({ atMs }, index) => atMs - (retriever.asked[index]?.atMs ?? 0));
        expect(Math.min(...gaps, Number.POSITIVE_INFINITY)).toBeGreaterThan(1000 / maxPerSecond - 1e-6);
      }),
      { numRuns: 40 },
    );
  });
});

describe('a retriever that stops answering', () => {
  it('is abandoned after 28 consecutive failures; the remaining queries are `not_asked` and none is lost', async () => {
    const { answers, retriever } = await ask({
      queries: 500,
      settings: { concurrency: 1 },
      reply: () => 'error',
    });
    expect(retriever.asked).toHaveLength(28);
    expect(answers).toHaveLength(500);
    expect(notAsked(answers)).toHaveLength(472);
    expect(notAsked(answers)[0]).toMatchObject({
      outcome: 'error',
      documents: [],
      attempts: 0,
      latencyMs: null,
      errorMessage: 'The query was not sent: the retriever had failed for 28 queries in a row.',
    });
  });

  it.each([1, 4, 16])(
    'is abandoned within seconds whatever the size of the set, at concurrency %i',
    async (concurrency) => {
      const { elapsedMs } = await ask({
        queries: 20_000,
        settings: { concurrency, maxPerSecond: 1000 },
        reply: () => 'error',
      });
      expect(elapsedMs).toBeLessThan(25_000);
    },
  );

  it('receives requests at growing intervals before it is abandoned', async () => {
    const { retriever } = await ask({ queries: 100, settings: { concurrency: 1 }, reply: () => 'timeout' });
    const times = retriever.asked.slice(19).map(({ atMs }) => atMs);
    const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0) - 10);
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 4000, 4000, 4000]);
  });

  it('receives requests at the full rate again if it recovers in time', async () => {
    const { answers, retriever } = await ask({
      queries: 200,
      settings: { concurrency: 1 },
      reply: (index) => (index >= 10 && index < 35 ? 'error' : ['d1']),
    });
    expect(retriever.asked).toHaveLength(200);
    expect(notAsked(answers)).toEqual([]);
    const last = retriever.asked.slice(36).map(({ atMs }) => atMs);
    expect((last.at(-1) ?? 0) - (last[0] ?? 0)).toBe(163 * 10);
  });

  it('is not abandoned for failures that are not consecutive', async () => {
    const { retriever } = await ask({
      queries: 300,
      settings: { concurrency: 1 },
      reply: (index) => (index % 20 === 19 ? 'empty' : 'error'),
    });
    expect(retriever.asked).toHaveLength(300);
  });
});

describe('askRetriever with an abort signal', () => {
  it('rejects with the reason, sends no more requests, and keeps the answers delivered before', async () => {
    const clock = new SteerableClock();
    const retriever = new MemoryRetriever(clock, () => ['d1'], 100);
    const stop = new AbortController();
    const answers: QueryAnswer[] = [];
    const settings = aRunSettings({ concurrency: 2 });
    const gate = await aGate(clock, settings);
    const done = askRetriever(
      retriever,
      clock,
      gate,
      goldenQueries(20),
      settings,
      (answer) => answers.push(answer),
      stop.signal,
    );
    const failure = failureOf(done);
    await clock.advance(350);
    stop.abort(new Error('the daemon stops'));
    expect(await failure).toEqual(new Error('the daemon stops'));
    await clock.advance(60_000);
    expect(answers).toHaveLength(6);
    expect(retriever.asked).toHaveLength(8);
  });

  it('sends nothing when it is aborted before it starts', async () => {
    const clock = new SteerableClock();
    const retriever = new MemoryRetriever(clock, () => ['d1']);
    const done = askRetriever(
      retriever,
      clock,
      await aGate(clock),
      goldenQueries(3),
      aRunSettings(),
      () => undefined,
      AbortSignal.abort(new Error('stopped')),
    );
    await expect(done).rejects.toThrow('stopped');
    expect(retriever.asked).toEqual([]);
  });

  it('rejects without waiting for the next request during an outage', async () => {
    const clock = new SteerableClock();
    const retriever = new MemoryRetriever(clock, () => 'error');
    const stop = new AbortController();
    const done = askRetriever(
      retriever,
      clock,
      await aGate(clock, { concurrency: 1 }),
      goldenQueries(100),
      aRunSettings({ concurrency: 1 }),
      () => undefined,
      stop.signal,
    );
    const failure = failureOf(done);
    await clock.advance(3000);
    stop.abort(new Error('stopped'));
    expect(await failure).toEqual(new Error('stopped'));
    expect(clock.monotonicMs()).toBe(3000);
  });
});
