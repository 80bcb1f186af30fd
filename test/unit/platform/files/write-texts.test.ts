import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeTexts } from '../../../../src/platform/files/text-file.ts';

let folder: string;
const never = new AbortController().signal;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recalld-texts-'));
});

afterEach(() => rm(folder, { recursive: true }));

const files = () => [
  { path: join(folder, 'a.txt'), text: 'a' },
  { path: join(folder, 'qrels/b.txt'), text: 'b' },
];

describe('files that are written together', () => {
  it('are written with their missing folders', async () => {
    await writeTexts(files(), false, never);
    expect(await readFile(join(folder, 'qrels/b.txt'), 'utf8')).toBe('b');
    expect(await readdir(folder)).toEqual(['a.txt', 'qrels']);
  });

  it('are not written at all if one of them may not be replaced', async () => {
    await writeTexts(files().slice(1), false, never);
    await expect(writeTexts(files(), false, never)).rejects.toMatchObject({ code: 'file_unwritable' });
    expect(await readdir(folder)).toEqual(['qrels']);
    expect(await readdir(join(folder, 'qrels'))).toEqual(['b.txt']);
  });

  it('stay unchanged if the write is aborted', async () => {
    await writeFile(join(folder, 'a.txt'), 'before');
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect(writeTexts(files(), true, stopped)).rejects.toThrow('stopped');
    expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('before');
    expect(await readdir(folder)).toEqual(['a.txt']);
  });

  it('are replaced at the target of a symbolic link', async () => {
    await writeFile(join(folder, 'real.txt'), 'before');
    await symlink(join(folder, 'real.txt'), join(folder, 'a.txt'));
    await writeTexts(files().slice(0, 1), true, never);
    expect(await readFile(join(folder, 'real.txt'), 'utf8')).toBe('a');
  });
});
