import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openJobQueue } from '../../../../src/platform/queue/bullmq.ts';
import { describeJobQueue } from '../../../contract/job-queue.contract.ts';
import { describeJobQueueOutages } from '../../../contract/job-queue-outage.contract.ts';
import { administer, createDatabase, useDatabase } from '../../../support/database.ts';
import { aHandler, aJob, limits, type TestBackend } from '../../../support/job-queue.ts';
import { recordLog, silentLogger } from '../../../support/log.ts';
import { startTcpGate, type TcpGate } from '../../../support/tcp-gate.ts';
import { waitFor } from '../../../support/wait-for.ts';

const database = useDatabase('empty');

describe('the job queue in PostgreSQL', () => {
  let gate: TcpGate;

  beforeAll(async () => {
    gate = await startTcpGate(database.connection);
  });
  afterAll(() => gate.close());

  const backend = (): TestBackend => ({
    settings: { kind: 'postgres', connection: { ...database.connection, host: gate.host, port: gate.port } },
    goDown: () => gate.shut(),
    fallSilent: () => gate.hold(),
    comeBack: () => gate.open(),
  });

  describeJobQueue(backend);
  describeJobQueueOutages(backend);

  it('is set up once if ten processes open it at the same time', async () => {
    const own = await createDatabase('empty');
    const backend = { kind: 'postgres', connection: own.connection } as const;
    const opening = Array.from({ length: 10 }, () => openJobQueue({ backend, jobs: [], logger: silentLogger }));
    const opened = await Promise.all(opening);
    await Promise.all(opened.map((queue) => queue.close()));
    await expect(own.drop()).resolves.toBeUndefined();
  });

  it('needs at most five database sessions for twenty jobs, and causes no warnings', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const own = await createDatabase('empty');
    const jobs = Array.from({ length: 20 }, () => aJob());
    const backend = { kind: 'postgres', connection: own.connection, name: 'recalld of this test' } as const;
    const queue = await openJobQueue({ backend, jobs, logger: silentLogger });
    const handler = aHandler();
    await queue.work(handler.run);
    await Promise.all(jobs.map(({ name }) => queue.enqueue(name, {}, name)));
    await waitFor(() => handler.calls.length === jobs.length);
    // Without the condition on the type, an autovacuum worker would count as a session.
    const sessions = await administer(
      "select application_name as name from pg_stat_activity where datname = $1::text and backend_type = 'client backend'",
      [own.connection.database],
    );
    expect(sessions.length).toBeLessThanOrEqual(5);
    expect(new Set(sessions.map(({ name }) => name))).toEqual(new Set(['recalld of this test']));
    await queue.close();
    expect(warnings).toEqual([]);
    await own.drop();
  });

  it('runs every job even if its connections are killed repeatedly', async () => {
    const job = aJob({ concurrency: 4 });
    const log = recordLog();
    const connections = { kind: 'postgres', connection: database.connection } as const;
    const queue = await openJobQueue({ backend: connections, jobs: [job], logger: log.logger, ...limits });
    const handler = aHandler();
    await queue.work(handler.run);
    const ids = Array.from({ length: 60 }, (_, index) => `shot-at-${index}`);
    for (const [index, id] of ids.entries()) {
      await waitFor(async () => {
        await queue.enqueue(job.name, {}, id);
        return true;
      });
      if (index % 10 === 5) await killConnections(database.connection.database);
    }
    const run = (): Set<string> => new Set(handler.calls.map((call) => call.id));
    await waitFor(() => run().size === ids.length);
    await queue.close();
    expect(run()).toEqual(new Set(ids));
    expect(log.entries.some(({ level }) => level === 'warn')).toBe(true);
  });
});

async function killConnections(name: string): Promise<void> {
  await administer('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1::text', [name]);
}
