/** A PostgreSQL server that runs the embedded PostgreSQL's binaries with settings from the test. */
import { Client } from 'pg';
import { type Account, databaseAccount } from '../../src/platform/postgres/embedded/account.ts';
import { locateBinaries, reachableBinaries } from '../../src/platform/postgres/embedded/binaries.ts';
import { ensureCluster, readPassword, role } from '../../src/platform/postgres/embedded/cluster.ts';
import { clusterOf, openServerLog, prepareDataDir } from '../../src/platform/postgres/embedded/data-dir.ts';
import { pathFromInside, startGuarded } from '../../src/platform/postgres/embedded/guardian.ts';
import { endPostmaster, freePort, host } from '../../src/platform/postgres/embedded/server.ts';
import { waitFor } from './wait-for.ts';

export interface PostgresServer {
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
    readonly database: string;
    readonly ssl: false;
  };
  readonly url: string;
  /** Runs one statement on a separate connection. */
  readonly query: <Row extends Record<string, unknown>>(sql: string, values?: readonly unknown[]) => Promise<Row[]>;
  /** Stops the server immediately, which ends every connection. */
  stop(): Promise<void>;
  /** Starts the server, on the same port every time. */
  start(): Promise<void>;
}

export interface Cluster {
  readonly dataDir: string;
  readonly command: string;
  readonly account: Account | null;
  readonly password: string;
}

/** Creates a cluster in the folder. */
export async function aCluster(folder: string): Promise<Cluster> {
  const dataDir = await prepareDataDir(folder);
  const account = await databaseAccount(clusterOf(dataDir));
  const binaries = await reachableBinaries(await locateBinaries(), account);
  await ensureCluster({ dataDir, binaries, account });
  return { dataDir, command: binaries.postgres, account, password: await readPassword(dataDir) };
}

/**
 * Returns a server that has not been started yet, with a fixed port. The server's data is discarded after the test, so
 * nothing is synced to disk.
 */
export async function aPostgresServer(
  { command, account, password, dataDir }: Cluster,
  settings: readonly string[],
): Promise<PostgresServer> {
  const port = await freePort();
  const cluster = clusterOf(dataDir);
  const connection = { host, port, user: role, password, database: 'postgres', ssl: false } as const;
  const common = [`listen_addresses=${host}`, `port=${port}`, 'unix_socket_directories=', 'fsync=off'];
  const query: PostgresServer['query'] = async (sql, values = []) => {
    const client = new Client(connection);
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query(sql, [...values])).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  return {
    connection,
    url: `postgres://${role}:${encodeURIComponent(password)}@${host}:${port}/postgres`,
    query,
    async start() {
      const log = await openServerLog(dataDir);
      const args = ['-D', pathFromInside(cluster), ...[...common, ...settings].flatMap((setting) => ['-c', setting])];
      const server = await startGuarded({ command, args, cwd: cluster, account, log: log.descriptor });
      await log.close();
      await waitFor(async () => {
        if (server.hasExited()) throw new Error(`PostgreSQL ended; see the log in ${dataDir}`);
        return (await query('select 1')).length === 1;
      });
    },
    async stop() {
      await endPostmaster(cluster, { fastMs: 0, immediateMs: 10_000 });
    },
  };
}
