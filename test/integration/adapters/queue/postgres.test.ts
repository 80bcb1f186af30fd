import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openJobQueue } from '../../../../src/adapters/queue/bullmq.ts';
import { describeJobQueue } from '../../../contract/job-queue.contract.ts';
import { administer, createDatabase, useDatabase } from '../../../support/database.ts';
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

  describeJobQueue(() => ({
    settings: { kind: 'postgres', connection: { ...database.connection, host: gate.host, port: gate.port } },
    goDown: () => gate.shut(),
    fallSilent: () => gate.hold(),
    comeBack: () => gate.open(),
  }));

  it('is set up once when ten processes open it at once', async () => {
    const { connection, drop } = await createDatabase('empty');
    const open = () => openJobQueue({ backend: { kind: 'postgres', connection }, jobs: [], logger: silentLogger });
    const queues = await Promise.all(Array.from({ length: 10 }, open));
    await Promise.all(queues.map((queue) => queue.close()));
    await drop();
  });

  it('runs every job although its connections are killed again and again', async () => {
    const job = { name: 'shot-at', concurrency: 4, attempts: 3, backoffMs: 20, retainSeconds: 600 };
    const log = recordLog();
    const queue = await openJobQueue({
      backend: { kind: 'postgres', connection: database.connection },
      jobs: [job],
      logger: log.logger,
      lostAfterMs: 1000,
    });
    const ended = new Set<string>();
    await queue.work(async (_, __, id) => {
      ended.add(id);
      return 'done';
    });
    const ids = Array.from({ length: 60 }, (_, index) => `shot-${index}`);
    for (const [index, id] of ids.entries()) {
      await waitFor(async () => {
        await queue.enqueue(job.name, {}, id);
        return true;
      });
      if (index % 10 === 5) await killConnections();
    }
    await waitFor(() => ended.size === ids.length);
    await queue.close();
    expect(ended).toEqual(new Set(ids));
    expect(log.entries.some(({ level }) => level === 'warn')).toBe(true);
  });

  async function killConnections(): Promise<void> {
    await administer(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1::text`, [
      database.connection.database,
    ]);
  }
});
