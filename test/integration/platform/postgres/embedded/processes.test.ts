import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { claimOwnership } from '../../../../../src/platform/postgres/embedded/data-dir.ts';
import { sendSignal } from '../../../../../src/platform/postgres/embedded/guardian.ts';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../../../../src/platform/postgres/embedded/open.ts';
import { silentLogger } from '../../../../support/log.ts';
import { waitFor } from '../../../../support/wait-for.ts';
import {
  canSeeProcesses,
  cleanUp,
  endOpeners,
  isRoot,
  processesIn,
  query,
  startOpener,
  temporaryFolder,
} from './harness.ts';

let dataDir: string;
let bystander: ChildProcess;

const nothingRuns = () => waitFor(() => processesIn(dataDir).length === 0);

/** Opens the database, reads the committed row, and stops the database. */
async function readAfterStart(): Promise<unknown> {
  const database = await open();
  try {
    return await query(database.connection, 'select value from committed');
  } finally {
    await database.stop();
  }
}

const kept = [{ value: 'kept' }];

async function open(): Promise<EmbeddedPostgres> {
  return openEmbeddedPostgres({ dataDir, purpose: 'daemon', logger: silentLogger });
}

beforeAll(async () => {
  dataDir = await temporaryFolder();
  const database = await open();
  await query(database.connection, `create table committed as select 'kept' as value`);
  await database.stop();
  // The database may signal this process, because both belong to the same user.
  const { uid, gid } = await stat(join(dataDir, 'postgres'));
  bystander = spawn('sleep', ['600'], isRoot ? { uid, gid } : {});
});

afterEach(endOpeners);

afterAll(async () => {
  bystander.kill('SIGKILL');
  await cleanUp();
});

describe.runIf(canSeeProcesses)('no process is left', () => {
  it('after a signal to stop', async () => {
    const opener = startOpener(dataDir);
    await opener.report('ready');
    opener.kill('SIGTERM');
    expect(await opener.exited).toEqual({ code: 0, signal: null });
    expect(processesIn(dataDir)).toEqual([]);
    expect(opener.stderr()).toBe('');
  });

  it('after one Ctrl-C, which reaches the whole process group, with an orderly stop', async () => {
    const opener = startOpener(dataDir);
    await opener.report('ready');
    opener.signalGroup('SIGINT');
    // The database did not get the signal, so the daemon could finish its work.
    expect(await opener.report('drained')).toMatchObject({ done: true });
    await opener.report('stopped');
    expect(await opener.exited).toEqual({ code: 0, signal: null });
    expect(processesIn(dataDir)).toEqual([]);
    expect(opener.stderr()).toBe('');
    expect(await readFile(join(dataDir, 'postgres.log'), 'utf8')).toContain('database system is shut down');
  });

  it('after Ctrl-C twice', async () => {
    const opener = startOpener(dataDir);
    await opener.report('ready');
    opener.signalGroup('SIGINT');
    await opener.report('stopping');
    opener.signalGroup('SIGINT');
    await opener.exited;
    await nothingRuns();
    expect(opener.stderr()).toBe('');
    expect(await readAfterStart()).toEqual(kept);
  });

  it('after Ctrl-C during the first start', async () => {
    const folder = await temporaryFolder();
    const opener = startOpener(folder);
    await waitFor(() => processesIn(folder).length > 1);
    opener.signalGroup('SIGINT');
    expect(await opener.report('failed')).toMatchObject({ code: 'interrupted' });
    await opener.exited;
    expect(processesIn(folder)).toEqual([]);
    expect(opener.stderr()).toBe('');
  });

  it('after kill -9, and the next start continues with the data', async () => {
    const opener = startOpener(dataDir);
    await opener.report('ready');
    opener.kill('SIGKILL');
    await opener.exited;
    await nothingRuns();
    expect(await readAfterStart()).toEqual(kept);
  });

  it('after kill -9 during the first start, which the next start repeats', async () => {
    const folder = await temporaryFolder();
    const opener = startOpener(folder);
    await waitFor(() => processesIn(folder).length > 1);
    opener.kill('SIGKILL');
    await opener.exited;
    expect(existsSync(join(folder, 'postgres'))).toBe(false);
    const database = await openEmbeddedPostgres({
      dataDir: folder,
      purpose: 'command',
      logger: silentLogger,
    });
    expect(await query(database.connection, 'select 1 as answer')).toEqual([{ answer: 1 }]);
    await database.stop();
    expect((await readdir(folder)).toSorted()).toEqual(['postgres', 'postgres.log']);
    expect(processesIn(folder)).toEqual([]);
  });

  it('after a process that ends without stopping the database, which does not keep the process alive', async () => {
    const opener = startOpener(dataDir, { manner: 'forget' });
    expect(await opener.exited).toEqual({ code: 0, signal: null });
    await nothingRuns();
  });

  it('when the guardian is killed: the database ends too, and its owner is notified', async () => {
    const opener = startOpener(dataDir);
    await opener.report('ready');
    const guardian = await parentOf(await postmasterId());
    process.kill(guardian, 'SIGKILL');
    expect(await opener.report('died')).toMatchObject({ code: 'database_unreachable' });
    await nothingRuns();
    opener.kill('SIGTERM');
    expect(await opener.exited).toEqual({ code: 0, signal: null });
  });

  it('when another process stops the database, and its owner is notified', async () => {
    const opener = startOpener(dataDir);
    await opener.report('ready');
    process.kill(await postmasterId(), 'SIGINT');
    expect((await opener.report('died')).message).toContain('database system is shut down');
    await nothingRuns();
  });
});

