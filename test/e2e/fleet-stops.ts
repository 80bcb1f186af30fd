/** Requirements for a fleet when processes shut down cleanly, stop too late, or leave a golden run unfinished. */
import { once } from 'node:events';
import { request } from 'node:http';
import { expect, it } from 'vitest';
import { logLines } from '../support/recalld.ts';
import { readGoldenLedger } from '../support/reconcile.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  isReady,
  PATIENCE,
  type QueueKind,
  readiness,
  SOUND,
  TICK_SECONDS,
  type WatchedFleet,
} from './watched-fleet.ts';

/**
 * The job that measures the coverage of live queries runs once a minute, and leases of two minutes outlive a killed
 * process.
 */
const ROUND_PATIENCE = { timeoutMs: 600_000 };

/** Clients that retry refused requests lose nothing, and no job fails because its worker stopped. */
export function itStopsInOrder(kind: QueueKind, watched: () => WatchedFleet): void {
  it('can be restarted one process at a time, and clients get no error response other than 503', async () => {
    const { countOf, finishesARun, fleet, isMidRun, load, withDatabase, withQueue } = watched();
    await finishesARun();
    const since = new Date().toISOString();
    const covered = measuresCoverage(watched());
    const logs: string[] = [];
    for (const member of fleet.members) {
      await isMidRun();
      const { code, stderr } = await member.stop();
      logs.push(stderr);
      expect({ role: member.role, code }).toEqual({ role: member.role, code: 0 });
      await member.start();
      await waitFor(() => isReady(member), PATIENCE);
    }
    await Promise.all([finishesARun(), covered]);
    // Ticks failed and logged errors until the golden set was imported, so entries from before `since` are ignored.
    const said = [...logs, ...fleet.members.map(({ daemon }) => daemon.stderr())]
      .flatMap(logLines)
      .filter(({ time }) => String(time) > since);
    expect(said.filter(({ level }) => level === 'error')).toEqual([]);
    expect(await withQueue((queue) => queue.failures(5))).toEqual([]);
    expect(await withDatabase(readGoldenLedger)).toMatchObject(SOUND);
    const unaccounted = await countOf(
      `with tick as (select scheduled_for as at from golden_runs where scheduled_for is not null
                     union select planned_for from golden_skips)
       select ((extract(epoch from max(at) - min(at)) / ${TICK_SECONDS})::integer + 1 - count(*))::integer as count from tick`,
    );
    expect(unaccounted).toBe(0);
    // Each refused request got either a 503, which tells the client to retry, or no response.
    expect([...load.refusals.keys()].filter((status) => status !== 0 && status !== 503)).toEqual([]);
  });

  // How a single process stops does not depend on the kind of queue.
  it.runIf(kind === 'postgres')(
    'reports that a process is stopping, refuses its new requests, and completes its running ones',
    async () => {
      const fleet = watched();
      const member = fleet.member('api');
      const { url } = member.daemon;
      const headers = {
        'content-type': 'application/json',
        authorization: `Bearer ${fleet.fleet.key}`,
      };
      const body = JSON.stringify({ id: 'begun-before', pipeline: 'docs', text: 'hello', results: [] });
      const begun = request(`${url}/v1/queries`, {
        method: 'POST',
        headers: { ...headers, expect: '100-continue', 'content-length': Buffer.byteLength(body) },
      });
      const answered = once(begun, 'response');
      begun.flushHeaders();
      await once(begun, 'continue');
      begun.write(body.slice(0, 10));

      const stopped = member.stop();
      await waitFor(async () => /^503.*it is stopping/.test(await readiness(member)), PATIENCE);
      const late = await fetch(`${url}/v1/queries`, { method: 'POST', headers, body });
      expect({ status: late.status, retryAfter: late.headers.get('retry-after') }).toEqual({
        status: 503,
        retryAfter: '2',
      });
      expect(await late.json()).toMatchObject({ code: 'stopping' });
      expect((await fetch(`${url}/metrics`)).status).toBe(200);

      begun.end(body.slice(10));
      const [{ statusCode }] = await answered;
      expect(statusCode).toBe(202);
      fleet.besideLoad += 1;
      expect((await stopped).code).toBe(0);
      expect(await fleet.countOf(`select count(*)::integer as count from live_queries where id = 'begun-before'`)).toBe(
        1,
      );
      await member.start();
    },
  );

  it.runIf(kind === 'postgres')(
    'ends a worker at its shutdown deadline, reports its unfinished jobs, and lets other workers continue them',
    async () => {
      const { countOf, finishesARun, member: memberOf } = watched();
      const member = memberOf('worker');
      const holds = `select count(*)::integer as count from golden_run_batches
                    where not done and lease_until > clock_timestamp() and lease_holder like $1`;
      await waitFor(async () => (await countOf(holds, `%-${member.daemon.pid}-%`)) > 0, PATIENCE);
      // The gate blocks the database, so the process cannot release its leases.
      member.gates[0]?.hold();
      const { code, stderr } = await member.stop();
      expect(code).toBe(3);
      expect(stderr).toMatch(
        /^recalld: The daemon did not stop within 10 s .*the jobs .*ask-golden-batch.*server\.shutdown_seconds/m,
      );
      await member.gates[0]?.open();
      await finishesARun();
      await member.start();
      await waitFor(() => isReady(member), PATIENCE);
    },
  );

  // If the queue is in the same database as the runs, creating a run and enqueueing its job cannot fail separately.
  it.skipIf(kind === 'postgres')(
    'finishes, without any scheduler, a golden run whose scheduler died before it enqueued the job',
    async () => {
      const { countOf, finishesARun, member } = watched();
      const [last, other] = [member('scheduler'), member('scheduler', 1)];
      await other.kill();
      // Without its queue, the process can create runs but not enqueue their jobs.
      await last.gates[1]?.shut();
      const since = new Date();
      const made = 'select count(*)::integer as count from golden_runs where started_at > $1';
      await waitFor(async () => (await countOf(made, since)) > 0, PATIENCE);
      await last.kill();
      await last.gates[1]?.open();
      const unfinished = `${made} and status <> 'completed'`;
      await waitFor(async () => (await countOf(unfinished, since)) === 0, PATIENCE);
      expect([last.isUp, other.isUp]).toEqual([false, false]);
      await Promise.all([last.start(), other.start()]);
      await finishesARun();
    },
  );
}

async function measuresCoverage({ countOf, withDatabase }: WatchedFleet): Promise<void> {
  const since = new Date();
  const sql = 'select count(*)::integer as count from query_coverage where scored_at > $1';
  await waitFor(async () => {
    // recalld measures the coverage of a query only a few minutes after its arrival, so the arrival time is moved back.
    // It stays on the same day, because recalld looks for the query only on the day of its arrival.
    await withDatabase((client) =>
      client.query(
        `update live_queries set received_at = greatest(received_at - interval '10 minutes', received_on at time zone 'utc')
          where received_at > clock_timestamp() - interval '5 minutes'`,
      ),
    );
    return (await countOf(sql, since)) > 0;
  }, ROUND_PATIENCE);
}
