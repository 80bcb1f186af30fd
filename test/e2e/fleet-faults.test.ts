/**
 * A fleet of processes under load while its parts die, hang and lose each other. What was accepted is in PostgreSQL once,
 * every tick has one golden run, all of them end, and nobody has to lend a hand.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jobCatalogue } from '../../src/app/job-catalogue.ts';
import { openJobQueue } from '../../src/queue/bullmq.ts';
import { documents, type FaultServer, hang, slow, startFaultServer } from '../support/fault-server.ts';
import { type Fleet, type Member, startFleet } from '../support/fleet.ts';
import { finishesARun as aRunEnds, isMidRun, readiness, withDatabase } from '../support/fleet-questions.ts';
import { type LiveLoad, startLiveLoad } from '../support/live-load.ts';
import { silentLogger } from '../support/log.ts';
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres.ts';
import { aFolder, logLines, runRecalld, seriesValue } from '../support/recalld.ts';
import { readGoldenLedger, reconcileLoad } from '../support/reconcile.ts';
import { describeWithRedis, type OwnRedis, startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { aGoldenCsv, rightAnswer } from './golden-files.ts';

const QUERIES = 60;
/** The machine may be busy, and leases and locks run out in their own time. */
const PATIENCE = { timeoutMs: 100_000 };
/** Of golden runs: one for each tick, and with its end an answer to each query. */
const SOUND = { ticksTwice: 0, incomplete: 0, withoutScores: 0 };
/** A test waits for several things, one after the other. */
const LIMIT = { timeout: 300_000 };

describe('a fleet with its jobs in PostgreSQL', LIMIT, () => {
  describeFleet(null);
});

describeWithRedis('a fleet with its jobs in Redis', LIMIT, () => {
  describeFleet(startRedis);
});

