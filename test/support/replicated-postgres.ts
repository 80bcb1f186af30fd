/**
 * A primary and a replica that streams from it, for one test. Both servers are copies of one cluster that has never
 * started.
 */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { handOver } from '../../src/platform/postgres/embedded/account.ts';
import { role } from '../../src/platform/postgres/embedded/cluster.ts';
import { clusterOf, prepareDataDir } from '../../src/platform/postgres/embedded/data-dir.ts';
import { copyFolder } from './copy-folder.ts';
import { aCluster, aPostgresServer, type PostgresServer } from './postgres-server.ts';

export interface ReplicatedPostgres {
  readonly primary: PostgresServer;
  readonly replica: PostgresServer;
  close(): Promise<void>;
}

/** @param made a data folder to copy */
export async function startReplicatedPostgres(made: string): Promise<ReplicatedPostgres> {
  const folders = [await aFolder('primary'), await aFolder('replica')] as const;
  await copyFolder(clusterOf(made), clusterOf(folders[0]));
  const cluster = await aCluster(folders[0]);
  const copy = { ...cluster, dataDir: await prepareDataDir(folders[1]) };
  const copied = clusterOf(copy.dataDir);
  await cp(clusterOf(cluster.dataDir), copied, { recursive: true });
  await writeFile(path.join(copied, 'standby.signal'), '');
  await handOver(copied, cluster.account);
  const primary = await aPostgresServer(cluster, ['wal_level=replica']);
  await primary.start();
  const { host, port } = primary.connection;
  const source = `host=${host} port=${port} user=${role} password=${cluster.password}`;
  const settings = [`primary_conninfo=${source}`, 'wal_retrieve_retry_interval=100ms'];
  const replica = await aPostgresServer(copy, settings);
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

const aFolder = (name: string): Promise<string> => mkdtemp(path.join(tmpdir(), `recalld-${name}-`));
