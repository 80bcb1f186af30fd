import { chmod, mkdir, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { binariesOf, locateBinaries, majorVersion } from '../../../../../src/platform/postgres/embedded/binaries.ts';
import { cleanUp, temporaryFolder } from './harness.ts';

let folder: string;

/** Creates a package as npm unpacks it, before the package's scripts run. */
beforeEach(async () => {
  folder = await temporaryFolder();
  await mkdir(join(folder, 'native', 'bin'), { recursive: true });
  await mkdir(join(folder, 'native', 'lib'));
  for (const program of ['initdb', 'postgres']) await writeFile(join(folder, 'native', 'bin', program), '#!/bin/sh\n');
  await writeFile(join(folder, 'package.json'), '{"version": "18.4.0-beta.17"}');
  const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }];
  await writeFile(join(folder, 'native', 'pg-symlinks.json'), JSON.stringify(links));
});

afterAll(cleanUp);

describe('the PostgreSQL programs', () => {
  it('are found for this machine with their version', async () => {
    const { postgres, initdb, version } = await locateBinaries();
    expect((await stat(postgres)).mode & 0o111).toBe(0o111);
    expect((await stat(initdb)).mode & 0o111).toBe(0o111);
    expect(Number(majorVersion(version))).toBeGreaterThanOrEqual(18);
  });

  it('are repaired after an install without scripts, which omits links and permissions', async () => {
    const { postgres } = await binariesOf(folder);
    expect((await stat(postgres)).mode & 0o111).toBe(0o111);
    expect(await readlink(join(folder, 'native', 'lib', 'libpq.so.5'))).toBe('libpq.so.5.18');
    expect(await binariesOf(folder)).toMatchObject({ postgres, version: '18.4.0-beta.17' });
  });

  it('are not changed if they are complete', async () => {
    await symlink('somewhere-else', join(folder, 'native', 'lib', 'libpq.so.5'));
    await binariesOf(folder);
    expect(await readlink(join(folder, 'native', 'lib', 'libpq.so.5'))).toBe('somewhere-else');
  });

  it('are reported as missing, with the command that installs them', async () => {
    const empty = await temporaryFolder();
    await expect(binariesOf(empty)).rejects.toMatchObject({
      code: 'embedded_database_failed',
      message: expect.stringMatching(/npm rebuild.*npm ci.*storage\.url/s),
    });
    await chmod(empty, 0o700);
  });
});
