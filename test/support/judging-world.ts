/**
 * A service whose documents state their quality; a judge behind a real HTTP endpoint that reads this quality from the
 * documents; and live traffic with known properties.
 */

import type { ServerResponse } from 'node:http';
import type { Pool } from 'pg';
import { createDb } from '../../src/app/database.ts';
import { erase } from '../../src/app/erasure/erase.ts';
import type { Context } from '../../src/core/context.ts';
import { HOUR_MS } from '../../src/core/time.ts';
import { createChatJudge } from '../../src/judging/judge.ts';
import { judgeLiveTraffic } from '../../src/judging/judge-live-traffic.ts';
import type { JudgingPlan } from '../../src/judging/plan.ts';
import { textHash } from '../../src/live/privacy/rules/redactor.ts';
import { createLiveTraffic } from '../../src/live/sql/live-traffic.ts';
import type { LiveSample } from '../../src/live/sql/record-arrivals.ts';
import { createMeasurements, type LatestMeasurement } from '../../src/measures/measurements.ts';
import { NOON } from './builders.ts';
import { openChatModel, openHttpRetriever } from './connectors.ts';
import { contextOf } from './context.ts';
import { type FaultServer, type ReceivedRequest, type Responder, startFaultServer } from './fault-server.ts';
import { HandClock } from './hand-clock.ts';
import { aSample } from './live-traffic.ts';
import { type RecordedLog, recordLog } from './log.ts';

export const HASH_KEY = 'a key of sixteen bytes or more';
export const PIPELINE = 'docs';

