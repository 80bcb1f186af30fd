/** A world: the daemon on a simulated clock, the service that it monitors, and its users. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { commandSettings } from '../../src/app/commands/command-store.ts';
import { createSimulatedClock } from '../../src/app/simulated-clock.ts';
import { type SimulatedDaemon, withSimulatedDaemon } from '../../src/app/simulated-daemon.ts';
import { contextSize } from '../../src/core/text/context-size.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/core/time.ts';
import type { Feedback, LiveQuery } from '../../src/live/rules/live-query.ts';
import { type RandomNumbers, randomNumbers } from '../random-numbers.ts';
import { GOLDEN_SET, PIPELINE, TIMEOUT_MS, worldConfig } from './config.ts';
import { type Condition, type LiveAsk, type Reply, together } from './fault.ts';
import type { RagServer, SentMessage } from './rag-service.ts';
import { createService, goldenLines, type Service, segmentsOf } from './service.ts';
import { type Material, shownDocument } from './shape.ts';
import type { ServiceStore } from './stores.ts';

/** The first hour of every history, a Monday. */
export const START = new Date('2026-03-02T00:00:00Z');

export interface WorldSettings {
  readonly material: Material;
  readonly store: ServiceStore;
  readonly rag: RagServer;
  readonly databaseUrl: string;
  readonly apiKey: string;
  readonly folder: string;
  readonly seed: number;
  /** Hours after START at which the world begins. */
  readonly firstHour: number;
  readonly healthy: number;
  readonly signal: AbortSignal;
}

export interface World {
  readonly service: Service;
  /** A full hour. */
  readonly start: Date;
  readonly now: () => Date;
  /** Advances the clock while users send queries, and evaluates this traffic. */
  passUntil(at: Date): Promise<void>;
  /** Advances the clock by an hour with measured live traffic, but without golden runs. */
  passHour(at: Date): Promise<void>;
  /** Runs the golden set on the hour, and then all jobs that depend on the run; diagnoses twice if `thorough`. */
  goldenRun(at: Date, thorough: boolean): Promise<void>;
  change(conditions: readonly Condition[]): Promise<void>;
  importGolden(): Promise<void>;
  read<Answer>(route: string): Promise<Answer>;
  send(method: string, route: string, body: object): Promise<unknown>;
  messages(): SentMessage[];
  /** Returns the names of the daemon jobs that have failed since the start of the world. */
  failedJobs(): readonly string[];
}

/** Hour of the day (UTC) at which daily jobs run. The last daily jobs of a history run before the history ends. */
const SNAPSHOT_HOUR = 2;

/** Probability that a user who rates an answer rates it positively. */
function likes(found: boolean): number {
  return found ? 0.9 : 0.3;
}

/** Number of results that a user examines. */
const SEEN = 3;
/** Probability that a session continues after a query. */
const GOES_ON = 0.2;
/** Relative amplitude of the daily traffic cycle. */
const SWING = 0.3;

