import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { makeFolder } from '../../../../src/platform/files/folder.ts';

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-folder-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it('creates a folder with its parents, and accepts an existing folder', async () => {
  const folder = path.join(await aFolder(), 'a/b/c');
  await makeFolder(folder);
  await makeFolder(folder);
  expect((await stat(folder)).isDirectory()).toBe(true);
});

it('creates a folder once for several concurrent callers', async () => {
  const folder = path.join(await aFolder(), 'a/b/c');
  await Promise.all(Array.from({ length: 8 }, (_, n) => makeFolder(path.join(folder, String(n % 2)))));
  expect((await stat(path.join(folder, '1'))).isDirectory()).toBe(true);
});

it('fails if a parent is a file', async () => {
  const file = path.join(await aFolder(), 'file');
  await writeFile(file, '');
  await expect(makeFolder(path.join(file, 'a/b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  await expect(makeFolder(file)).rejects.toMatchObject({ code: 'EEXIST' });
});

it.runIf(process.platform === 'linux')('fails in a file system that cannot create folders', async () => {
  await expect(makeFolder('/proc/recalld/export')).rejects.toMatchObject({ code: 'ENOENT' });
});
