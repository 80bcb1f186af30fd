/** Requirements for a fleet while its processes die, hang and lose their connections. */
import { expect, it, onTestFinished } from 'vitest';
import { hang } from '../support/fault-server.ts';
import type { Member } from '../support/fleet.ts';
import { logLines, runRecalld, seriesValue } from '../support/recalld.ts';
import { readGoldenLedger } from '../support/reconcile.ts';
import { waitFor } from '../support/wait-for.ts';
import { healthy, PATIENCE, type QueueKind, readiness, SOUND, type WatchedFleet } from './watched-fleet.ts';

const metricsOf = async ({ daemon }: Member): Promise<string> => (await fetch(`${daemon.url}/metrics`)).text();

const lacks = (what: 'database' | 'queue', member: Member) =>
  waitFor(async () => new RegExp(`^503.*"${what}"`).test(await readiness(member)), PATIENCE);

/** All runs complete without manual intervention. */
export function itLivesThroughFaults(kind: QueueKind, watched: () => WatchedFleet): void {
  it('continues after one process of each role is killed during a golden run', async () => {
    const { everybodyIsReady, finishesARun, isMidRun, member, takesMore, withDatabase } = watched();
    await takesMore();
    await isMidRun();
    const victims = [member('api'), member('worker'), member('scheduler')];
    await Promise.all(victims.map((victim) => victim.kill()));
    await takesMore();
    await finishesARun();
    await Promise.all(victims.map((victim) => victim.start()));
    await everybodyIsReady();
    expect(await withDatabase(readGoldenLedger)).toMatchObject(SOUND);
  });

  it('continues when one worker freezes, and when another is cut off from the database', async () => {
    const { everybodyIsReady, finishesARun, isMidRun, member, withDatabase } = watched();
    const [still, cutOff] = [member('worker'), member('worker', 1)];
    await isMidRun();
    // Later tests must not hang, even if this test fails.
    onTestFinished(() => void still.daemon.child.kill('SIGCONT'));
    still.daemon.child.kill('SIGSTOP');
    await finishesARun();
    still.daemon.child.kill('SIGCONT');
    await isMidRun();
    cutOff.gates[0]?.hold();
    await finishesARun();
    await cutOff.gates[0]?.shut();
    await lacks('database', cutOff);
    await cutOff.gates[0]?.open();
    await everybodyIsReady();
    expect(await withDatabase(readGoldenLedger)).toMatchObject(SOUND);
  });

  it('reports a database that hangs, refuses data that it cannot store, and continues once the database recovers', async () => {
    const { everybodyIsReady, finishesARun, fleet, load, member, postgres, takesMore } = watched();
    const { daemon } = member('api');
    const refused = load.refusals.get(503) ?? 0;
    // Later tests must not hang, even if this test fails.
    onTestFinished(() => postgres.thaw());
    await postgres.freeze();
    await lacks('database', member('api'));
    expect((await fetch(`${daemon.url}/livez`)).status).toBe(200);
    postgres.thaw();
    await takesMore();
    await postgres.crash();
    await waitFor(() => (load.refusals.get(503) ?? 0) > refused, PATIENCE);
    const read = await fetch(`${daemon.url}/v1/golden-runs`, {
      headers: { authorization: `Bearer ${fleet.key}` },
    });
    expect(read.status).toBe(503);
    expect(read.headers.get('retry-after')).not.toBeNull();
    expect(await read.json()).toMatchObject({ code: 'database_unreachable' });
    await postgres.start();
    await takesMore();
    await everybodyIsReady();
    const shed = (await Promise.all(fleet.of('api').map(metricsOf))).map(
      (page) => seriesValue(page, 'recalld_ingest_shed_total{reason="database"}') ?? 0,
    );
    expect(Math.max(...shed)).toBeGreaterThan(0);
    await finishesARun();
  });

  it.runIf(kind === 'redis')(
    'still accepts live queries while Redis hangs, and recreates the jobs that Redis lost',
    async () => {
      const { everybodyIsReady, finishesARun, isMidRun, load, member, redis, takesMore } = watched();
      const before = load.refusals.get(503) ?? 0;
      await isMidRun();
      redis?.freeze();
      await lacks('queue', member('worker'));
      await takesMore();
      // This Redis stores nothing on disk, so every job is lost.
      await redis?.stop();
      await takesMore();
      await redis?.start();
      await everybodyIsReady();
      await finishesARun();
      expect(load.refusals.get(503) ?? 0).toBe(before);
    },
  );

  it('reports a job with an invalid payload as permanently failed, with the reason, and continues', async () => {
    const { finishesARun, fleet, folder, member, withQueue } = watched();
    const died = 'recalld_jobs_total{task="run-golden-set",outcome="dead"}';
    const dead = async (): Promise<number> => {
      const pages = await Promise.all(fleet.of('worker').map(metricsOf));
      return pages.reduce((sum, page) => sum + (seriesValue(page, died) ?? 0), 0);
    };
    const before = await dead();
    await withQueue(async (queue) => {
      await Promise.all(
        [7, '', { run: 1 }].map((runId, index) =>
          queue.enqueue('run-golden-set', { run_id: runId }, `poison-${index}`),
        ),
      );
      const reasons = async (): Promise<string[]> =>
        (await queue.failures(10)).filter(({ id }) => id.startsWith('poison-')).map(({ reason }) => reason);
      await waitFor(async () => (await reasons()).length === 3, PATIENCE);
      expect(await reasons()).toEqual([1, 2, 3].map(() => expect.stringMatching(/^(run_id|payload): /)));
    });
    await waitFor(async () => (await dead()) >= before + 3, PATIENCE);
    const waiting = 'recalld_queue_jobs{queue="run-golden-set",state="failed"}';
    await waitFor(async () => (seriesValue(await metricsOf(member('worker')), waiting) ?? 0) >= 3, PATIENCE);
    const said = fleet.of('worker').flatMap(({ daemon }) => logLines(daemon.stderr()));
    expect(said.filter(({ id }) => String(id).startsWith('poison-'))).toHaveLength(3);
    const jobsWarning =
      /^warning {2}jobs: \d+ jobs of run-golden-set failed permanently. The latest \(poison-\d\) failed with "(run_id|payload): /m;
    // Retries, because on a busy machine the doctor may report that opening the queue took too long.
    await waitFor(
      async () => jobsWarning.test((await runRecalld(['doctor', '--config', 'member-0.yaml'], folder)).stdout),
      PATIENCE,
    );
    await finishesARun();
  });

  // This test does not depend on the queue, so it runs with only one kind of queue.
  it.runIf(kind === 'postgres')(
    'ingests live traffic while the retriever hangs, and records golden queries without a response as timeouts',
    async () => {
      const { countOf, finishesARun, retriever, takesMore } = watched();
      retriever.respondWith(hang());
      await finishesARun();
      await takesMore();
      retriever.respondWith(healthy);
      const timeouts = `select count(*)::integer as count from golden_run_answers where outcome = 'timeout'`;
      expect(await countOf(timeouts)).toBeGreaterThan(0);
      await finishesARun();
    },
  );
}