function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** A chat model response with this content. */
export function chatAnswer(content: string): Responder {
  return (_, response) =>
    json(response, {
      choices: [{ message: { content }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 500, completion_tokens: 10 },
    });
}

/** Returns the user message that a request sent to the model. */
export function promptOf({ body }: ReceivedRequest): string {
  const { messages } = JSON.parse(body) as { messages: { role: string; content: string }[] };
  return messages.filter(({ role }) => role === 'user').map(({ content }) => content)[0] ?? '';
}

/** A judge that reads the quality in the document and adds `bias`, up to grade 3. */
export function judgeWithBias(bias: number): Responder {
  return (request, response) => {
    const quality = Number(/quality ([0-3])/.exec(promptOf(request))?.[1] ?? 0);
    chatAnswer(JSON.stringify({ grade: Math.min(3, quality + bias) }))(request, response);
  };
}

/** The document that the service returns at a rank; `quality` is the grade that a person would give. */
export function documentOf(question: string, rank: number): { id: string; quality: number; text: string } {
  const seed = Buffer.from(question).reduce((sum, byte) => (31 * sum + byte) % 9973, 7 + 977 * rank);
  const quality = seed % 4;
  return { id: `${question}/${rank}`, quality, text: `It says of ${question}, rank ${rank}: quality ${quality}.` };
}

const DEPTH = 3;

export class JudgingWorld {
  readonly clock = new HandClock(NOON);
  readonly log: RecordedLog = recordLog();
  readonly counted: { name: string; labels: Readonly<Record<string, string>>; by: number }[] = [];
  readonly deps: Context;
  readonly plan: JudgingPlan;
  readonly judge: FaultServer;
  readonly #service: FaultServer;
  readonly #pool: Pool;
  /** Texts that replace those of `documentOf`, keyed by document id. */
  readonly texts = new Map<string, string>();

  private constructor(pool: Pool, judge: FaultServer, service: FaultServer, changes: Partial<JudgingPlan>) {
    this.#pool = pool;
    this.judge = judge;
    this.#service = service;
    service.respondWith((request, response) => {
      const { query, k } = JSON.parse(request.body) as { query: string; k: number };
      const results = Array.from({ length: k }, (_, at) => documentOf(query, at + 1)).map(({ id, text }) => ({
        id,
        score: 1,
        text: this.texts.get(id) ?? text,
      }));
      json(response, { results });
    });
    const db = createDb(pool);
    this.deps = contextOf({
      db,
      reads: db,
      otlp: null,
      meter: {
        increment: (name, labels, by = 1) => {
          this.counted.push({ name, labels, by });
        },
      },
      hashKey: HASH_KEY,
      holder: 'test',
      clock: this.clock,
      logger: this.log.logger,
    });
    const model = openChatModel({
      base_url: judge.url,
      model: 'stand-in',
      timeout_ms: 300,
      retries: 0,
      max_per_second: 100_000,
    });
    this.plan = {
      pipeline: PIPELINE,
      judge: createChatJudge(model, judge.url, { input: 1, output: 1 }),
      queriesPerDay: 2400,
      windowMs: 7 * 86_400_000,
      depth: DEPTH,
      pooling: null,
      shadowLists: 0,
      episodeShare: 0,
      episodeIdleMs: 600_000,
      maxCostPerDay: 1000,
      humanShare: 0.3,
      secondReviewerShare: 0,
      minAgreement: 0.4,
      segmentKeys: ['course'],
      maxSegments: 5,
      retentionDays: 30,
      retriever: openHttpRetriever(service.url, { results: { text: 'text' }, timeout_ms: 2000 }),
      store: null,
      embedder: null,
      ...changes,
    };
  }

  /** Starts with an empty database. */
  static async start(pool: Pool, changes: Partial<JudgingPlan> = {}): Promise<JudgingWorld> {
    await pool.query(
      'truncate judge_panels, judge_panel_pairs, judging_rounds, judged_queries, judged_episodes, judgment_pools, pool_judgments, judged_documents, judgments, judge_spending, live_queries, query_coverage, live_query_counts, latest_measurements, measurement_gaps, measurements, deployments, fingerprints',
    );
    const [judge, service] = [await startFaultServer(judgeWithBias(0)), await startFaultServer(chatAnswer(''))];
    return new JudgingWorld(pool, judge, service, changes);
  }

  async close(): Promise<void> {
    await Promise.all([this.judge.close(), this.#service.close(), this.plan.retriever.close?.()]);
  }

  /** Runs the current round, and stores the traffic of the hour that follows. */
  async hourOf(samples: readonly LiveSample[]): Promise<void> {
    await this.round();
    const traffic = createLiveTraffic(this.#pool, 'test');
    await traffic.createPartitions(this.clock.now());
    const minute = (at: Date): Date => new Date(Math.floor(at.getTime() / 60_000) * 60_000);
    await traffic.record({
      samples,
      counts: samples.map(({ pipeline, receivedAt, outcome, probability }) => ({
        pipeline,
        minute: minute(receivedAt),
        outcome,
        queries: Math.round(1 / probability),
      })),
      levels: [],
    });
    this.clock.set(new Date(this.clock.now().getTime() + HOUR_MS));
  }

  round(signal: AbortSignal = new AbortController().signal, changes: Partial<JudgingPlan> = {}): Promise<void> {
    return judgeLiveTraffic(this.deps, [{ ...this.plan, ...changes }], signal);
  }

  /**
   * `count` queries, two per session, received in the hour that the next round samples. `parts` overrides fields of
   * every query.
   */
  samples(count: number, parts: Partial<LiveSample> = {}): LiveSample[] {
    return Array.from({ length: count }, (_, i) => {
      const question = parts.text ?? `question ${i}`;
      return aSample({
        id: `q${i}`,
        sessionHash: `session ${Math.floor(i / 2)}`,
        unitHash: Math.floor(i / 2) / count,
        traceId: null,
        text: question,
        receivedAt: new Date(this.clock.now().getTime() - 20 * 60_000),
        occurredAt: new Date(this.clock.now().getTime() - 20 * 60_000),
        results: Array.from({ length: DEPTH }, (_, at) => ({ id: documentOf(question, at + 1).id, score: 1 })),
        segments: { course: i % 4 === 0 ? 'maths' : 'history' },
        ...parts,
      });
    });
  }

  /** Records a person's grades for the queries sampled for human judgment. */
  async peopleGrade(person = 'ann'): Promise<number> {
    const { rows } = await this.#pool.query<{ query_id: string; documents: [string, string | null][] }>(
      `select query_id, documents from judged_queries where needs_human and outcome = 'ok'`,
    );
    const grades = rows.flatMap(({ query_id: queryId, documents }) =>
      documents.map(([documentId]) => {
        const [question = '', rank] = documentId.split('/');
        return { queryId, documentId, grade: documentOf(question, Number(rank)).quality };
      }),
    );
    await this.deps.db.judging.judged.recordHumanJudgments(
      PIPELINE,
      grades,
      { by: 'somebody', person },
      this.clock.now(),
    );
    return rows.length;
  }

  async latest(measure: string, segment = 'all'): Promise<LatestMeasurement | null> {
    const all = await createMeasurements(this.#pool).latest(this.clock.now());
    return all.find((one) => one.measure === measure && one.segment === segment) ?? null;
  }

  eraseQuery(id: string): Promise<unknown> {
    const subject = { kind: 'query', id, idHash: textHash(id, HASH_KEY) } as const;
    return erase(this.#pool, subject, 'ann', new Date());
  }

  async count(sql: string): Promise<number> {
    const { rows } = await this.#pool.query<{ count: number }>(`select count(*)::integer as count from ${sql}`);
    return rows[0]?.count ?? 0;
  }

  total(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const matches = this.counted.filter(
      (one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value),
    );
    return matches.reduce((sum, { by }) => sum + by, 0);
  }
}
