/**
 * Six processes under load that run a golden set every few seconds, and functions that tests use to query their state.
 */
import { type ClientBase, Pool } from 'pg';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { jobCatalogue } from '../../src/app/jobs.ts';
import { openJobQueue } from '../../src/platform/queue/bullmq.ts';
import type { JobQueue } from '../../src/platform/queue/job-queue.ts';
import { startFakeQdrant } from '../support/fake-qdrant.ts';
import { prepare } from '../support/fake-vector-index.ts';
import { documents, type FaultServer, type Responder, slow, startFaultServer } from '../support/fault-server.ts';
import { type Fleet, type Member, startFleet } from '../support/fleet.ts';
import { type LiveLoad, startLiveLoad } from '../support/live-load.ts';
import { silentLogger } from '../support/log.ts';
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres.ts';
import { aFolder, runRecalld } from '../support/recalld.ts';
import { readGoldenLedger, reconcileLoad } from '../support/reconcile.ts';
import { type OwnRedis, startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { aGoldenCsv, rightAnswer } from './golden-files.ts';

export type QueueKind = 'postgres' | 'redis';

/** Number of golden queries: more than one batch, so that workers share a run. */
const QUERIES = 60;
export const TICK_SECONDS = 5;
/** Long enough for a busy machine, and for leases and locks to expire. */
export const PATIENCE = { timeoutMs: 200_000 };
/** Long enough for a test that waits for several conditions in sequence, beginning with the start of six processes. */
export const LIMIT = { timeout: 900_000 };
/**
 * Expected numbers of faulty golden runs, all 0: every tick has one run, and every completed run has scores and one
 * result per query.
 */
export const SOUND = { ticksTwice: 0, incomplete: 0, withoutScores: 0 };
/** The delay is short enough that leases do not expire, and long enough for a test to interfere during a run. */
export const healthy: Responder = slow(100, documents(rightAnswer));

export interface WatchedFleet {
  readonly folder: string;
  readonly fleet: Fleet;
  readonly load: LiveLoad;
  readonly retriever: FaultServer;
  readonly postgres: OwnPostgres;
  /** Null if the jobs are in PostgreSQL. */
  readonly redis: OwnRedis | null;
  /** Number of queries accepted from clients that are not part of the load. */
  besideLoad: number;
  readonly member: (role: Member['role'], position?: number) => Member;
  readonly withDatabase: WithDatabase;
  readonly countOf: (sql: string, ...values: readonly unknown[]) => Promise<number>;
  readonly withQueue: <T>(ask: (queue: JobQueue) => Promise<T>) => Promise<T>;
  /** Waits until a golden run that starts after the call has completed. */
  readonly finishesARun: () => Promise<void>;
  /** Waits until the retriever receives queries. */
  readonly isMidRun: () => Promise<void>;
  /** Waits until the fleet has accepted this many more queries from the load. */
  readonly takesMore: (queries?: number) => Promise<void>;
  readonly everybodyIsReady: () => Promise<void>;
}

/** Runs `ask` with a connection that bypasses the fleet's gates. */
type WithDatabase = <T>(ask: (client: ClientBase) => Promise<T>) => Promise<T>;

/** Status and body of `/readyz`. */
export async function readiness({ daemon }: Member): Promise<string> {
  const response = await fetch(`${daemon.url}/readyz`);
  return `${response.status} ${await response.text()}`;
}

export const isReady = async (member: Member): Promise<boolean> => (await readiness(member)).startsWith('200');

/** The fleet of a describe block. */
export function useWatchedFleet(queue: QueueKind): () => WatchedFleet {
  const cleanups: (() => Promise<void>)[] = [];
  let watched: WatchedFleet | undefined;
  beforeAll(async () => {
    watched = await startWatchedFleet(queue, (clean) => void cleanups.unshift(clean));
  }, LIMIT.timeout);
  // Cleans up in reverse order of the start: the load ends first, while servers can still respond to it.
  afterAll(async () => {
    for (const clean of cleanups) await clean();
  }, PATIENCE.timeoutMs);
  return () => {
    if (watched === undefined) throw new Error('the fleet is there only while tests run');
    return watched;
  };
}

async function startWatchedFleet(kind: QueueKind, atEnd: (clean: () => Promise<void>) => void): Promise<WatchedFleet> {
  const postgres = await startOwnPostgres(inject('newCluster'));
  atEnd(() => postgres.close());
  const redis = kind === 'redis' ? await startRedis() : null;
  atEnd(async () => redis?.close());
  const retriever = await startFaultServer(healthy);
  atEnd(() => retriever.close());
  const store = await aVectorStore();
  atEnd(() => store.close());
  const folder = await aFolder({ 'faq.csv': aGoldenCsv(QUERIES) }, atEnd);
  const fleet = await startFleet({
    folder,
    postgres,
    redis: redis?.url ?? null,
    roles: ['api', 'api', 'worker', 'worker', 'scheduler', 'scheduler'],
    server: 'shutdown_seconds: 10',
    pipelines: `pipelines:
  - name: docs
    retriever: {kind: http, url: "${retriever.url}/search", timeout_ms: 1000, retries: 0}
    vector_store: {kind: qdrant, url: "${store.url}", collection: chunks, id: doc_id}
    density: {max_per_second: 5}
    sampling: {rate: 1, max_per_minute: 10000000}
    golden: [{set: faq, cron: "*/${TICK_SECONDS} * * * * *", concurrency: 8, max_per_second: 60}]
`,
    atEnd,
  });
  const imported = ['golden', 'import', 'faq.csv', '--set', 'faq', '--config', 'member-0.yaml'];
  expect(await runRecalld(imported, folder, {}, atEnd)).toMatchObject({ code: 0 });
  const load = startLiveLoad({
    apis: fleet.apis,
    key: fleet.key,
    pipeline: 'docs',
    clients: 2,
    pauseMs: 400,
    patienceMs: 4000,
  });
  atEnd(() => load.abandon());

  const database = databaseOf(postgres);
  atEnd(() => database.close());
  const { withDatabase } = database;
  const countOf: WatchedFleet['countOf'] = async (sql, ...values) => {
    const { rows } = await withDatabase((client) => client.query<{ count: number }>(sql, [...values]));
    return rows[0]?.count ?? 0;
  };
  return {
    folder,
    fleet,
    load,
    retriever,
    postgres,
    redis,
    besideLoad: 0,
    member(role, position = 0) {
      const found = fleet.of(role)[position];
      if (found === undefined) throw new Error(`the fleet has no such ${role}`);
      return found;
    },
    withDatabase,
    countOf,
    async withQueue(ask) {
      const backend =
        redis === null
          ? ({ kind: 'postgres', connection: postgres.connection } as const)
          : ({ kind: 'redis', url: redis.url } as const);
      const queue = await openJobQueue({ backend, jobs: jobCatalogue, logger: silentLogger });
      try {
        return await ask(queue);
      } finally {
        await queue.close();
      }
    },
    async finishesARun() {
      const since = new Date();
      const sql = `select count(*)::integer as count from golden_runs where started_at > $1 and status = 'completed'`;
      await waitFor(async () => (await countOf(sql, since)) > 0, PATIENCE);
    },
    async isMidRun() {
      const asked = retriever.requests.length;
      await waitFor(() => retriever.requests.length > asked + 5, PATIENCE);
    },
    async takesMore(queries = 100) {
      const before = load.queries.size;
      await waitFor(() => load.queries.size >= before + queries, PATIENCE);
    },
    async everybodyIsReady() {
      for (const member of fleet.members) await waitFor(() => isReady(member), PATIENCE);
    },
  };
}

/**
 * Reuses connections, because tests query the database often. After a restart of PostgreSQL, possibly on another port,
 * opens new connections.
 */
function databaseOf(postgres: OwnPostgres): { readonly withDatabase: WithDatabase; close(): Promise<void> } {
  let known: { readonly connection: OwnPostgres['connection']; readonly pool: Pool } | undefined;
  const poolOfNow = (): Pool => {
    const { connection } = postgres;
    if (known?.connection !== connection) {
      void known?.pool.end();
      const pool = new Pool({ ...connection, max: 2, idleTimeoutMillis: 0 });
      pool.on('error', () => undefined);
      known = { connection, pool };
    }
    return known.pool;
  };
  return {
    async withDatabase(ask) {
      const client = await poolOfNow().connect();
      try {
        return await ask(client);
      } finally {
        client.release();
      }
    },
    close: async () => known?.pool.end(),
  };
}

/** A store that contains the documents judged in the golden set. */
async function aVectorStore(): Promise<FaultServer> {
  const store = await startFakeQdrant();
  await prepare(store.url, 'PUT', '/collections/chunks', { vectors: { size: 2, distance: 'Cosine' } }, {});
  const points = Array.from({ length: QUERIES }, (_, index) => ({
    id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    vector: [Math.cos(index), Math.sin(index)],
    payload: { doc_id: `d${index}` },
  }));
  await prepare(store.url, 'PUT', '/collections/chunks/points?wait=true', { points }, {});
  return store;
}

/**
 * Asserts that every accepted item is in PostgreSQL exactly once and that every tick has one golden run, and stops all
 * processes.
 */
export function itHasLostNothing(watched: () => WatchedFleet): void {
  it('has neither lost nor duplicated anything at the end', async () => {
    const { besideLoad, finishesARun, fleet, load, withDatabase } = watched();
    await load.stop();
    await finishesARun();
    const { counted, feedback, queries } = await withDatabase((client) => reconcileLoad(client, load));
    expect(queries).toMatchObject({ stored: queries.accepted + besideLoad, lost: 0, duplicated: 0 });
    expect(feedback).toMatchObject({ stored: feedback.accepted, lost: 0, duplicated: 0 });
    expect(counted).toBe(queries.stored);
    // Each refused request got either a 503, after which the client retries, or no response.
    expect([...load.refusals.keys()].filter((status) => status !== 0 && status !== 503)).toEqual([]);
    expect(await withDatabase(readGoldenLedger)).toMatchObject(SOUND);
    for (const member of fleet.members)
      expect({ role: member.role, code: (await member.stop()).code }).toEqual({ role: member.role, code: 0 });
  });
}
