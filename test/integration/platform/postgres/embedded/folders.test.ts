import { spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
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

/** Returns the error message for a folder that the embedded database refuses. */
async function refusal(dataDir: string): Promise<string> {
  const error: unknown = await open(dataDir).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'data_dir_unusable' });
  return error instanceof Error ? error.message : '';
}

afterAll(cleanUp);

describe('the data folder', () => {
  it.each([
    ['spaces and quotes', `it's "my" $HOME \`data\`; rm -rf`],
    ['letters of other scripts', 'données 資料 📚'],
    ['a newline and a backslash', 'two\nlines\\'],
    ['a path that is too long for PostgreSQL', Array(6).fill('x'.repeat(200)).join('/')],
  ])('may have a name with %s', async (_what, name) => {
    if (process.platform !== 'linux' && /\n|x{200}/.test(name)) return;
    const dataDir = join(await temporaryFolder(), name);
    const database = await open(dataDir);
    expect(await query(database.connection, 'select 1 as answer')).toEqual([{ answer: 1 }]);
    await database.stop();
    expect((await readdir(dataDir)).toSorted()).toEqual(['postgres', 'postgres.log']);
  });

  it('may be relative to the working directory', async () => {
    const folder = await temporaryFolder();
    const opener = startOpener('some/data', { cwd: folder, manner: 'leave' });
    expect(await opener.exited).toEqual({ code: 0, signal: null });
    expect(await readdir(join(folder, 'some', 'data'))).toContain('postgres');
  });

  it('is refused with its name and the fix if it is a file', async () => {
    const file = join(await temporaryFolder(), 'data');
    await writeFile(file, '');
    const sentence = await refusal(file);
    expect(sentence).toContain(file);
    expect(sentence).toContain('file');
    expect(sentence).toContain('storage.data_dir');
  });

  it('is refused if part of its path is a file', async () => {
    const file = join(await temporaryFolder(), 'file');
    await writeFile(file, '');
    expect(await refusal(join(file, 'data'))).toContain('is a file instead of a folder');
  });

  it('is refused if its name is too long', async () => {
    expect(await refusal(join(await temporaryFolder(), 'x'.repeat(300)))).toContain('too long');
  });

  it('is refused if the path of the cluster has other files, which stay unchanged', async () => {
    const dataDir = await temporaryFolder();
    await mkdir(join(dataDir, 'postgres'));
    await writeFile(join(dataDir, 'postgres', 'thesis.txt'), 'precious');
    expect(await refusal(dataDir)).toContain('does not contain a PostgreSQL cluster');
    expect(await readdir(join(dataDir, 'postgres'))).toEqual(['thesis.txt']);
    expect(await readdir(dataDir)).toEqual(['postgres']);
  });

  it('is refused if an older PostgreSQL created it', async () => {
    const dataDir = await temporaryFolder();
    await mkdir(join(dataDir, 'postgres'));
    await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '14\n');
    const sentence = await refusal(dataDir);
    expect(sentence).toContain('PostgreSQL 14');
    expect(sentence).toContain('PostgreSQL 18');
  });

  it('gets its database even if an earlier start was killed while creating it', async () => {
    const dataDir = await temporaryFolder();
    await mkdir(join(dataDir, 'postgres.initdb-abcdef', 'data', 'base'), { recursive: true });
    await mkdir(join(dataDir, 'postgres'));
    const database = await open(dataDir);
    await database.stop();
    expect((await readdir(dataDir)).toSorted()).toEqual(['postgres', 'postgres.log']);
  });

  it('gets its database even if its permissions were opened to all users, as on a mounted volume', async () => {
    const dataDir = await temporaryFolder();
    await (await open(dataDir)).stop();
    await chmod(join(dataDir, 'postgres'), 0o777);
    const database = await open(dataDir);
    expect(await query(database.connection, 'select 1 as answer')).toEqual([{ answer: 1 }]);
    await database.stop();
  });

  it.skipIf(isRoot)('is refused when this user has no permission to write to it', async () => {
    const dataDir = await temporaryFolder();
    await chmod(dataDir, 0o500);
    expect(await refusal(dataDir)).toContain('no permission to write');
  });

  it.runIf(nobodyCanRunOpeners)('is refused if it belongs to root and another user starts the database', async () => {
    const folder = await temporaryFolder();
    await chmod(folder, 0o755);
    const opener = startOpener(join(folder, 'data'), nobody);
    const { code, message } = await opener.report('failed');
    expect(code).toBe('data_dir_unusable');
    expect(message).toContain('no permission to write');
    expect(message).toContain(folder);
  });

  // Command that can mount a small private file system; mounting requires privileges that some containers lack.
  const unshare = ['unshare', '--mount', 'sh', '-c'];
  const canMount = isRoot && spawnSync('/usr/bin/env', [...unshare, 'true']).status === 0;
  it.runIf(canMount).each([
    ['its first start', 'mount -t tmpfs -o size=8m none "$0" && exec "$@"'],
    [
      'a later start',
      'mount -t tmpfs -o size=80m none "$0" && "$@" && { cat /dev/zero >"$0/filling" 2>/dev/null; exec "$@"; }',
    ],
  ])('is refused when its disk is full at %s', async (_what, script) => {
    const folder = await temporaryFolder();
    const prefix = [...unshare, script, folder];
    const opener = startOpener(join(folder, 'data'), { prefix, manner: 'leave' });
    const { code, message } = await opener.report('failed');
    expect(message).toContain('disk is full');
    expect(code).toBe('data_dir_unusable');
    await opener.exited;
    expect(opener.stderr()).toBe('');
    expect(processesIn(folder)).toEqual([]);
  });

  it.runIf(nobodyCanRunOpeners)('stays with its owner: root runs the database as the user who created it', async () => {
    const folder = await temporaryFolder();
    await chown(folder, nobody.uid, nobody.gid);
    const first = startOpener(join(folder, 'data'), { ...nobody, manner: 'leave' });
    expect(await first.exited).toEqual({ code: 0, signal: null });
    await (await open(join(folder, 'data'))).stop();
    const again = startOpener(join(folder, 'data'), { ...nobody, manner: 'leave' });
    expect(await again.exited).toEqual({ code: 0, signal: null });
  });
});
