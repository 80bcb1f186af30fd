import { chmod, cp, lstat, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { databaseAccount } from '../../../../../src/platform/postgres/embedded/account.ts';
import { locateBinaries, reachableBinaries } from '../../../../../src/platform/postgres/embedded/binaries.ts';
import { openEmbeddedPostgres } from '../../../../../src/platform/postgres/embedded/open.ts';
import { silentLogger } from '../../../../support/log.ts';
import {
  cleanUp,
  isRoot,
  nobody,
  nobodyCanRunOpeners,
  processesIn,
  query,
  startOpener,
  temporaryFolder,
} from './harness.ts';

const open = (dataDir: string) => openEmbeddedPostgres({ dataDir, purpose: 'daemon', logger: silentLogger });

async function userOf(pid: number): Promise<number> {
  return (await stat(`/proc/${pid}`)).uid;
}

afterAll(cleanUp);

describe.runIf(nobodyCanRunOpeners)('a normal user', () => {
  it('runs the database under its own account', async () => {
    const folder = await temporaryFolder();
    await chmod(folder, 0o777);
    const dataDir = join(folder, 'data');
    const opener = startOpener(dataDir, nobody);
    await opener.report('ready');
    for (const pid of processesIn(dataDir)) expect(await userOf(pid)).toBe(nobody.uid);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    opener.kill('SIGTERM');
    expect(await opener.exited).toEqual({ code: 0, signal: null });
    expect(opener.stderr()).toBe('');
    expect(processesIn(dataDir)).toEqual([]);
  });
});

describe.runIf(isRoot && process.platform === 'linux')('root', () => {
  it('runs the database as a user without privileges, in a folder that only root may enter', async () => {
    const secluded = await temporaryFolder();
    await chmod(secluded, 0o700);
    const dataDir = join(secluded, 'data');
    const database = await open(dataDir);
    expect(await query(database.connection, 'select 1 as answer')).toEqual([{ answer: 1 }]);
    const users = await Promise.all(processesIn(dataDir).map(userOf));
    expect(users.length).toBeGreaterThan(2);
    expect(users).not.toContain(0);
    await database.stop();
    expect(processesIn(dataDir)).toEqual([]);
  });

  it('gives the database user only the cluster', async () => {
    const dataDir = join(await temporaryFolder(), 'data');
    const database = await open(dataDir);
    await database.stop();
    const owners = await Promise.all(
      (await readdir(dataDir)).map(async (name) => [name, (await lstat(join(dataDir, name))).uid === 0]),
    );
    expect(Object.fromEntries(owners)).toEqual({ postgres: false, 'postgres.log': true });
    expect((await lstat(dataDir)).uid).toBe(0);
  });

  it('changes the owner of a cluster that was copied as root', async () => {
    const folder = await temporaryFolder();
    const database = await open(join(folder, 'data'));
    await query(database.connection, 'create table kept as select 1 as value');
    await database.stop();
    await cp(join(folder, 'data'), join(folder, 'copy'), { recursive: true });
    expect((await lstat(join(folder, 'copy', 'postgres'))).uid).toBe(0);
    const copy = await open(join(folder, 'copy'));
    expect(await query(copy.connection, 'select value from kept')).toEqual([{ value: 1 }]);
    await copy.stop();
  });

  it('makes one copy of programs that only root can reach, and repairs a damaged copy', async () => {
    const secluded = await temporaryFolder();
    const place = await temporaryFolder();
    await chmod(place, 0o755);
    const original = await locateBinaries();
    const hidden = join(secluded, 'native');
    await cp(original.root, hidden, { recursive: true, verbatimSymlinks: true });
    const binaries = {
      ...original,
      root: hidden,
      initdb: join(hidden, 'bin', 'initdb'),
      postgres: join(hidden, 'bin', 'postgres'),
    };
    const account = await databaseAccount(join(secluded, 'no cluster'));

    const useless = await temporaryFolder();
    await chmod(useless, 0o700);
    const copies = await Promise.all([1, 2, 3].map(() => reachableBinaries(binaries, account, [useless, place])));
    const [copy = binaries] = copies;
    expect(copies.map(({ root }) => dirname(root))).toEqual([place, place, place]);
    expect(await readdir(place)).toHaveLength(1);
    expect(await readdir(useless)).toEqual([]);
    const { ino } = await lstat(copy.root);
    await reachableBinaries(binaries, account, [place]);
    expect((await lstat(copy.root)).ino).toBe(ino);

    await rm(join(copy.root, 'share', 'postgresql', 'postgres.bki'));
    await reachableBinaries(binaries, account, [place]);
    expect(await readFile(join(copy.root, 'share', 'postgresql', 'postgres.bki'), 'utf8')).not.toBe('');
    expect(await readdir(place)).toHaveLength(1);
  });

  it('trusts no copy that another user could have made or could change', async () => {
    const secluded = await temporaryFolder();
    const open = await temporaryFolder();
    await chmod(open, 0o777);
    const account = await databaseAccount(join(secluded, 'no cluster'));
    const original = await locateBinaries();
    await writeFile(join(secluded, 'postgres'), '');
    const unreachable = { ...original, postgres: join(secluded, 'postgres') };
    await expect(reachableBinaries(unreachable, account, [open])).rejects.toMatchObject({
      code: 'embedded_database_failed',
      message: expect.stringContaining(open),
    });
    expect(await readdir(open)).toEqual([]);
  });

  it('does not copy programs that the user can run in place', async () => {
    const place = await temporaryFolder();
    await mkdir(join(place, 'unused'));
    const binaries = await locateBinaries();
    const account = await databaseAccount(join(place, 'no cluster'));
    const found = await reachableBinaries(binaries, account, [place]);
    // If another user cannot read the checkout, it is correct to copy the binaries.
    const added = found === binaries ? [] : [basename(found.root)];
    expect((await readdir(place)).toSorted()).toEqual([...added, 'unused']);
  });
});
