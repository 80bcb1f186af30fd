/** Live traffic on a real database, hour by hour, through the jobs that monitor its query density. */

import type { Pool } from 'pg';
import { createComputePool } from '../../src/app/compute.ts';
import { createDb } from '../../src/app/database.ts';
import type { Context } from '../../src/core/context.ts';
import { detectUncoveredTopics } from '../../src/density/detect-uncovered-topics.ts';
import { evaluateDensity } from '../../src/density/evaluate-density.ts';
import { admitLiveQueries, measureCoverage } from '../../src/density/measure-coverage.ts';
import type { DensityPlan } from '../../src/density/plan.ts';
import type { DensityEvent } from '../../src/density/watch-table.ts';
import { createLiveTraffic } from '../../src/live/sql/live-traffic.ts';
import type { LiveSample } from '../../src/live/sql/record-arrivals.ts';
import { rowOf } from '../../src/math/vector/matrix.ts';
import { contextOf } from './context.ts';
import { HandClock } from './hand-clock.ts';
import { aSample } from './live-traffic.ts';
import { silentLogger } from './log.ts';
import { MemoryMeter } from './memory-telemetry.ts';
import { type MemoryChunk, MemoryVectorStore } from './memory-vector-store.ts';
import { type QueryWorld, queryWorld } from './query-world.ts';
import { limitsOfOne } from './throttle.ts';
import { uniforms } from './uniforms.ts';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
/** A Monday. */
export const START = new Date('2026-09-07T00:00:00Z');
const SIGNAL = new AbortController().signal;
const RATE = 0.5;
/** Delay from the arrival of queries to their search. */
const SENT_MS = 5 * 60_000;

/** Chooses the topic of a query. */
export type TopicMix = (uniform: () => number) => number;

/** Chooses the given topics equally often. */
export function evenly(topics: readonly number[]): TopicMix {
  return (uniform) => topics[Math.floor(uniform() * topics.length)] ?? 0;
}

/** Gives one topic the given share of the traffic; `rest` chooses the topics of the remaining traffic. */
export function withTopic(topic: number, share: number, rest: TopicMix): TopicMix {
  return (uniform) => (uniform() < share ? topic : rest(uniform));
}

/** Overrides from a test. */
export interface StreamParts extends Partial<DensityPlan> {
  readonly topics?: number;
  readonly covered?: number;
}

const subjects = ['tax', 'rent', 'visa', 'pets', 'fees', 'mail', 'parental leave', 'exams'];

export class WatchedStream {
  readonly world: QueryWorld;
  readonly store: MemoryVectorStore;
  readonly clock = new HandClock(START);
  readonly plan: DensityPlan;
  readonly deps: Context;
  /** Number of workers that run each job concurrently. */
  workers = 1;
  readonly traffic;
  readonly #uniform = uniforms(11);
  #asked = 0;
  #named = 0;
  readonly #threads = createComputePool({ threads: 1, maxWaiting: 8 });

  readonly pool: Pool;

  constructor(pool: Pool, { topics = 8, covered = 6, ...plan }: StreamParts = {}) {
    this.pool = pool;
    this.world = queryWorld(5, topics, covered);
    this.store = new MemoryVectorStore(this.chunksOf(Array.from({ length: covered }, (_, topic) => topic)));
    this.plan = {
      pipeline: 'docs',
      store: this.store,
      embedder: null,
      windowMs: HOUR,
      graceMs: 600_000,
      maxPerSecond: 1e6,
      budget: { count: 1, periodMs: 365 * DAY },
      monitors: 1,
      needs: { days: 14, sessions: 2_000 },
      segmentKeys: ['language'],
      maxSegments: 10,
      severity: 'critical',
      checkName: 'density drift',
      ...plan,
    };
    const { clock } = this;
    const db = createDb(pool);
    this.traffic = createLiveTraffic(pool, 'a');
    this.deps = contextOf({
      db: { ...db, limits: limitsOfOne(clock), golden: { runs: { latest: async () => [] } } },
      reads: db,
      meter: new MemoryMeter(),
      newTopicId: () => `topic ${++this.#named}`,
      compute: this.#threads,
      hooks: { evaluateChecks: async () => undefined },
      hashKey: 'a key of hashes for the tests',
      clock,
      logger: silentLogger,
      densityPlans: [this.plan],
    });
  }