export async function withWorld<T>(settings: WorldSettings, work: (world: World) => Promise<T>): Promise<T> {
  const { material, store, rag, databaseUrl, apiKey, folder, seed, firstHour, healthy, signal } = settings;
  const random = randomNumbers(seed);
  const start = new Date(START.getTime() + firstHour * HOUR_MS);
  const clock = createSimulatedClock(start);
  const service = createService(
    material,
    store,
    (queries) => queries[random.below(queries.length)] as (typeof queries)[number],
  );
  await service.change({}, start);
  rag.serve(service);
  rag.takeMessages();
  const configFile = path.join(folder, 'recalld.yaml');
  const { shape } = material;
  writeFileSync(configFile, worldConfig({ shape, databaseUrl, ragUrl: rag.url, store: store.config, healthy }));
  const command = commandSettings(configFile, signal);
  const failedJobs: string[] = [];
  const passTime = async (lapse: SimulatedDaemon): Promise<T> => {
    let passed = start;
    let ids = seed * 1e6;
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const traffic = createTraffic({ material, service, random, nextId: () => String(ids++) });
    const looked = async (at: Date): Promise<void> => {
      clock.set(at);
      await lapse.run('measure-live-traffic');
      await lapse.run('evaluate-checks', 'watch-measures');
      await diagnose(lapse);
    };
    const pass = async (until: Date): Promise<void> => {
      if (until <= passed) return;
      const { queries, feedback } = traffic(passed, until);
      clock.set(until);
      await service.passUntil(until);
      await lapse.ingestQueries(queries);
      await lapse.ingestFeedback(feedback);
      passed = until;
    };
    /** Each job runs after the jobs that it depends on. */
    const measureHour = async (at: Date): Promise<void> => {
      clock.set(later(at, 5));
      await lapse.run('measure-query-coverage');
      clock.set(later(at, 12));
      await lapse.run('evaluate-density', 'measure-live-traffic', 'measure-ann-recall');
      if (at.getUTCHours() === SNAPSHOT_HOUR) {
        await lapse.run(
          'maintain-partitions',
          'snapshot-stores',
          'measure-golden-representativeness',
          'record-golden-documents',
        );
      }
      await lapse.run('find-uncovered-topics', 'evaluate-checks', 'watch-measures');
    };
    return work({
      service,
      start,
      now: () => clock.now(),
      async passUntil(at) {
        await pass(at);
        await looked(at);
      },
      async passHour(at) {
        await pass(at);
        await measureHour(at);
      },
      async goldenRun(at, thorough) {
        await pass(at);
        const { daemon } = service.condition();
        if (daemon?.skipsGolden !== true) await lapse.tickGoldenSets(at);
        const ending = stallLoop(daemon?.stallMs ?? 0);
        try {
          await lapse.run('probe-stores', 'probe-embedders');
          await lapse.checkIndexes();
        } finally {
          ending();
        }
        await measureHour(at);
        if (!thorough) return;
        await diagnose(lapse);
        clock.set(later(at, 13));
        await lapse.run('evaluate-checks');
        await diagnose(lapse);
      },
      async change(conditions) {
        const before = service.condition();
        const condition = together(conditions);
        await service.change(condition, clock.now());
        const lines = goldenLines(material);
        if (condition.golden !== undefined) await lapse.importGolden(GOLDEN_SET, condition.golden(lines));
        else if (before.golden !== undefined) await lapse.importGolden(GOLDEN_SET, lines);
        for (const { kind, version } of condition.deployments ?? [])
          await send('POST', '/v1/deployments', { pipeline: PIPELINE, kind, version });
      },
      importGolden: async () => void (await lapse.importGolden(GOLDEN_SET, goldenLines(material))),
      read: async <Answer>(route: string) => (await send('GET', route)) as Answer,
      send,
      messages: () => rag.takeMessages(),
      failedJobs: () => failedJobs,
    });

    async function send(method: string, route: string, body?: object): Promise<unknown> {
      const response = await fetch(`${lapse.url}${route}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${await response.text()}`);
      return response.json();
    }
  };
  // Like a real daemon, continues after a failed job; the job runs again at its next scheduled time.
  return withSimulatedDaemon(command, clock, passTime, (name) => void failedJobs.push(name));
}

function later(at: Date, minutes: number): Date {
  return new Date(at.getTime() + minutes * MINUTE_MS);
}

async function diagnose(lapse: SimulatedDaemon): Promise<void> {
  await lapse.run('diagnose-alerts');
  await lapse.run('send-notifications');
}

/**
 * Repeatedly blocks the event loop for `ms` milliseconds, with pauses of the same length, to simulate a machine that is
 * short of CPU time.
 */
