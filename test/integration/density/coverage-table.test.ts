/** Coverage of live queries on a real database: each query is measured once, even if workers fail. */

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDb } from '../../../src/app/database.ts';
import { erase } from '../../../src/app/erasure/erase.ts';
import type { Context } from '../../../src/core/context.ts';
import { baselinesTable } from '../../../src/density/baselines-table.ts';
import type { CoveredQuery } from '../../../src/density/coverage-reads.ts';
import { coverageTable } from '../../../src/density/coverage-table.ts';
import { admitLiveQueries, measureCoverage } from '../../../src/density/measure-coverage.ts';
import type { DensityPlan } from '../../../src/density/plan.ts';
import { createTrafficReads } from '../../../src/live/sql/live-samples.ts';
import { createLiveTraffic, type LiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import { type LiveSample } from '../../../src/live/sql/record-arrivals.ts';
import { NOON } from '../../support/builders.ts';
import { type ContextParts, contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { aSample } from '../../support/live-traffic.ts';
import { silentLogger } from '../../support/log.ts';
import { memoryEmbedder } from '../../support/memory-embedder.ts';
import { MemoryMeter } from '../../support/memory-telemetry.ts';
import { MemoryVectorStore } from '../../support/memory-vector-store.ts';

const database = useDatabase();
const never = new AbortController().signal;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const after = (ms: number) => new Date(NOON.getTime() + ms);

let traffic: LiveTraffic;
let coverage: ReturnType<typeof coverageTable>;
let clock: HandClock;
let store: MemoryVectorStore;

const chunks = [
  { id: 'a', vector: Float32Array.of(1, 0), content: 'first' },
  { id: 'a copy', vector: Float32Array.of(1, 0), content: 'first' },
  { id: 'b', vector: Float32Array.of(0.8, 0.6), content: 'second' },
  { id: 'c', vector: Float32Array.of(0, 1), content: 'third' },
  { id: 'd', vector: Float32Array.of(-0.8, 0.6), content: 'fourth' },
  { id: 'e', vector: Float32Array.of(-1, 0), content: 'fifth' },
];

beforeAll(async () => {
  traffic = createLiveTraffic(database.pool, 'a');
  coverage = coverageTable(database.pool);
  await traffic.createPartitions(NOON);
});

beforeEach(async () => {
  await database.pool.query(
    'truncate live_queries, query_coverage, coverage_admissions, retriever_rates, density_baselines cascade',
  );
  clock = new HandClock(after(10 * MINUTE));
  store = new MemoryVectorStore(chunks);
});

function deps(plan: Partial<DensityPlan> = {}, parts: ContextParts = {}): Context {
  const one: DensityPlan = {
    pipeline: 'docs',
    store,
    embedder: null,
    windowMs: HOUR,
    graceMs: 10 * MINUTE,
    maxPerSecond: 1000,
    budget: { count: 1, periodMs: 365 * DAY },
    monitors: 1,
    needs: { days: 14, sessions: 2000 },
    segmentKeys: [],
    maxSegments: 10,
    severity: null,
    checkName: 'density drift',
    ...plan,
  };
  const db = createDb(database.pool);
  return contextOf({ db, meter: new MemoryMeter(), clock, logger: silentLogger, densityPlans: [one] }, parts);
}

const ask = (...samples: readonly Partial<LiveSample>[]) =>
  traffic.record({
    samples: samples.map((parts, i) =>
      aSample({ id: `q${i}`, traceId: null, embedding: Float32Array.of(1, 0), ...parts }),
    ),
    counts: [],
    levels: [],
  });

/** Runs the job for one minute. @returns the number of times that the job requested another worker */
async function measure(context: Context): Promise<number> {
  let calls = 0;
  const requestHelper = async (): Promise<void> => {
    calls += 1;
  };
  await admitLiveQueries(context);
  await measureCoverage(context, new Date(clock.now().getTime() + MINUTE), requestHelper, never);
  return calls;
}

async function rows(columns = 'id, status, nearest->0->1 as similarity, reason'): Promise<unknown[]> {
  return (await database.pool.query(`select ${columns} from query_coverage order by id`)).rows;
}

describe('a sampled query', () => {
  it('is measured by its nearest distinct chunks, which are stored', async () => {
    await ask({});
    await measure(deps());
    expect(await rows('status, reason, nearest, thinning')).toEqual([
      {
        status: 'measured',
        reason: null,
        nearest: [
          ['a', 1],
          ['b', expect.closeTo(0.8, 6)],
          ['c', 0],
          ['d', expect.closeTo(-0.8, 6)],
          ['e', -1],
        ],
        thinning: 1,
      },
    ]);
  });

  it('that arrived without a vector is embedded from its text, and the vector is stored', async () => {
    await ask({ embedding: null, text: 'how' });
    await measure(deps({ embedder: memoryEmbedder({ how: [0, 1] }) }));
    expect(await rows('nearest->0->0 as nearest, embedding is not null as kept')).toEqual([
      { nearest: 'c', kept: true },
    ]);
  });

  it('that an agent rewrote is measured by what the user asked, whatever vector came with the rewritten text', async () => {
    await ask({ text: 'rewritten', originalText: 'how' }, { text: 'how', originalText: 'how' });
    await measure(deps({ embedder: memoryEmbedder({ how: [0, 1], rewritten: [-1, 0] }) }));
    expect(await rows('id, nearest->0->0 as nearest, embedding is not null as kept')).toEqual([
      { id: 'q0', nearest: 'c', kept: true },
      { id: 'q1', nearest: 'a', kept: false },
    ]);
    const period = { pipeline: 'docs', from: after(-HOUR), until: after(HOUR), scoredSince: null };
    const read: CoveredQuery[] = [];
    for await (const batch of coverage.read(period, 1)) read.push(...batch);
    expect(read.map(({ vector }) => [...(vector ?? [])])).toEqual([
      [0, 1],
      [1, 0],
    ]);
  });

  it('that an agent rewrote is measured by its own vector if no embedder is configured', async () => {
    await ask({ text: 'rewritten', originalText: 'how' });
    await measure(deps());
    expect(await rows('nearest->0->0 as nearest, status')).toEqual([{ nearest: 'a', status: 'measured' }]);
  });

  it('that an agent rewrote is measured by the original text again after an index change', async () => {
    await ask({ text: 'rewritten', originalText: 'how' });
    const context = deps({ embedder: memoryEmbedder({ how: [0, 1], rewritten: [-1, 0] }) });
    await measure(context);
    const period = { pipeline: 'docs', from: after(-HOUR), until: after(HOUR), scoredSince: null };
    await coverage.reopen(period, { chance: 1, fromText: false, now: clock.now() });
    await measure(context);
    expect(await rows('nearest->0->0 as nearest, status')).toEqual([{ nearest: 'c', status: 'measured' }]);
  });

  it.each([
    ['no vector', { embedding: null, text: null }, 'no_vector'],
    ['a text but no embedder', { embedding: null, text: 'how' }, 'no_vector'],
    ['a vector of zeros', { embedding: Float32Array.of(0, 0) }, 'zero_vector'],
    ['a vector with a NaN', { embedding: Float32Array.of(Number.NaN, 1) }, 'not_finite_vector'],
    ['a vector of another length', { embedding: Float32Array.of(1, 0, 0) }, 'dimension_mismatch'],
  ])('with %s counts as not measurable, with the reason', async (_name, parts, reason) => {
    await ask(parts);
    await measure(deps());
    expect(await rows()).toEqual([{ id: 'q0', status: 'not_measurable', similarity: null, reason }]);
    const period = { pipeline: 'docs', from: after(-HOUR), until: after(HOUR), scoredSince: null };
    expect((await coverage.tally(period)).notMeasurable).toEqual({ [reason]: 1 });
  });

  it('from a service whose clock is ahead counts on the day of its timestamp, although it arrived the day before', async () => {
    const midnight = 12 * HOUR;
    await ask({ receivedAt: after(midnight - 2 * MINUTE), occurredAt: after(midnight + MINUTE) });
    const period = { pipeline: 'docs', from: after(midnight), until: after(midnight + HOUR), scoredSince: null };
    expect((await coverage.tally(period)).untouched).toBe(1);
  });

  it('that finds too few chunks is measured by the nearest one and marked as short', async () => {
    store.hold(chunks.slice(0, 2));
    await ask({});
    await measure(deps());
    expect(await rows()).toEqual([{ id: 'q0', status: 'measured', similarity: 1, reason: 'short' }]);
  });

  it('that finds no chunks has the lowest coverage', async () => {
    store.hold([]);
    await ask({});
    await measure(deps());
    const shown = { pipeline: 'docs', from: after(-HOUR), until: after(HOUR), within: null, bins: 4 };
    expect(await createTrafficReads(database.pool).coverage(shown)).toMatchObject({ low: -1, high: -1, queries: 1 });
    expect(await rows()).toEqual([{ id: 'q0', status: 'measured', similarity: null, reason: 'short' }]);
  });

  it('is not measured while sampling may still drop it', async () => {
    await ask({ receivedAt: after(9 * MINUTE) });
    await measure(deps());
    expect(await rows()).toEqual([]);
  });
});

describe('many workers', () => {
  it('share the queries and search each query once', async () => {
    await ask(...Array.from({ length: 300 }, () => ({})));
    await Promise.all([1, 2, 3, 4].map(() => measure(deps())));
    expect(store.searches).toBe(300);
    const { rows: counts } = await database.pool.query(
      'select count(*)::integer as n, max(attempts) as attempts from query_coverage',
    );
    expect(counts).toEqual([{ n: 300, attempts: 1 }]);
  });

  it('take over the queries of a crashed worker after its lease expires', async () => {
    await ask({});
    const claim = (now: Date) =>
      coverage.claim({
        pipeline: 'docs',
        from: after(-HOUR),
        until: after(HOUR),
        limit: 10,
        now,
        leaseUntil: new Date(now.getTime() + 2 * MINUTE),
      });
    expect((await claim(NOON)).map(({ id, attempts }) => [id, attempts])).toEqual([['q0', 0]]);
    expect(await claim(after(MINUTE))).toEqual([]);
    expect((await claim(after(3 * MINUTE))).map(({ id, attempts }) => [id, attempts])).toEqual([['q0', 1]]);
  });
});

describe('a store that is down', () => {
  it('leaves a query open until a later retry measures it', async () => {
    await ask({});
    store.failure = 'it is down';
    await measure(deps());
    expect(await rows()).toEqual([{ id: 'q0', status: 'open', similarity: null, reason: 'store_failed' }]);
    store.failure = null;
    await measure(deps());
    expect(await rows()).toMatchObject([{ status: 'open' }]);
    clock.set(after(11 * MINUTE));
    await measure(deps());
    expect(await rows()).toMatchObject([{ status: 'measured', reason: null }]);
  });

  it('is no longer searched after twelve attempts, and the query counts as not measurable', async () => {
    await ask({});
    store.failure = 'it is down';
    for (let minute = 10; minute < 130; minute++) {
      clock.set(after(minute * MINUTE));
      await measure(deps());
    }
    expect(await rows()).toEqual([{ id: 'q0', status: 'not_measurable', similarity: null, reason: 'store_failed' }]);
    expect(store.searches).toBe(12);
  });
});

describe('traffic above the search budget', () => {
  it('is thinned by session, and the sampling probability is stored', async () => {
    const unitHashes = Array.from({ length: 800 }, (_, i) => (i / 800) * 0.5);
    await ask(...unitHashes.map((unitHash) => ({ unitHash })));
    // At one search per second, 300 of the 800 queries can be searched in five minutes.
    // The sampled share is a power of two, so a quarter is the largest share that fits.
    await measure(deps({ maxPerSecond: 1 }));
    const { rows: counts } = await database.pool.query(
      `select c.status, c.reason, c.thinning, count(*)::integer as n, max(q.unit_hash) < 0.125 as low
         from query_coverage c join live_queries q using (received_on, pipeline, id) group by 1, 2, 3 order by 1`,
    );
    expect(counts).toEqual([
      { status: 'measured', reason: null, thinning: 0.25, n: 200, low: true },
      { status: 'not_measurable', reason: 'thinned', thinning: 0.25, n: 600, low: false },
    ]);
    const period = { pipeline: 'docs', from: after(-HOUR), until: after(HOUR), scoredSince: null };
    expect((await coverage.tally(period)).chances).toEqual([{ chance: 0.125, queries: 200, sessions: 1 }]);
  });
});

describe('the admission of queries', () => {
  it('keeps the probability of a query until it is measured, even if capacity grows', async () => {
    await ask(...Array.from({ length: 800 }, (_, i) => ({ unitHash: (i / 800) * 0.5 })));
    const meter = new MemoryMeter();
    await admitLiveQueries(deps({ maxPerSecond: 1 }, contextOf({ meter })));
    expect(meter.increments).toMatchObject([{ name: 'recalld_density_left_out_total', value: 600 }]);
    expect(await coverage.admissions()).toMatchObject([{ pipeline: 'docs', level: 2, leftOut: 600 }]);
    clock.set(after(12 * MINUTE));
    await measure(deps({ maxPerSecond: 1000 }));
    const period = { pipeline: 'docs', from: after(-HOUR), until: after(HOUR), scoredSince: null };
    expect((await coverage.tally(period)).chances).toEqual([{ chance: 0.125, queries: 200, sessions: 1 }]);
  });

  it('is decided once for all concurrent workers', async () => {
    await ask(...Array.from({ length: 800 }, (_, i) => ({ unitHash: (i / 800) * 0.5 })));
    await Promise.all([1, 2, 3, 4].map(() => admitLiveQueries(deps({ maxPerSecond: 1 }))));
    expect(await coverage.admissions()).toMatchObject([{ level: 2, leftOut: 600 }]);
  });

  it('admits every query again after minutes without traffic', async () => {
    await ask(...Array.from({ length: 800 }, (_, i) => ({ unitHash: (i / 800) * 0.5 })));
    await measure(deps({ maxPerSecond: 1 }));
    const levels: number[] = [];
    for (let minute = 11; minute < 30; minute++) {
      clock.set(after(minute * MINUTE));
      await measure(deps({ maxPerSecond: 1 }));
      levels.push((await coverage.admissions())[0]?.level ?? -1);
    }
    expect(levels[0]).toBe(2);
    expect(levels).toContain(1);
    expect(levels.at(-1)).toBe(0);
  });
});

describe('more than one batch', () => {
  it('requests another worker once; a single batch does not', async () => {
    await ask({});
    expect(await measure(deps())).toBe(0);
    await ask(...Array.from({ length: 200 }, (_, i) => ({ id: `more ${i}` })));
    clock.set(after(11 * MINUTE));
    expect(await measure(deps())).toBe(1);
  });
});

describe('a worker that stops', () => {
  it('records the results that it has, and immediately releases the other queries to the next worker', async () => {
    await ask({}, {}, {});
    const stop = new AbortController();
    let hasFound: () => void = () => undefined;
    const first = new Promise<void>((resolve) => {
      hasFound = resolve;
    });
    const nearest = store.nearest.bind(store);
    store.nearest = async (request, signal) => {
      const found = await nearest(request, signal);
      hasFound();
      return found;
    };
    const patient = new HandClock(clock.now());
    patient.sleep = async (_ms, signal) => {
      await first;
      stop.abort(new Error('the worker stops'));
      signal.throwIfAborted();
    };
    const slow = deps({ maxPerSecond: 1 }, contextOf({ clock: patient }));
    await admitLiveQueries(slow);
    await expect(measureCoverage(slow, after(11 * MINUTE), async () => undefined, stop.signal)).rejects.toThrow(
      'the worker stops',
    );
    // Any of the three queries may have been searched first.
    const left = await database.pool.query('select status, reason from query_coverage order by status');
    expect(left.rows).toEqual([
      { status: 'measured', reason: null },
      { status: 'open', reason: 'interrupted' },
      { status: 'open', reason: 'interrupted' },
    ]);
    await measure(deps());
    expect(await rows('status')).toEqual(Array.from({ length: 3 }, () => ({ status: 'measured' })));
  });
});

describe('the search budget', () => {
  it('applies to all workers together', async () => {
    await ask(...Array.from({ length: 40 }, () => ({})));
    const waits: number[] = [];
    const patient = new HandClock(clock.now());
    patient.sleep = async (ms) => {
      waits.push(ms);
    };
    await admitLiveQueries(deps({ maxPerSecond: 20 }));
    const round = { endsAt: after(11 * MINUTE), requestHelper: async () => undefined };
    await Promise.all(
      [1, 2].map(() =>
        measureCoverage(
          deps({ maxPerSecond: 20 }, contextOf({ clock: patient })),
          round.endsAt,
          round.requestHelper,
          never,
        ),
      ),
    );
    // Forty slots at intervals of 50 ms take two seconds, whichever caller uses them; some of this time passed
    // while the slots were reserved.
    expect(Math.max(...waits)).toBeGreaterThan(1000);
    expect(waits.every((ms) => ms < 2100)).toBe(true);
  });
});

describe('an erasure', () => {
  it('deletes the coverage of the erased queries, and their vectors in baselines', async () => {
    await ask({ userHash: 'hash of ann' }, { userHash: null });
    await measure(deps());
    const baselines = baselinesTable(database.pool);
    const kept = (id: string, userHash: string | null) => ({
      id,
      userHash,
      session: id,
      score: 0.5,
      surprise: 1,
      nearest: [['a', 0.5]] as const,
      vector: Float32Array.of(1, 0),
      counts: null,
    });
    const spread = { sessions: 4, meanX: 1, variance: 1, phi: 1, meanXUpper: 1.1 };
    const version = await baselines.save(
      {
        pipeline: 'docs',
        createdAt: NOON,
        reason: 'enough traffic',
        storeMean: Float64Array.of(0.25, 0.5),
        tailSessions: 4,
        baseline: {
          grade: 'page',
          period: { from: NOON, until: after(DAY) },
          days: 1,
          sessions: 4,
          queries: 4,
          dropped: { notMeasurable: 0, notFiniteVector: 0, zeroVector: 0 },
          regions: { count: 1, columns: 2, centroids: Float64Array.of(1, 0) },
          scores: { all: Float64Array.of(0.5, 0.6), regions: [Float64Array.of(0.5)] },
          global: spread,
          meanExcess: 0.02,
          regionShares: [1],
        },
      },
      {
        tail: [kept('q0', 'hash of ann'), kept('old', 'hash of ann')],
        sample: [kept('q1', null)],
        reference: [{ ...kept('q2', 'hash of ann'), counts: [3, 1] }],
      },
    );
    expect((await baselines.retained('docs', version, 'reference')).queries).toMatchObject([
      { id: 'q2', counts: [3, 1] },
    ]);
    expect(await baselines.similarities('docs', version)).toEqual(Float64Array.of(0.5));
    expect(await baselines.find('docs', version)).toMatchObject({
      version: 1,
      storeMean: Float64Array.of(0.25, 0.5),
      baseline: {
        period: { from: NOON, until: after(DAY) },
        regions: { count: 1, columns: 2, centroids: Float64Array.of(1, 0) },
        scores: { all: Float64Array.of(0.5, 0.6), regions: [Float64Array.of(0.5)] },
        global: spread,
      },
    });
    await erase(database.pool, { kind: 'user', userHash: 'hash of ann' }, 'somebody', after(HOUR));
    expect(await rows('id')).toEqual([{ id: 'q1' }]);
    expect((await baselines.retained('docs', version, 'tail')).queries).toEqual([]);
    await erase(database.pool, { kind: 'query', id: 'q1', idHash: 'hash' }, 'somebody', after(HOUR));
    expect((await baselines.retained('docs', version, 'sample')).queries).toEqual([]);
    expect(await rows('id')).toEqual([]);
  });
});
