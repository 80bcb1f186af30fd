/**
 * Where the temporary files of the suite are. Hundreds of databases and data folders are copied and removed, and on a disk
 * that takes longer than most of the tests that need them.
 */
import { readFileSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';

const MEMORY = '/dev/shm';
/** Of the files of all tests that run at one time, several times over. */
const ROOM_BYTES = 4 * 1024 ** 3;

/** Keeps them in memory, in this process and those that it starts, where that has room and programs may be run from it. */
export function keepFilesInMemory(): void {
  if (process.env['TMPDIR'] === undefined && hasRoom()) process.env['TMPDIR'] = MEMORY;
}

function hasRoom(): boolean {
  try {
    const mounted = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === MEMORY);
    const { bavail, bsize } = statfsSync(MEMORY);
    const mayRun = mounted !== undefined && !/\b(?:ro|noexec)\b/.test(mounted.split(' ')[3] ?? '');
    return mayRun && bavail * bsize > ROOM_BYTES && freemem() > 2 * ROOM_BYTES;
  } catch {
    // Not every system has one.
    return false;
  }
}