describe.runIf(canSeeProcesses)('a start after a crash', () => {
  it('stops a database that survived because its guardian was killed together with its owner', async () => {
    const opener = startOpener(dataDir);
    await opener.report('ready');
    const postmaster = await postmasterId();
    const guardian = await parentOf(postmaster);
    opener.kill('SIGSTOP');
    for (const pid of await childrenOf(guardian)) if (pid !== postmaster) process.kill(pid, 'SIGKILL');
    process.kill(guardian, 'SIGKILL');
    opener.kill('SIGKILL');
    await opener.exited;
    expect(processesIn(dataDir)).toContain(postmaster);

    expect(await readAfterStart()).toEqual(kept);
    expect(processesIn(dataDir)).toEqual([]);
  });

  it('is not prevented by a postmaster.pid whose id belongs to another program, which keeps running', async () => {
    await crash();
    const file = join(dataDir, 'postgres', 'postmaster.pid');
    const [, ...rest] = (await readFile(file, 'utf8')).split('\n');
    await writeFile(file, [String(bystander.pid), ...rest].join('\n'));
    expect(await readAfterStart()).toEqual(kept);
    expect(bystander.exitCode ?? bystander.signalCode).toBe(null);
  });

  it.each([
    ['empty', ''],
    ['cut off', '{"pid": 12'],
    [
      'a claim of a process that does not exist',
      '{"pid": 4194999, "startTime": null, "purpose": "daemon", "port": 5432}',
    ],
    ['nonsense', '[null]'],
  ])('takes over an owner.json that is %s', async (_name, text) => {
    await writeFile(join(dataDir, 'owner.json'), text);
    expect(await readAfterStart()).toEqual(kept);
    expect(existsSync(join(dataDir, 'owner.json'))).toBe(false);
  });

  it('takes over an owner.json whose id belongs to another program', async () => {
    await crash();
    const file = join(dataDir, 'owner.json');
    const owner = await readFile(file, 'utf8');
    await writeFile(file, owner.replace(/"pid":\d+/, `"pid":${bystander.pid}`));
    expect(await readAfterStart()).toEqual(kept);
    expect(bystander.exitCode ?? bystander.signalCode).toBe(null);
  });

  it('has exactly one winner among many processes that find the same dead owner', async () => {
    const folder = await temporaryFolder();
    for (let round = 0; round < 30; round += 1) {
      await writeFile(join(folder, 'owner.json'), aDeadClaim(String(round)));
      const claims = await Promise.all(Array.from({ length: 12 }, () => claimOwnership(folder, 'command')));
      const winners = claims.flatMap((claim) => (claim.kind === 'owned' ? [claim.ownership] : []));
      expect(winners).toHaveLength(1);
      for (const ownership of winners) await ownership.release();
      expect(await readdir(folder)).toEqual([]);
    }
  });

  it('succeeds after other processes died during their takeover', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'owner.json');
    const successorOf = (text: string) =>
      `${file}.after-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
    await writeFile(file, aDeadClaim('first'));
    await writeFile(successorOf(aDeadClaim('first')), aDeadClaim('second'));
    await writeFile(successorOf(aDeadClaim('second')), aDeadClaim('third'));
    await writeFile(`${file}.0123456789ab`, aDeadClaim('not even linked'));
    const claim = await claimOwnership(folder, 'daemon');
    expect(claim.kind).toBe('owned');
    expect(await readdir(folder)).toEqual(['owner.json']);
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ pid: process.pid, purpose: 'daemon' });
  });
});

/** A claim with an invalid process id. */
function aDeadClaim(token: string): string {
  return JSON.stringify({ pid: 4_194_999, startTime: null, purpose: 'command', port: null, token });
}

/** Ends a daemon and its database as a power failure would. */
async function crash(): Promise<void> {
  const opener = startOpener(dataDir);
  await opener.report('ready');
  // The owner is killed last, because its guardian would shut down the database cleanly. Some processes end when their
  // parent dies.
  const victims = [...processesIn(dataDir), opener.pid];
  for (const pid of victims) sendSignal(pid, 'SIGKILL');
  await opener.exited;
  await nothingRuns();
}

async function postmasterId(): Promise<number> {
  const [pid] = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  return Number(pid);
}

async function parentOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
}

async function childrenOf(pid: number): Promise<number[]> {
  const parents = await Promise.all(processesIn(dataDir).map(async (each) => ({ each, parent: await parentOf(each) })));
  return parents.filter(({ parent }) => parent === pid).map(({ each }) => each);
}
