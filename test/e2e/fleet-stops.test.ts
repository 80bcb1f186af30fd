/**
 * A fleet under load whose processes stop in order, stop too late, or leave a golden run behind. Clients that send again
 * what was refused lose nothing, every tick has one golden run, and no job fails because its worker had to go.
 */
import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jobCatalogue } from '../../src/app/job-catalogue.ts';
import { openJobQueue } from '../../src/queue/bullmq.ts';
import { startFakeQdrant } from '../support/fake-qdrant.ts';
import { prepare } from '../support/fake-vector-index.ts';
import { documents, type FaultServer, slow, startFaultServer } from '../support/fault-server.ts';
import { type Fleet, type Member, startFleet } from '../support/fleet.ts';
import { finishesARun as aRunEnds, isMidRun, readiness, withDatabase } from '../support/fleet-questions.ts';
import { type LiveLoad, startLiveLoad } from '../support/live-load.ts';
import { silentLogger } from '../support/log.ts';
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres.ts';
import { aFolder, logLines, runRecalld } from '../support/recalld.ts';
import { readGoldenLedger, reconcileLoad } from '../support/reconcile.ts';
import { describeWithRedis, type OwnRedis, startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { aGoldenCsv, rightAnswer } from './golden-files.ts';

/** More than one batch, so that workers share a run. */
const QUERIES = 60;
const TICK_SECONDS = 5;
const STOP_SECONDS = 10;
/** The machine may be busy, and leases and locks run out in their own time. */
const PATIENCE = { timeoutMs: 200_000 };
const SOUND = { ticksTwice: 0, incomplete: 0, withoutScores: 0 };
/** Six processes are started one after the other. */
const LIMIT = { timeout: 900_000 };

describe('a fleet with its jobs in PostgreSQL that stops', LIMIT, () => {
  describeStops(null);
});

describeWithRedis('a fleet with its jobs in Redis that stops', LIMIT, () => {
  describeStops(startRedis);
});

function describeStops(start: typeof startRedis | null): void {
  let postgres: OwnPostgres;
  let redis: OwnRedis | null = null;
  let retriever: FaultServer;
  let fleet: Fleet;
  let load: LiveLoad;
  /** Queries that were accepted from somebody else. */
  let besideLoad = 0;
  const cleanups: (() => Promise<void>)[] = [];
  const atEnd = (clean: () => Promise<void>): void => void cleanups.unshift(clean);

  beforeAll(async () => {
    postgres = await startOwnPostgres();
    atEnd(() => postgres.close());
    redis = (await start?.()) ?? null;
    atEnd(async () => redis?.close());
    retriever = await startFaultServer(slow(200, documents(rightAnswer)));
    atEnd(() => retriever.close());
    const store = await aVectorStore();
    atEnd(() => store.close());
    const folder = await aFolder({ 'faq.csv': aGoldenCsv(QUERIES) }, atEnd);
    fleet = await startFleet({
      folder,
      postgres,
      redis: redis?.url ?? null,
      roles: ['api', 'api', 'worker', 'worker', 'scheduler', 'scheduler'],
      server: `shutdown_seconds: ${STOP_SECONDS}`,
      pipelines: `pipelines:
  - name: docs
    retriever: {kind: http, url: "${retriever.url}/search", timeout_ms: 5000, retries: 0}
    vector_store: {kind: qdrant, url: "${store.url}", collection: chunks, id: doc_id}
    density: {max_per_second: 5}
    sampling: {rate: 1, max_per_minute: 10000000}
    golden: [{set: faq, cron: "*/${TICK_SECONDS} * * * * *", concurrency: 8, max_per_second: 60}]
`,
      atEnd,
    });
    const imported = ['golden', 'import', 'faq.csv', '--set', 'faq', '--config', 'member-0.yaml'];
    expect(await runRecalld(imported, folder, {}, atEnd)).toMatchObject({ code: 0 });
    load = startLiveLoad({
      apis: fleet.apis,
      key: fleet.key,
      pipeline: 'docs',
      clients: 1,
      pauseMs: 200,
      patienceMs: 10_000,
    });
    atEnd(() => load.abandon());
  }, LIMIT.timeout);

  afterAll(async () => {
    for (const clean of cleanups) await clean();
  }, PATIENCE.timeoutMs);

  async function countOf(sql: string, ...values: readonly unknown[]): Promise<number> {
    const { rows } = await withDatabase(postgres, (client) =>
      client.query<{ count: number }>(sql, [...values]),
    );
    return rows[0]?.count ?? 0;
  }

  const finishesARun = () => aRunEnds(postgres, PATIENCE);
  const measuresCoverage = async (): Promise<void> => {
    const since = new Date();
    await waitFor(() => load.queries.size > 0, PATIENCE);
    // Only what arrived some minutes ago is searched for.
    await withDatabase(postgres, (client) =>
      client.query(`update live_queries set received_at = received_at - interval '10 minutes'`),
    );
    const sql = 'select count(*)::integer as count from query_coverage where scored_at > $1';
    await waitFor(async () => (await countOf(sql, since)) > 0, PATIENCE);
  };
  const firstOf = (role: Member['role']): Member => {
    const [member] = fleet.of(role);
    if (member === undefined) throw new Error(`the fleet has no ${role}`);
    return member;
  };
  const headers = () => ({ 'content-type': 'application/json', authorization: `Bearer ${fleet.key}` });
  const failedJobs = async (): Promise<unknown> => {
    const backend =
      redis === null
        ? ({ kind: 'postgres', connection: postgres.connection } as const)
        : ({ kind: 'redis', url: redis.url } as const);
    const queue = await openJobQueue({ backend, jobs: jobCatalogue, logger: silentLogger });
    try {
      return await queue.failures(5);
    } finally {
      await queue.close();
    }
  };

  it('is restarted one process after the other, and nobody notices', async () => {
    await finishesARun();
    const since = new Date().toISOString();
    const covered = measuresCoverage();
    const logs: string[] = [];
    for (const member of fleet.members) {
      await isMidRun(retriever, PATIENCE);
      const { code, stderr } = await member.stop();
      logs.push(stderr);
      expect({ role: member.role, code }).toEqual({ role: member.role, code: 0 });
      await member.start();
      await waitFor(async () => (await readiness(member)).startsWith('200'), PATIENCE);
    }
    await Promise.all([finishesARun(), covered]);
    // Before there was a golden set its ticks came to nothing, and said so.
    const said = [...logs, ...fleet.members.map(({ daemon }) => daemon.stderr())]
      .flatMap(logLines)
      .filter(({ time }) => String(time) > since);
    expect(said.filter(({ level }) => level === 'error')).toEqual([]);
    expect(await failedJobs()).toEqual([]);
    expect(await withDatabase(postgres, readGoldenLedger)).toMatchObject(SOUND);
    const unaccounted = await countOf(
      `with tick as (select scheduled_for as at from golden_runs where scheduled_for is not null
                     union select planned_for from golden_skips)
       select ((extract(epoch from max(at) - min(at)) / ${TICK_SECONDS})::integer + 1 - count(*))::integer as count from tick`,
    );
    expect(unaccounted).toBe(0);
    // Who was refused was told to come again, or found nobody.
    expect([...load.refusals.keys()].filter((status) => status !== 0 && status !== 503)).toEqual([]);
  });

  // How one process stops does not depend on where the jobs are.
  it.runIf(start === null)(
    'says that it is stopping, refuses what comes and still takes in what has begun',
    async () => {
      const member = firstOf('api');
      const { url } = member.daemon;
      const body = JSON.stringify({ id: 'begun-before', pipeline: 'docs', text: 'hello', results: [] });
      const begun = request(`${url}/v1/queries`, {
        method: 'POST',
        headers: { ...headers(), expect: '100-continue', 'content-length': Buffer.byteLength(body) },
      });
      const answered = once(begun, 'response');
      begun.flushHeaders();
      await once(begun, 'continue');
      begun.write(body.slice(0, 10));

      const stopped = member.stop();
      await waitFor(async () => /^503.*it is stopping/.test(await readiness(member)), PATIENCE);
      const late = await fetch(`${url}/v1/queries`, { method: 'POST', headers: headers(), body });
      expect({ status: late.status, retryAfter: late.headers.get('retry-after') }).toEqual({
        status: 503,
        retryAfter: '2',
      });
      expect(await late.json()).toMatchObject({ code: 'stopping' });
      expect((await fetch(`${url}/metrics`)).status).toBe(200);

      begun.end(body.slice(10));
      const [{ statusCode }] = await answered;
      expect(statusCode).toBe(202);
      besideLoad += 1;
      expect((await stopped).code).toBe(0);
      expect(
        await countOf(`select count(*)::integer as count from live_queries where id = 'begun-before'`),
      ).toBe(1);
      await member.start();
    },
  );

  it.runIf(start === null)(
    'ends a worker that cannot stop in order at its deadline, says what it left, and others go on with that',
    async () => {
      const member = firstOf('worker');
      const holds = `select count(*)::integer as count from golden_run_batches
                    where not done and lease_until > clock_timestamp() and lease_holder like $1`;
      await waitFor(async () => (await countOf(holds, `%-${member.daemon.pid}-%`)) > 0, PATIENCE);
      // Its database stands still, so that it cannot give back what it holds.
      member.gates[0]?.hold();
      const { code, stderr } = await member.stop();
      expect(code).toBe(3);
      expect(stderr).toMatch(
        /^recalld: The daemon did not end in order within 10 s and ends now, while it waits for the jobs .*ask-golden-batch.*; nothing that was accepted is lost, and jobs go on elsewhere or after the next start\. server\.shutdown_seconds gives it longer\.$/m,
      );
      await member.gates[0]?.open();
      await finishesARun();
      await member.start();
      await waitFor(async () => (await readiness(member)).startsWith('200'), PATIENCE);
    },
  );

  // With the queue in the database of the runs nothing can come between the two.
  it.skipIf(start === null)(
    'finishes a golden run of a scheduler that died before it could hand it on, without any scheduler',
    async () => {
      const [last, other] = fleet.of('scheduler');
      if (last === undefined || other === undefined) throw new Error('the fleet has two schedulers');
      await other.kill();
      const id = await isCutOff(last);
      const sql = `select count(*)::integer as count from golden_runs where id = $1 and status = 'completed'`;
      await waitFor(async () => (await countOf(sql, id)) === 1, PATIENCE);
      expect([last.isUp, other.isUp]).toEqual([false, false]);
      await Promise.all([last.start(), other.start()]);
      await finishesARun();
    },
  );

  /** Cut off from its queue, it can make runs and not hand them on; then it is killed. Returns such a run. */
  async function isCutOff(scheduler: Member): Promise<string> {
    await scheduler.gates[1]?.shut();
    const since = new Date();
    const run = await waitFor(
      () =>
        withDatabase(postgres, async (client) => {
          const { rows } = await client.query<{ id: string }>(
            'select id from golden_runs where started_at > $1 limit 1',
            [since],
          );
          return rows[0];
        }),
      PATIENCE,
    );
    await scheduler.kill();
    await scheduler.gates[1]?.open();
    return run.id;
  }

  it('has lost nothing and has nothing twice in the end', async () => {
    await load.stop();
    await finishesARun();
    const live = await withDatabase(postgres, (client) => reconcileLoad(client, load));
    const { accepted, stored, lost, duplicated } = live.queries;
    expect({ stored, lost, duplicated }).toEqual({ stored: accepted + besideLoad, lost: 0, duplicated: 0 });
    expect(live.counted).toBe(stored);
    expect(live.feedback).toMatchObject({ stored: live.feedback.accepted, lost: 0, duplicated: 0 });
    expect(await withDatabase(postgres, readGoldenLedger)).toMatchObject(SOUND);
    for (const member of fleet.members)
      expect({ role: member.role, code: (await member.stop()).code }).toEqual({ role: member.role, code: 0 });
  });
}

/** Holds the documents that the golden set judges. */
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
