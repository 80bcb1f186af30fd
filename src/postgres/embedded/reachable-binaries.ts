import { execFile } from 'node:child_process';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  rename,
  rm,
  symlink,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { RecalldError } from '../../errors.ts';
import type { Account } from './account.ts';
import type { PostgresBinaries } from './binaries.ts';

// When recalld runs as root, its programs may lie under a folder such as /root that the user of the database may not
// enter. They are then copied once to a folder for temporary files. (Tricks with open descriptors do not help:
// PostgreSQL finds its libraries and data by the resolved path of its program.)

/**
 * The programs at a place from which the account can run them.
 * @param places folders that may hold the copy, the first that works is taken.
 * @throws RecalldError `embedded_database_failed` if the account can run them nowhere.
 */
export async function reachableBinaries(
  binaries: PostgresBinaries,
  account: Account | null,
  places: readonly string[] = [tmpdir(), '/var/tmp'],
): Promise<PostgresBinaries> {
  if (account === null || (await canRun(binaries, account))) return binaries;
  for (const place of places) {
    const root = join(place, `recalld-postgres-${binaries.version}-${process.arch}`);
    const copy = {
      ...binaries,
      root,
      initdb: join(root, 'bin', basename(binaries.initdb)),
      postgres: join(root, 'bin', basename(binaries.postgres)),
    };
    if (!(await canEnter(place, account)) || !(await provideCopy(binaries.root, root))) continue;
    if (await canRun(copy, account)) return copy;
    // Programs may not run from there. Another process may be finding out the same.
    await rm(root, { recursive: true, force: true }).catch(() => undefined);
  }
  throw new RecalldError(
    'embedded_database_failed',
    `PostgreSQL cannot run as root, the user ${account.name} cannot run the programs in ${binaries.root}, and no` +
      ` copy of them could be made that it can run (tried ${places.join(', ')}): move recalld out of folders that` +
      ' only root may enter, start it as a normal user, or set storage.url to a PostgreSQL server of your own.',
  );
}

/** The only sure test of rights, mount options and libraries is to run it. */
async function canRun({ postgres, initdb }: PostgresBinaries, account: Account): Promise<boolean> {
  return (await succeeds(postgres, ['--version'], account)) && succeeds(initdb, ['--version'], account);
}

async function canEnter(place: string, account: Account): Promise<boolean> {
  return succeeds('/bin/sh', ['-c', 'cd "$0"', place], account);
}

async function succeeds(command: string, args: readonly string[], { uid, gid }: Account): Promise<boolean> {
  try {
    await promisify(execFile)(command, args, { uid, gid, cwd: '/', env: { LC_ALL: 'C' } });
    return true;
  } catch {
    return false;
  }
}

/** Whether there is, now, a whole copy at that place which nobody but root can have touched. */
async function provideCopy(source: string, target: string): Promise<boolean> {
  try {
    if (!(await isSafePlace(dirname(target)))) return false;
    if (await isWholeCopy(source, target)) return true;
    const fresh = await mkdtemp(`${target}.`);
    try {
      await copyTree(source, fresh);
      await putInPlace(fresh, source, target);
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
    return await isWholeCopy(source, target);
  } catch {
    return false;
  }
}

/** In a folder that others may write to, only the sticky bit keeps them from exchanging what is ours. */
async function isSafePlace(folder: string): Promise<boolean> {
  const { uid, mode } = await lstat(folder);
  return uid === 0 && ((mode & 0o022) === 0 || (mode & 0o1000) !== 0);
}

/** Programs that clean up temporary files remove old ones one by one, so the copy is compared each time. */
async function isWholeCopy(source: string, target: string): Promise<boolean> {
  const [theirs, ours] = await Promise.all([lstat(target).catch(() => null), lstat(source)]);
  if (theirs === null || theirs.uid !== 0 || theirs.isDirectory() !== ours.isDirectory()) return false;
  if (theirs.isSymbolicLink()) return (await readlink(target)) === (await readlink(source));
  if ((theirs.mode & 0o022) !== 0) return false;
  if (!theirs.isDirectory()) return theirs.size === ours.size;
  const names = await readdir(source);
  const same = await Promise.all(names.map((name) => isWholeCopy(join(source, name), join(target, name))));
  return same.every(Boolean);
}

/** Of several processes at once the first one's copy stays; a damaged or foreign copy is moved away. */
async function putInPlace(fresh: string, source: string, target: string): Promise<void> {
  const moved = await rename(fresh, target).then(
    () => true,
    () => false,
  );
  if (moved || (await isWholeCopy(source, target))) return;
  const old = `${fresh}.old`;
  await rename(target, old).catch(() => undefined);
  await rename(fresh, target).catch(() => undefined);
  await rm(old, { recursive: true, force: true });
}

async function copyTree(source: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  await chmod(target, 0o755);
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const from = join(source, entry.name);
    const to = join(target, entry.name);
    if (entry.isDirectory()) {
      await copyTree(from, to);
    } else if (entry.isSymbolicLink()) {
      await symlink(await readlink(from), to);
    } else {
      await copyFile(from, to);
      await chmod(to, ((await lstat(from)).mode & 0o100) === 0 ? 0o644 : 0o755);
    }
  }
}
