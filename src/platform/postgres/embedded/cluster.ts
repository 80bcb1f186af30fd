import { randomBytes } from 'node:crypto';
import { chown, lstat, mkdir, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, RecalldError } from '../../../core/errors.ts';
import { type Account, handOver } from './account.ts';
import { majorVersion, type PostgresBinaries } from './binaries.ts';
import { clusterOf, openServerLog, unusable } from './data-dir.ts';
import { pathFromInside, runGuarded } from './guardian.ts';

// Creates the database cluster in a data folder.
// A cluster is created in a staging folder and renamed when complete, so an existing cluster is always complete.
// Staging folders left by a crash are deleted.

/** The only database role, which owns everything. */
export const role = 'recalld';

const stagingPrefix = 'postgres.initdb-';
const passwordFile = 'recalld.password';

export interface ClusterSetup {
  readonly dataDir: string;
  readonly binaries: PostgresBinaries;
  readonly account: Account | null;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Ensures that the data folder has a cluster that these programs can run.
 * @throws RecalldError `data_dir_unusable` if the path contains other files or a cluster with another major version;
 * `embedded_database_failed` if initdb fails.
 */
export async function ensureCluster(setup: ClusterSetup): Promise<void> {
  const { dataDir, account, binaries } = setup;
  const cluster = clusterOf(dataDir);
  for (const name of await readdir(dataDir)) {
    if (name.startsWith(stagingPrefix)) await removeTree(join(dataDir, name));
  }
  const entries = await readdir(cluster).catch((error: unknown): string[] => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  if (entries.length === 0) return createCluster(setup);
  if (!entries.includes('PG_VERSION')) {
    throw unusable(dataDir, `${cluster} is not empty and does not contain a PostgreSQL cluster`);
  }
  const version = (await readFile(join(cluster, 'PG_VERSION'), 'utf8')).trim();
  const ours = majorVersion(binaries.version);
  if (version !== ours) {
    const reason = `its database was created by PostgreSQL ${version}, but this version of recalld contains PostgreSQL ${ours}`;
    throw unusable(dataDir, `${reason}; dump the database with the previous version of recalld`);
  }
  const { uid } = await lstat(cluster);
  const self = process.geteuid?.() ?? uid;
  if (account === null && uid !== self) {
    throw unusable(dataDir, `its database is owned by user ${uid}, but recalld runs as user ${self}`);
  }
  await handOver(cluster, account);
}

/** Reads the role's password, which is stored inside the cluster so that password and cluster cannot be separated. */
export async function readPassword(dataDir: string): Promise<string> {
  const file = join(clusterOf(dataDir), passwordFile);
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    const reason = `its database password could not be read from ${file}`;
    throw unusable(dataDir, reason, cause);
  }
}

async function createCluster(setup: ClusterSetup): Promise<void> {
  const { dataDir, account } = setup;
  const staging = await mkdtemp(join(dataDir, stagingPrefix));
  try {
    const data = join(staging, 'data');
    const password = join(staging, passwordFile);
    await mkdir(data, { mode: 0o700 });
    await writeFile(password, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600, flush: true });
    if (account !== null) {
      for (const path of [password, data, staging]) await chown(path, account.uid, account.gid);
    }
    await runInitdb(setup, data);
    await rename(password, join(data, passwordFile));
    await syncFolder(data);
    await rename(data, clusterOf(dataDir));
    await syncFolder(dataDir);
  } finally {
    await removeTree(staging);
  }
}

async function runInitdb({ dataDir, binaries, account, signal }: ClusterSetup, data: string): Promise<void> {
  const log = await openServerLog(dataDir);
  try {
    const inside = pathFromInside(data);
    const initdb = {
      command: binaries.initdb,
      args: [
        `--pgdata=${inside}`,
        `--username=${role}`,
        `--pwfile=${inside}/../${passwordFile}`,
        '--auth-local=reject',
        '--auth-host=scram-sha-256',
        '--encoding=UTF8',
        '--no-locale',
        '--no-instructions',
        // Flushes the whole file system once, because on slow disks that is faster than flushing a thousand files one
        // by one.
        ...(process.platform === 'linux' ? ['--sync-method=syncfs'] : []),
      ],
      cwd: data,
      account,
      log: log.descriptor,
    };
    const code = await runGuarded(initdb, signal);
    if (code !== 0) throw await initdbError(dataDir, code, await log.lastError());
  } finally {
    await log.close();
  }
}

async function initdbError(dataDir: string, code: number | null, lastError: string): Promise<RecalldError> {
  if (lastError.includes('No space left on device')) return unusable(dataDir, 'its disk is full');
  if (lastError.includes('could not look up effective user ID')) {
    return new RecalldError(
      'embedded_database_failed',
      `PostgreSQL requires a user with a name, but user ${process.geteuid?.() ?? 'id'} has no entry in /etc/passwd:` +
        ' add an entry, as container images do for their users, or set storage.url to a PostgreSQL server of your own.',
    );
  }
  return new RecalldError(
    'embedded_database_failed',
    `The embedded PostgreSQL could not create its database in ${dataDir}: initdb exited with code ${code ?? 'none'}` +
      ` and reported "${lastError}". If this system cannot run it, set storage.url to a PostgreSQL server of your own.`,
  );
}

/** Deletes a folder tree. Retries, because a process that was just killed may still be writing. */
async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

/** Flushes a folder, so that a rename in it survives a power failure. */
async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
