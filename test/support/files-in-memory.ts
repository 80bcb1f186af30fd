/**
 * Chooses the folder for the suite's temporary files. Hundreds of databases and data folders are copied and removed,
 * which takes longer on a disk than most of the tests that need them.
 */
import { readFileSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';

const MEMORY = '/dev/shm';
/** Minimum free space: several times the total file size of all tests that run concurrently. */
const ROOM_BYTES = 4 * 1024 ** 3;

/**
 * Keeps temporary files of this process and its child processes in memory if the in-memory folder has enough free space
 * and allows programs to run.
 */
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
    // Some systems lack the folder for files in memory, or /proc/mounts.
    return false;
  }
}