function describeFleet(start: typeof startRedis | null): void {
  let postgres: OwnPostgres;
  let redis: OwnRedis | null = null;
  let folder = '';
  let retriever: FaultServer;
  let fleet: Fleet;
  let load: LiveLoad;
  const cleanups: (() => Promise<void>)[] = [];
  const atEnd = (clean: () => Promise<void>): void => void cleanups.unshift(clean);

  beforeAll(async () => {
    postgres = await startOwnPostgres();
    atEnd(() => postgres.close());
    redis = (await start?.()) ?? null;
    atEnd(async () => redis?.close());
    retriever = await startFaultServer(slow(10, documents(rightAnswer)));
    atEnd(() => retriever.close());
    folder = await aFolder({ 'faq.csv': aGoldenCsv(QUERIES) }, atEnd);
    fleet = await startFleet({
      folder,
      postgres,
      redis: redis?.url ?? null,
      roles: ['api', 'api', 'worker', 'worker', 'scheduler', 'scheduler'],
      pipelines: `pipelines:
  - name: docs
    retriever: {kind: http, url: "${retriever.url}/search", timeout_ms: 1000, retries: 0}
    sampling: {rate: 1, max_per_minute: 10000000}
    golden: [{set: faq, cron: "*/5 * * * * *", concurrency: 4, max_per_second: 60}]
`,
      atEnd,
    });
    const imported = ['golden', 'import', 'faq.csv', '--set', 'faq', '--config', 'member-0.yaml'];
    expect(await runRecalld(imported, folder, {}, atEnd)).toMatchObject({ code: 0 });
    load = startLiveLoad({
      apis: fleet.apis,
      key: fleet.key,
      pipeline: 'docs',
      clients: 3,
      pauseMs: 100,
      patienceMs: 4000,
    });
    atEnd(() => load.abandon());
  }, PATIENCE.timeoutMs);

  // In the order opposite to that of the start; the load first, while there is somebody to answer it.
  afterAll(async () => {
    for (const clean of cleanups) await clean();
  }, PATIENCE.timeoutMs);

  const takesMore = async (queries = 200): Promise<void> => {
    const before = load.queries.size;
    await waitFor(() => load.queries.size >= before + queries, PATIENCE);
  };

  const finishesARun = (status?: string) => aRunEnds(postgres, PATIENCE, status);

  const metricsOf = async ({ daemon }: Member): Promise<string> =>
    (await fetch(`${daemon.url}/metrics`)).text();
  const [firstOf, secondOf] = [0, 1].map((position) => (role: Member['role']): Member => {
    const member = fleet.of(role)[position];
    if (member === undefined) throw new Error(`the fleet has no such ${role}`);
    return member;
  }) as [(role: Member['role']) => Member, (role: Member['role']) => Member];
  const everybodyIsReady = async (): Promise<void> => {
    for (const member of fleet.members)
      await waitFor(async () => (await readiness(member)).startsWith('200'), PATIENCE);
  };

  it('goes on when one of each role is killed in the midst of its work', async () => {
    await takesMore();
    await isMidRun(retriever, PATIENCE);
    const victims = [firstOf('api'), firstOf('worker'), firstOf('scheduler')];
    await Promise.all(victims.map((victim) => victim.kill()));
    await takesMore();
    await finishesARun();
    await Promise.all(victims.map((victim) => victim.start()));
    await everybodyIsReady();
    expect(await withDatabase(postgres, readGoldenLedger)).toMatchObject(SOUND);
  });

  it('goes on when a worker stands still beyond its leases, and when one is cut off from its database', async () => {
    await isMidRun(retriever, PATIENCE);
    firstOf('worker').daemon.child.kill('SIGSTOP');
    await finishesARun();
    firstOf('worker').daemon.child.kill('SIGCONT');
    await isMidRun(retriever, PATIENCE);
    secondOf('worker').gates[0]?.hold();
    await finishesARun();
    await secondOf('worker').gates[0]?.shut();
    await waitFor(async () => /^503.*"database"/.test(await readiness(secondOf('worker'))), PATIENCE);
    await secondOf('worker').gates[0]?.open();
    await everybodyIsReady();
    expect(await withDatabase(postgres, readGoldenLedger)).toMatchObject(SOUND);
  });

  it('says that its database hangs, refuses what it cannot store, and goes on when it is back', async () => {
    await postgres.freeze();
    await waitFor(async () => /^503.*"database"/.test(await readiness(firstOf('api'))), PATIENCE);
    expect((await fetch(`${firstOf('api').daemon.url}/livez`)).status).toBe(200);
    postgres.thaw();
    await takesMore();
    await postgres.crash();
    await waitFor(() => load.refusals.has(503), PATIENCE);
    const read = await fetch(`${firstOf('api').daemon.url}/v1/golden-runs`, {
      headers: { authorization: `Bearer ${fleet.key}` },
    });
    expect(read.status).toBe(503);
    expect(read.headers.get('retry-after')).not.toBeNull();
    expect(await read.json()).toMatchObject({ code: 'database_unreachable' });
    await postgres.start();
    await takesMore();
    await everybodyIsReady();
    const metrics = await Promise.all(fleet.of('api').map(metricsOf));
    const shed = metrics.map(
      (page) => seriesValue(page, 'recalld_ingest_shed_total{reason="database"}') ?? 0,
    );
    expect(Math.max(...shed)).toBeGreaterThan(0);
    await finishesARun();
  });

  it.runIf(start !== null)('stores all the same while Redis hangs, and mends what it forgot', async () => {
    const before = load.refusals.get(503) ?? 0;
    await isMidRun(retriever, PATIENCE);
    redis?.freeze();
    await waitFor(async () => /^503.*"queue"/.test(await readiness(firstOf('worker'))), PATIENCE);
    await takesMore();
    // It keeps nothing on disk: every job is gone.
    await redis?.stop();
    await takesMore();
    await redis?.start();
    await everybodyIsReady();
    await finishesARun();
    expect(load.refusals.get(503) ?? 0).toBe(before);
  });

  it('puts a job with a payload that makes no sense aside, with the reason, and works on', async () => {
    const backend =
      redis === null
        ? ({ kind: 'postgres', connection: postgres.connection } as const)
        : ({ kind: 'redis', url: redis.url } as const);
    const queue = await openJobQueue({ backend, jobs: jobCatalogue, logger: silentLogger });
    const failed = async (): Promise<number | undefined> =>
      (await queue.counts()).find((count) => count.queue === 'run-golden-set' && count.state === 'failed')
        ?.count;
    try {
      await Promise.all(
        [7, '', { run: 1 }].map((runId, index) =>
          queue.enqueue('run-golden-set', { run_id: runId }, `poison-${index}`),
        ),
      );
      await waitFor(async () => (await failed()) === 3, PATIENCE);
      const kept = await queue.failures(3);
      expect(kept.filter(({ reason }) => /^(run_id|payload): /.test(reason))).toHaveLength(3);
    } finally {
      await queue.close();
    }
    const died = 'recalld_jobs_total{job="run-golden-set",outcome="dead"}';
    const dead = async (): Promise<number> => {
      const pages = await Promise.all(fleet.of('worker').map(metricsOf));
      return pages.reduce((sum, page) => sum + (seriesValue(page, died) ?? 0), 0);
    };
    expect(await dead()).toBe(3);
    const waiting = 'recalld_queue_jobs{queue="run-golden-set",state="failed"}';
    await waitFor(async () => seriesValue(await metricsOf(firstOf('worker')), waiting) === 3, PATIENCE);
    const said = fleet.of('worker').flatMap(({ daemon }) => logLines(daemon.stderr()));
    expect(said.filter(({ id }) => String(id).startsWith('poison-'))).toHaveLength(3);
    const doctor = await runRecalld(['doctor', '--config', 'member-0.yaml'], folder);
    expect(doctor.stdout).toMatch(
      /^warning {2}jobs: 3 jobs of run-golden-set failed for good, the latest, poison-\d, with "(run_id|payload): /m,
    );
    await finishesARun();
  });

  // The queue plays no part in it, so that one of them is enough.
  it.runIf(start === null)(
    'takes live traffic in while the retriever hangs, and counts what it did not answer',
    async () => {
      retriever.respondWith(hang());
      await finishesARun();
      await takesMore();
      retriever.respondWith(slow(10, documents(rightAnswer)));
      const { timeouts } = await withDatabase(postgres, async (client) => {
        const { rows } = await client.query<{ timeouts: number }>(
          `select count(*)::integer as timeouts from golden_run_answers where outcome = 'timeout'`,
        );
        return rows[0] ?? { timeouts: 0 };
      });
      expect(timeouts).toBeGreaterThan(0);
      await finishesARun();
    },
  );

  it('has lost nothing and has nothing twice in the end', async () => {
    await load.stop();
    await finishesARun();
    const live = await withDatabase(postgres, (client) => reconcileLoad(client, load));
    for (const { accepted, stored, lost, duplicated } of [live.queries, live.feedback]) {
      expect({ stored, lost, duplicated }).toEqual({ stored: accepted, lost: 0, duplicated: 0 });
    }
    expect(live.counted).toBe(live.queries.stored);
    // Whoever was refused was told to come again.
    expect([...load.refusals.keys()].filter((status) => status !== 0 && status !== 503)).toEqual([]);
    expect(await withDatabase(postgres, readGoldenLedger)).toMatchObject(SOUND);
    for (const { daemon, role } of fleet.members) {
      expect({ role, code: (await daemon.stop()).code }).toEqual({ role, code: 0 });
    }
  });
}
