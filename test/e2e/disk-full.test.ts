/** Tests a daemon with a database whose disk fills up under load. */

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { chown } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { startFleet } from '../support/fleet.ts';
import { startLiveLoad } from '../support/live-load.ts';
import { startOwnPostgres } from '../support/own-postgres.ts';
import { aFolder, seriesValue } from '../support/recalld.ts';
import { reconcileLoad } from '../support/reconcile.ts';
import { waitFor } from '../support/wait-for.ts';

/** Mounts a small file system and returns its path; null if this user may not mount file systems. */
async function aSmallDisk(): Promise<string | null> {
  // PostgreSQL, which may run as another user, must be able to enter this folder.
  const folder = await aFolder();
  chmodSync(folder, 0o755);
  const disk = path.join(folder, 'disk');
  mkdirSync(disk);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', disk]).status !== 0) return null;
  onTestFinished(() => void spawnSync('umount', ['-l', disk]));
  return disk;
}

describe('a database whose disk is full', () => {
  it('is named in the metrics, still serves stored data, and accepts writes again once space is free', async ({
    skip,
  }) => {
    const disk = await aSmallDisk();
    if (disk === null) return skip('this user may not mount a small file system');
    const postgres = await startOwnPostgres(inject('newCluster'));
    onTestFinished(() => postgres.close());
    const { account, connection: server } = postgres;
    if (account !== null) await chown(disk, account.uid, account.gid);
    const connection = { ...server, database: 'small' };
    const admin = new Client(server);
    admin.on('error', () => undefined);
    await admin.connect();
    await admin.query(`create tablespace small location '${disk}'`);
    await admin.query('create database small tablespace small');
    await admin.end();
    const fleet = await startFleet({
      folder: await aFolder(),
      postgres: { connection },
      redis: null,
      roles: ['api'],
      pipelines:
        'pipelines: [{name: docs, retriever: {kind: http, url: "http://127.0.0.1:9"}, sampling: {rate: 1, max_per_minute: 10000000}}]',
      atEnd: onTestFinished,
    });
    const load = startLiveLoad({
      apis: fleet.apis,
      key: fleet.key,
      pipeline: 'docs',
      clients: 2,
      pauseMs: 5,
      patienceMs: 4000,
    });
    onTestFinished(() => load.abandon());
    const [api] = fleet.members;
    const url = api?.daemon.url ?? '';
    const shed = async (): Promise<number> => {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      return seriesValue(metrics, 'recalld_ingest_shed_total{reason="disk_full"}') ?? 0;
    };
    await waitFor(() => load.queries.size >= 200);
    const filler = path.join(disk, 'filler');
    expect(() => writeFileSync(filler, Buffer.alloc(64 * 1024 * 1024))).toThrow('ENOSPC');
    await waitFor(async () => (await shed()) > 0);
    const status = await fetch(`${url}/v1/pipelines/docs/status`, {
      headers: { authorization: `Bearer ${fleet.key}` },
    });
    expect(status.status).toBe(200);
    rmSync(filler);
    const before = load.queries.size;
    await waitFor(() => load.queries.size >= before + 200);
    await load.stop();
    const client = new Client(connection);
    await client.connect();
    const { queries, feedback, counted } = await reconcileLoad(client, load);
    await client.end();
    expect(queries).toEqual({
      accepted: load.queries.size,
      stored: load.queries.size,
      lost: 0,
      duplicated: 0,
    });
    expect(feedback).toMatchObject({ stored: feedback.accepted, lost: 0, duplicated: 0 });
    expect(counted).toBe(queries.stored);
    expect((await api?.daemon.stop())?.code).toBe(0);
  });
});