function stallLoop(ms: number): () => void {
  if (ms === 0) return () => undefined;
  let timer: NodeJS.Timeout;
  // Sets a new timer each time, because a repeating timer would be due again right after each block.
  const wait = (): void => {
    timer = setTimeout(() => {
      const until = performance.now() + ms;
      while (performance.now() < until);
      wait();
    }, ms);
  };
  wait();
  return () => clearTimeout(timer);
}

interface TrafficSettings {
  readonly material: Material;
  readonly service: Service;
  readonly random: RandomNumbers;
  readonly nextId: () => string;
}

interface Arrived {
  readonly queries: LiveQuery[];
  readonly feedback: Feedback[];
}

/** Simulates users who send queries; some rate the answers. */
function createTraffic({ material, service, random, nextId }: TrafficSettings): (from: Date, until: Date) => Arrived {
  let session = '';
  return (from, until) => {
    const { volume = 1, opinion = (same) => same } = service.condition();
    const hours = (until.getTime() - from.getTime()) / HOUR_MS;
    const swing = 1 - SWING * Math.cos((2 * Math.PI * from.getUTCHours()) / 24);
    const count = random.poisson(material.shape.traffic * volume * hours * swing);
    const queries: LiveQuery[] = [];
    const feedback: Feedback[] = [];
    const chance = opinion(likes);
    for (let at = 0; at < count; at++) {
      const ask = service.drawLive();
      const segments = segmentsOf(material, ask.query);
      const reply = service.call({ text: ask.text, k: 10, segments, origin: 'live' });
      const id = nextId();
      if (session === '' || random.uniform() > GOES_ON) session = id;
      const occurredAt = new Date(
        from.getTime() + ((at + random.uniform()) / count) * (until.getTime() - from.getTime()),
      );
      queries.push(toLiveQuery({ id, session, occurredAt, ask, reply, segments, random }));
      if (random.uniform() >= material.shape.rated) continue;
      const found =
        reply.kind === 'hits' &&
        reply.hits.slice(0, SEEN).some((hit) => shownDocument(material, ask.query, hit) !== null);
      feedback.push(toFeedback(id, random.uniform() < chance(found), occurredAt));
    }
    return { queries, feedback };
  };
}

interface Answered {
  readonly id: string;
  readonly session: string;
  readonly occurredAt: Date;
  readonly ask: LiveAsk;
  readonly reply: Reply;
  readonly segments: Readonly<Record<string, string>>;
  readonly random: RandomNumbers;
}

/** Duration of a healthy search in milliseconds, as users experience it. */
const USUAL_MS = 20;

function toLiveQuery({ id, session, occurredAt, ask, reply, segments, random }: Answered): LiveQuery {
  const late = reply.latencyMs > TIMEOUT_MS;
  const hits = reply.kind === 'hits' && !late ? reply.hits : [];
  const error = late ? 'timeout' : reply.kind === 'body' && reply.status >= 400 ? `http_${reply.status}` : null;
  return {
    id,
    pipeline: PIPELINE,
    occurredAt,
    text: ask.text,
    context: contextSize(hits.map(({ text }) => text)),
    stages: [],
    embedding: null,
    topK: 10,
    sessionId: session,
    traceId: null,
    episode: null,
    results: hits.map((hit) => ({ id: hit.id, score: hit.score })),
    latencyMs: Math.min(TIMEOUT_MS, reply.latencyMs + USUAL_MS * Math.exp(0.4 * random.normal())),
    error: reply.kind === 'body' && reply.status < 400 ? 'unreadable answer' : error,
    segments,
    userId: null,
    versions: { index: null, embedder: null, retriever: null },
    upstreamProbability: 1,
  };
}

function toFeedback(queryId: string, isGood: boolean, at: Date): Feedback {
  return {
    id: null,
    queryId,
    pipeline: PIPELINE,
    kind: 'thumb',
    value: isGood,
    documentId: null,
    rank: null,
    occurredAt: at,
    userId: null,
    comment: null,
  };
}
