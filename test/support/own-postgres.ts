/**
 * A PostgreSQL server that a test can freeze, crash and restart. The server commits to disk, like a user's PostgreSQL,
 * and gets a new port at each start.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { databaseAccount } from '../../src/platform/postgres/embedded/account.ts';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/platform/postgres/embedded/open.ts';
import { runningPostmaster } from '../../src/platform/postgres/embedded/server.ts';
import { copyFolder } from './copy-folder.ts';
import { silentLogger } from './log.ts';
import { descendantsOf } from './recalld.ts';

export interface OwnPostgres {
  /** Current address of the server; the port changes at each start. */
  readonly connection: EmbeddedPostgres['connection'];
  /** The system user that the server runs as; null for the current user. */
  readonly account: { readonly uid: number; readonly gid: number } | null;
  /** Suspends every process of the server, as if its machine hung; connections stay open. */
  freeze(): Promise<void>;
  thaw(): void;
  /** Ends the server immediately, so that the next start recovers from the write-ahead log. */
  crash(): Promise<void>;
  /** Starts the server again after a crash. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** @param made a data folder to copy; if omitted, the server gets a new data folder */
export async function startOwnPostgres(made?: string): Promise<OwnPostgres> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-own-postgres-'));
  const dataDir = path.join(folder, 'data');
  if (made !== undefined) await copyFolder(made, dataDir);
  const cluster = path.join(dataDir, 'postgres');
  const open = () => openEmbeddedPostgres({ dataDir, purpose: 'daemon', logger: silentLogger });
  let server = await open();
  let frozen: number[] = [];
  const postmaster = async (): Promise<number> => {
    const pid = await runningPostmaster(cluster);
    if (pid === null) throw new Error('PostgreSQL does not run');
    return pid;
  };
  const thaw = (): void => {
    for (const pid of frozen.splice(0).toReversed()) process.kill(pid, 'SIGCONT');
  };
  const account = await databaseAccount(cluster);
  return {
    get connection() {
      return server.connection;
    },
    account,
    async freeze() {
      const pid = await postmaster();
      // Suspends the parent process first, because it could otherwise start other processes in the meantime.
      process.kill(pid, 'SIGSTOP');
      frozen = [pid, ...descendantsOf(pid)];
      for (const child of frozen.slice(1)) process.kill(child, 'SIGSTOP');
    },
    thaw,
    async crash() {
      const died = server.died;
      process.kill(await postmaster(), 'SIGQUIT');
      await died;
      await server.stop();
    },
    async start() {
      server = await open();
    },
    async close() {
      thaw();
      await server.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
