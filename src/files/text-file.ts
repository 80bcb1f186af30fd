/** Small files as a whole. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { RecalldError } from '../errors.ts';

const readReasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist; check the path',
  EISDIR: 'is a folder; name a file',
  EACCES: 'may not be read; check its permissions',
};

const writeReasons: Readonly<Record<string, string>> = {
  EEXIST: 'is there already; name another path or add --force',
  EISDIR: 'is a folder; name a file',
  ENOTDIR: 'lies under a file; name another path',
  EACCES: 'may not be written; check the permissions',
  ENOSPC: 'cannot be written, the disk is full; make room',
};

/** The error for a file that the operating system does not let us read. */
export function unreadable(path: string, cause: unknown): RecalldError {
  const reason = reasonOf(cause, readReasons, (code) => `cannot be read (${code}); check the path`);
  return new RecalldError('file_unreadable', `${path} ${reason}.`, { cause });
}

/** The error for a file that the operating system does not let us write. */
export function unwritable(path: string, cause: unknown): RecalldError {
  const reason = reasonOf(cause, writeReasons, (code) => `cannot be written (${code}); name another path`);
  return new RecalldError('file_unwritable', `${path} ${reason}.`, { cause });
}

function reasonOf(
  cause: unknown,
  reasons: Readonly<Record<string, string>>,
  otherwise: (code: string) => string,
): string {
  const code = String(cause instanceof Error && 'code' in cause ? cause.code : cause);
  return reasons[code] ?? otherwise(code);
}

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
