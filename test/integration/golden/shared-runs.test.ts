/** Golden runs that several workers share, over both queues, with workers that die. */
import { spawn } from 'node:child_process';
import { setTimeout as later } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { recoverGoldenRunsJob, runGoldenSetJob } from '../../../src/golden/golden-jobs.ts';
import type { GoldenRun, RunSettings } from '../../../src/golden/rules/run.ts';
import { endWithoutScores } from '../../../src/golden/runs/end-golden-run.ts';
import { createGoldenRuns } from '../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../src/golden/sql/golden-sets.ts';
import type { BackendSettings } from '../../../src/platform/queue/backends.ts';
import { aNewGoldenSet, aRunSettings, goldenQueries } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { documents, type FaultServer, startFaultServer, status } from '../../support/fault-server.ts';
import { aRun } from '../../support/golden-runs.ts';
import {
  aPipelineAt,
  type GoldenWorker,
  type GoldenWorkerSettings,
  startGoldenWorker,
} from '../../support/golden-worker.ts';
import { kill } from '../../support/job-queue.ts';
import { describeWithRedis, useRedis } from '../../support/redis.ts';
import { waitFor } from '../../support/wait-for.ts';

const LATENCY_MS = 10;

describe('a golden run shared by workers over PostgreSQL', () => {
  const database = useDatabase();
  describeSharedRuns(
    () => database,
    () => ({ kind: 'postgres', connection: database.connection }),
  );
});

describeWithRedis('a golden run shared by workers over Redis', () => {
  const database = useDatabase();
  const redis = useRedis();
  describeSharedRuns(
    () => database,
    () => ({ kind: 'redis', url: redis.url }),
  );
});

