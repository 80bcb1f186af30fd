/** A primary and a replica that streams from it, both of a test's own: copies of one cluster before its first start. */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { type Account, databaseAccount, handOver } from '../../src/postgres/embedded/account.ts';
import { locateBinaries } from '../../src/postgres/embedded/binaries.ts';
import { ensureCluster, readPassword, role } from '../../src/postgres/embedded/cluster.ts';
import { clusterOf, openServerLog, prepareDataDir } from '../../src/postgres/embedded/data-dir.ts';
import { freePort, host } from '../../src/postgres/embedded/free-port.ts';
import { pathFromInside, startGuarded } from '../../src/postgres/embedded/guardian.ts';
import { endPostmaster } from '../../src/postgres/embedded/postmaster.ts';
import { reachableBinaries } from '../../src/postgres/embedded/reachable-binaries.ts';
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
  /** One statement on a connection of its own. */
  readonly query: <Row extends Record<string, unknown>>(
    sql: string,
    values?: readonly unknown[],
  ) => Promise<Row[]>;
  /** Ends at once, and every connection with it. */
  stop(): Promise<void>;
  /** Starts again, on the same port. */
  start(): Promise<void>;
}

export interface ReplicatedPostgres {
  readonly primary: PostgresServer;
  readonly replica: PostgresServer;
  close(): Promise<void>;
}

export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const folders = [await aDataDir('primary'), await aDataDir('replica')] as const;
  const account = await databaseAccount(clusterOf(folders[0]));
  const binaries = await reachableBinaries(await locateBinaries(), account);
  await ensureCluster({ dataDir: folders[0], binaries, account });
  const clusters = [clusterOf(folders[0]), clusterOf(folders[1])] as const;
  await cp(clusters[0], clusters[1], { recursive: true });
  await writeFile(path.join(clusters[1], 'standby.signal'), '');
  await handOver(clusters[1], account);
  const password = await readPassword(folders[0]);
  const program = { command: binaries.postgres, account, password };
  const primary = await aServer({ ...program, dataDir: folders[0], settings: ['wal_level=replica'] });
  await primary.start();
  const { port } = primary.connection;
  const source = `host=${host} port=${port} user=${role} password=${password}`;
  const settings = [`primary_conninfo=${source}`, 'wal_retrieve_retry_interval=100ms'];
  const replica = await aServer({ ...program, dataDir: folders[1], settings });
  await replica.start();
  return {
    primary,
    replica,
    async close() {
      await replica.stop();
      await primary.stop();
      for (const folder of folders) await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

async function aDataDir(name: string): Promise<string> {
  return prepareDataDir(await mkdtemp(path.join(tmpdir(), `recalld-${name}-`)));
}

interface ServerSettings {
  readonly command: string;
  readonly account: Account | null;
  readonly password: string;
  readonly dataDir: string;
  readonly settings: readonly string[];
}

async function aServer({
  command,
  account,
  password,
  dataDir,
  settings,
}: ServerSettings): Promise<PostgresServer> {
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
      const args = [
        '-D',
        pathFromInside(cluster),
        ...[...common, ...settings].flatMap((setting) => ['-c', setting]),
      ];
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
