import { expect, it, onTestFinished } from 'vitest';
import { createPool } from '../../../../src/platform/postgres/pool.ts';
import { assertSessions } from '../../../../src/platform/postgres/sessions.ts';
import { openJobQueue } from '../../../../src/platform/queue/bullmq.ts';
import { type DatabaseConnection, useDatabase } from '../../../support/database.ts';
import { aHandler, aJob } from '../../../support/job-queue.ts';
import { silentLogger } from '../../../support/log.ts';
import { describeWithPgBouncer, startPgBouncer } from '../../../support/pgbouncer.ts';
import { waitFor } from '../../../support/wait-for.ts';

const database = useDatabase();

describeWithPgBouncer('PgBouncer in front of the database', () => {
  it.each([
    ['without support for the startup parameters of recalld', []],
    [
      'with the ignored startup parameters that its manual recommends',
      ['ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout,options'],
    ],
  ])('in session mode serves queries within their limits, and jobs immediately, %s', async (_, lines) => {
    const connection = await startPgBouncer(database.connection, 'session', ...lines);
    expect(await assertSessions(connection)).toBe('pooled');
    const pool = createPool({ connection, size: 2, logger: silentLogger, queryLimitMs: 300 });
    onTestFinished(() => pool.end());
    await expect(pool.query('select pg_sleep(60)')).rejects.toThrow('statement timeout');
    await runsAJob(connection);
  });

  it.each(['transaction', 'statement'] as const)('is refused in %s mode, even while others use it', async (mode) => {
    const connection = await startPgBouncer(database.connection, mode);
    await expect(assertSessions(connection)).rejects.toMatchObject({
      code: 'pooler_unsuitable',
      message: expect.stringMatching(/storage[.]url .*pool_mode=session/),
    });
    const others = createPool({ connection, size: 4, logger: silentLogger });
    let isBusy = true;
    const traffic = Array.from({ length: 4 }, async () => {
      while (isBusy) await others.query('select pg_sleep(0.002)');
    });
    for (let attempt = 0; attempt < 5; attempt += 1)
      await expect(assertSessions(connection)).rejects.toMatchObject({ code: 'pooler_unsuitable' });
    isBusy = false;
    await Promise.all(traffic);
    await others.end();
  });

  it('is not reported if there is none', async () => {
    expect(await assertSessions(database.connection)).toBe('direct');
  });
});

async function runsAJob(connection: DatabaseConnection): Promise<void> {
  const job = aJob();
  const backend = { kind: 'postgres', connection } as const;
  const queue = await openJobQueue({ backend, jobs: [job], logger: silentLogger });
  const handler = aHandler();
  try {
    await queue.work(handler.run);
    await queue.enqueue(job.name, {}, 'one');
    // Without LISTEN, the job would start only after half a minute.
    await waitFor(() => handler.calls.length === 1, { timeoutMs: 10_000 });
  } finally {
    await queue.close();
  }
}
