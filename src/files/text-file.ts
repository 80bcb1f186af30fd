/** Small files as a whole. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { unreadable, unwritable } from './system-failure.ts';

/** @throws RecalldError `file_unreadable` */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** @throws RecalldError `file_unwritable` */
export async function writeText(path: string, text: string, replace: boolean): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { flag: replace ? 'w' : 'wx' });
  } catch (cause) {
    throw unwritable(path, cause);
  }
}
