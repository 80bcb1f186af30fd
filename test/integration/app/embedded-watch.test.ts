/** Kills an embedded PostgreSQL, as the operating system does when memory runs out. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, expect, it } from 'vitest';
import { watchEmbedded } from '../../../src/app/database.ts';
import { RecalldError } from '../../../src/core/errors.ts';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../../src/platform/postgres/embedded/open.ts';
import { createPool } from '../../../src/platform/postgres/pool.ts';
import { recordLog, silentLogger } from '../../support/log.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';
import { waitFor } from '../../support/wait-for.ts';
import { cleanUp, processesIn, temporaryFolder } from '../platform/postgres/embedded/harness.ts';

const ends: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

afterAll(cleanUp);

async function start() {
  const dataDir = await temporaryFolder();
  const database = await openEmbeddedPostgres({ dataDir, purpose: 'daemon', logger: silentLogger });
  ends.push(() => database.stop());
  const pool = createPool({ connection: database.connection, size: 3, logger: silentLogger });
  ends.push(() => pool.end());
  const clock = new SteerableClock();
  const watch = watchEmbedded(database, clock, silentLogger);
  ends.push(() => watch.stop());
  const kill = async (): Promise<void> => {
    const file = path.join(dataDir, 'postgres', 'postmaster.pid');
    process.kill(Number(readFileSync(file, 'utf8').split('\n')[0]), 'SIGKILL');
    await waitFor(() => watch.problem() !== null);
  };
  /** Advances the clock by the watch's current delay, and waits until the database is running again. */
  const runsAgain = async (): Promise<void> => {
    await clock.advance(0);
    await waitFor(() => watch.problem() === null);
  };
  return { dataDir, database, pool, clock, watch, kill, runsAgain };
}

it('a database that is killed is restarted on the same port, with all committed data', async () => {
  const { pool, kill, runsAgain } = await start();
  await pool.query('create table committed as select 1 as value');
  await kill();
  await runsAgain();
  const { rows } = await waitFor(() => pool.query<{ value: number }>('select value from committed'));
  expect(rows).toEqual([{ value: 1 }]);
});

it('a database that is killed again within a minute restarts after that minute, and recalld reports when', async () => {
  const { dataDir, pool, clock, watch, kill, runsAgain } = await start();
  await pool.query('create table committed as select 1 as value');
  await kill();
  await runsAgain();
  await clock.advance(20_000);
  await kill();
  const inFortySeconds = new Date(clock.now().getTime() + 40_000).toISOString();
  expect(watch.problem()).toContain(dataDir);
  expect(watch.problem()).toContain(`recalld will restart PostgreSQL at ${inFortySeconds}.`);
  await clock.advance(39_999);
  await waitFor(() => processesIn(dataDir).length === 0);
  expect(watch.problem()).not.toBeNull();
  await expect(pool.query('select 1')).rejects.toThrow('ECONNREFUSED');
  await clock.advance(1);
  await waitFor(() => watch.problem() === null);
  const { rows } = await waitFor(() => pool.query<{ value: number }>('select value from committed'));
  expect(rows).toEqual([{ value: 1 }]);
});

it('a stop before the restart leaves no process and no owner file', async () => {
  const { dataDir, database, kill, runsAgain, watch } = await start();
  await kill();
  await runsAgain();
  await kill();
  watch.stop();
  await database.stop();
  // The child processes of the killed server take some time to notice its death and to exit.
  await waitFor(() => processesIn(dataDir).length === 0);
  expect(existsSync(path.join(dataDir, 'owner.json'))).toBe(false);
});

it('a database that fails to restart is retried every minute', async () => {
  const log = recordLog();
  const clock = new SteerableClock();
  const attempts: number[] = [];
  const database: EmbeddedPostgres = {
    connection: { host: '127.0.0.1', port: 0, user: 'none', password: 'none', database: 'none', ssl: false },
    startedHere: true,
    stop: async () => undefined,
    // The server dies once.
    get died() {
      return attempts.length === 0
        ? Promise.resolve(new RecalldError('database_unreachable', 'It ended.'))
        : new Promise<RecalldError>(() => undefined);
    },
    async restart() {
      attempts.push(clock.monotonicMs());
      if (attempts.length < 3) throw new RecalldError('data_dir_unusable', 'Its disk is full.');
    },
  };
  const watch = watchEmbedded(database, clock, log.logger);
  await clock.advance(30_000);
  expect(watch.problem()).toContain('Its disk is full. recalld will restart PostgreSQL at');
  await clock.advance(600_000);
  expect(attempts).toEqual([0, 60_000, 120_000]);
  expect(watch.problem()).toBeNull();
  expect(log.entries.map(({ fields }) => fields['reason'])).toEqual([
    'It ended.',
    'Its disk is full.',
    'Its disk is full.',
    undefined,
  ]);
});
