import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSessions } from '../../../../src/density/vector-files.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recalld-sessions-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function read(content: string): Promise<number[]> {
  const path = join(folder, 'sessions.txt');
  await writeFile(path, content);
  return [...(await readSessions(path))];
}

describe('a file of sessions', () => {
  it('numbers the sessions in the order of their first row', async () => {
    expect(await read('b\na\nb\n__proto__\na\n')).toEqual([0, 1, 0, 2, 1]);
  });

  it('accepts names surrounded by spaces, Windows line endings, and empty lines at the end', async () => {
    expect(await read(' a\r\na \r\nb\r\n\r\n\n')).toEqual([0, 0, 1]);
  });

  it('yields no sessions if it is empty', async () => {
    expect(await read('')).toEqual([]);
  });

  it('is rejected if it has an empty line in between, because a row would have no session', async () => {
    await expect(read('a\n\nb\n')).rejects.toMatchObject({
      code: 'file_malformed',
      message: `Line 2 of ${join(folder, 'sessions.txt')} is empty; write one session name per line.`,
    });
  });

  it('is rejected if it does not exist', async () => {
    await expect(readSessions(join(folder, 'nowhere'))).rejects.toMatchObject({ code: 'file_unreadable' });
  });
});