function describeSharedRuns(database: () => ReturnType<typeof useDatabase>, backend: () => BackendSettings): void {
  const runs = () => createGoldenRuns(database().pool);

  /** A retriever that returns the right result after a short delay, and counts its concurrent requests. */
  async function aRetriever() {
    let inFlight = 0;
    let mostAtOnce = 0;
    const times: number[] = [];
    const server = await startFaultServer((request, response) => {
      inFlight += 1;
      mostAtOnce = Math.max(mostAtOnce, inFlight);
      times.push(performance.now());
      const answer = async (): Promise<void> => {
        await later(LATENCY_MS);
        inFlight -= 1;
        const number = textOf(request).replace('question ', '');
        documents([{ id: `d${number}`, score: 1 }])(request, response);
      };
      void answer();
    });
    onTestFinished(() => server.close());
    return { server, times, mostAtOnce: () => mostAtOnce };
  }

  async function aWorker(server: FaultServer, holder: string): Promise<GoldenWorker> {
    const settings = { connection: database().connection, backend: backend(), holder };
    const worker = await startGoldenWorker(settings, aPipelineAt(server.url));
    onTestFinished(() => worker.stop());
    return worker;
  }

  async function startRun(queries: number, settings: Partial<RunSettings> = {}): Promise<GoldenRun> {
    const name = `set-${queries}`;
    const sets = createGoldenSets(database().pool);
    await sets.add(aNewGoldenSet({ name, contentHash: name, queries: goldenQueries(queries) }), new Date());
    const startedAt = new Date();
    const made = aRun({
      goldenSet: name,
      settings: aRunSettings(settings),
      startedAt,
      deadlineAt: new Date(startedAt.getTime() + 600_000),
    });
    await runs().create(made);
    const run = await runs().find(made.id);
    if (run === null) throw new Error('the run was not made');
    return run;
  }

  const enqueue = ({ queue }: GoldenWorker, { id }: GoldenRun): Promise<void> =>
    queue.enqueue(runGoldenSetJob.name, { run_id: id }, id);
  const endOf = (id: string): Promise<GoldenRun> =>
    waitFor(async () => {
      const run = await runs().find(id);
      return run?.status === 'running' ? null : run;
    });

  it('requests every query once over all workers, and completes', async () => {
    const { server } = await aRetriever();
    const first = await aWorker(server, 'a');
    await aWorker(server, 'b');
    const run = await startRun(180);
    await enqueue(first, run);
    expect(await endOf(run.id)).toMatchObject({ status: 'completed' });
    expect(server.requests.map(textOf).toSorted()).toEqual(
      goldenQueries(180)
        .map(({ text }) => text)
        .toSorted(),
    );
    const scores = await runs().scores(run.id);
    expect(scores.find(({ measure, k }) => measure === 'ndcg' && k === 10)).toMatchObject({
      mean: 1,
      n: 180,
    });
  });

  it('respects the concurrency limit and the rate limit of the retriever over all workers', async () => {
    const { server, times, mostAtOnce } = await aRetriever();
    const first = await aWorker(server, 'a');
    await aWorker(server, 'b');
    const run = await startRun(150, { concurrency: 3, maxPerSecond: 100 });
    await enqueue(first, run);
    await endOf(run.id);
    expect(mostAtOnce()).toBeLessThanOrEqual(3);
    // All workers together send one request per hundredth of a second, so 150 requests take at least 1.49 s.
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(1400);
  });

  it('continues after kill -9 of a worker without repeating answered queries', async () => {
    const { server } = await aRetriever();
    const perSecond = 150;
    const run = await startRun(300, { maxPerSecond: perSecond });
    const settings: GoldenWorkerSettings = {
      connection: database().connection,
      backend: backend(),
      retrieverUrl: server.url,
      holder: 'doomed',
    };
    const script = fileURLToPath(new URL('../../support/golden-worker.ts', import.meta.url));
    const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), script, JSON.stringify(settings)]);
    onTestFinished(() => kill(child));
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    await waitFor(() => output.includes('ready'));
    const survivor = await aWorker(server, 'survivor');
    await enqueue(survivor, run);
    await waitFor(() => server.requests.length >= 100);
    await kill(child);
    let rounds = 0;
    const ended = await waitFor(
      async () => {
        // The scheduler enqueues this job every ten seconds.
        await survivor.queue.enqueue(recoverGoldenRunsJob.name, {}, `recover-${run.id}-${(rounds += 1)}`);
        const now = await runs().find(run.id);
        return now?.status === 'running' ? null : now;
      },
      { timeoutMs: 40_000 },
    );
    expect(ended.status).toBe('completed');
    expect(await runs().outcomes(run.id)).toEqual({ ok: 300, empty: 0, error: 0, timeout: 0 });
    const asked = server.requests.map(textOf);
    expect(new Set(asked).size).toBe(300);
    // A request is repeated if it was in progress, or if its result had arrived in the last half second and was not
    // stored yet.
    expect(asked.length - 300).toBeLessThanOrEqual(perSecond / 2 + run.settings.concurrency);
  });

  it('reports a failed retriever within seconds, and skips most of the requests', async () => {
    const { server } = await aRetriever();
    server.respondWith(status(500));
    const first = await aWorker(server, 'a');
    const run = await startRun(1000, { concurrency: 2 });
    await enqueue(first, run);
    await waitFor(async () => (await runs().find(run.id))?.status !== 'running', { timeoutMs: 55_000 });
    expect(server.requests.length).toBeLessThan(100);
    expect(await runs().outcomes(run.id)).toEqual({ ok: 0, empty: 0, error: 1000, timeout: 0 });
  });

  it('stops on all workers within seconds when it is cancelled', async () => {
    const { server } = await aRetriever();
    const first = await aWorker(server, 'a');
    await aWorker(server, 'b');
    const run = await startRun(400, { maxPerSecond: 20 });
    await enqueue(first, run);
    await waitFor(() => server.requests.length >= 5);
    await runs().finish(run.id, endWithoutScores('cancelled', 'The run was cancelled manually.', new Date()));
    const { rows } = await waitFor(async () => {
      const shares = await database().pool.query('select from retriever_shares where until >= clock_timestamp()');
      return shares.rows.length === 0 ? shares : null;
    });
    expect(rows).toEqual([]);
    expect(server.requests.length).toBeLessThan(200);
    expect((await runs().find(run.id))?.status).toBe('cancelled');
  });

  it('shows its progress and its answers while it runs', async () => {
    const { server } = await aRetriever();
    const first = await aWorker(server, 'a');
    const run = await startRun(120, { maxPerSecond: 40 });
    await enqueue(first, run);
    const answered = await waitFor(async () => {
      const { ok } = await runs().outcomes(run.id);
      return ok > 0 ? ok : null;
    });
    expect(answered).toBeLessThan(120);
    expect((await runs().find(run.id))?.status).toBe('running');
    await endOf(run.id);
  });
}

function textOf(request: { readonly body: string }): string {
  return (JSON.parse(request.body) as { query: string }).query;
}