  chunksOf(topics: readonly number[]): MemoryChunk[] {
    return topics.flatMap((topic) => {
      const chunks = this.world.chunksOf([topic]);
      return Array.from({ length: chunks.rows }, (_, row) => ({
        id: `chunk ${topic}.${row}`,
        vector: Float32Array.from(rowOf(chunks, row)),
        content: `text ${topic}.${row}`,
      }));
    });
  }

  /** Sampled queries for one hour, one per session. */
  samples(from: Date, count: number, mix: TopicMix): LiveSample[] {
    const questions = Array.from({ length: count }, (_, i) => ({
      topic: mix(this.#uniform),
      session: null,
      occurredAt: new Date(from.getTime() + Math.floor((i * HOUR) / count)),
    }));
    const { vectors } = this.world.ask(questions);
    return questions.map(({ occurredAt, topic }, row) =>
      aSample({
        id: `q${String(this.#asked++).padStart(7, '0')}`,
        traceId: null,
        text: `what of ${subjects[topic] ?? 'this'} in case ${row}?`,
        sessionHash: `session ${this.#asked}`,
        occurredAt,
        receivedAt: occurredAt,
        embedding: Float32Array.from(rowOf(vectors, row)),
        segments: { language: topic % 2 === 0 ? 'en' : 'de' },
        unitHash: this.#uniform() * RATE,
        rateProbability: RATE,
        probability: RATE,
      }),
    );
  }

  async ask(samples: readonly LiveSample[]): Promise<void> {
    await this.traffic.record({ samples, counts: [], levels: [] });
  }

  /**
   * Sends traffic in blocks of `every` hours. After each block, its queries are searched and the windows are evaluated.
   */
  async run(hours: number, perHour: number, mix: TopicMix, every = 1): Promise<void> {
    const from = this.clock.now().getTime();
    for (let hour = 0; hour < hours; hour += every) {
      const starts = Array.from({ length: Math.min(every, hours - hour) }, (_, i) => from + (hour + i) * HOUR);
      if (starts.some((start) => (start - from) % DAY === 0))
        await this.traffic.createPartitions(new Date(starts[0] ?? from));
      const end = new Date(from + (hour + starts.length) * HOUR);
      const samples = starts.flatMap((start) => this.samples(new Date(start), perHour, mix));
      await this.ask(samples.map((sample) => ({ ...sample, receivedAt: end })));
      // The queries are searched soon after they arrive. After a longer wait, recalld would conclude that the search
      // budget is exceeded, and would sample fewer queries.
      this.clock.set(new Date(end.getTime() + SENT_MS));
      await this.measure();
      this.clock.set(end);
      if (starts.length === every) await this.work();
    }
  }

  /** Runs the jobs as if it were a quarter past the hour. */
  async work(): Promise<void> {
    const now = this.clock.now();
    this.clock.set(new Date(now.getTime() + 15 * 60_000));
    await this.measure();
    await this.evaluate();
    this.clock.set(now);
  }

  async measure(signal: AbortSignal = SIGNAL): Promise<void> {
    await admitLiveQueries(this.deps);
    const round = {
      endsAt: new Date(this.clock.now().getTime() + 60_000),
      requestHelper: async () => undefined,
    };
    await Promise.all(
      Array.from({ length: this.workers }, () => measureCoverage(this.deps, round.endsAt, round.requestHelper, signal)),
    );
  }

  async evaluate(signal: AbortSignal = SIGNAL): Promise<void> {
    await Promise.all(Array.from({ length: this.workers }, () => evaluateDensity(this.deps, signal)));
  }

  /** Runs the search for uncovered topics as if it were a quarter past the hour. */
  async detectTopics(signal: AbortSignal = SIGNAL): Promise<void> {
    await Promise.all(Array.from({ length: this.workers }, () => detectUncoveredTopics(this.deps, signal)));
  }

  async events(): Promise<DensityEvent[]> {
    return [...(await this.deps.db.density.watch.events({ pipeline: 'docs', limit: 1000 }))].toReversed();
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}
