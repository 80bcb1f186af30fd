import { createHash, randomBytes } from 'node:crypto';
import { access, constants, link, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { codeOf, RecalldError } from '../../../core/errors.ts';
import { makeFolder } from '../../files/folder.ts';
import { isRoot } from './account.ts';
import { isRunning, processState } from './guardian.ts';

// A running process owns a data folder if owner.json contains its claim. A claim is linked into place with its content,
// so exactly one of several claimants succeeds, and no process reads a partial claim. A dead process's claim is never
// removed by name, because that could remove the claim of another process that took over faster. Instead, a claimant
// first links its own claim as the only successor of the dead claim, and then renames it to owner.json.

const ownerSchema = z.object({
  pid: z.number(),
  startTime: z.string().nullable().catch(null),
  purpose: z.enum(['daemon', 'command']).catch('command'),
  /** Port of the owner's PostgreSQL; null until PostgreSQL accepts connections. */
  port: z.number().nullable().catch(null),
});

export type Owner = z.infer<typeof ownerSchema>;

export type Ownership = ReturnType<typeof ownershipOf>;

/** Why a process opens the folder: to run as a daemon, or to run a single command. */
export type Purpose = Owner['purpose'];

type Claim =
  | { readonly kind: 'owned'; readonly ownership: Ownership }
  | { readonly kind: 'taken'; readonly owner: Owner };

const fileName = 'owner.json';

/**
 * Claims the folder for this process, even if a dead process still owns it. If a running process owns the folder,
 * returns that owner.
 */
export async function claimOwnership(dataDir: string, purpose: Purpose): Promise<Claim> {
  const file = join(dataDir, fileName);
  const self = await processState(process.pid);
  const claim = {
    pid: process.pid,
    startTime: self.running ? self.startTime : null,
    purpose,
    port: null,
    token: randomBytes(9).toString('base64url'),
  };
  for (;;) {
    const dead: { path: string; text: string }[] = [];
    let path = file;
    for (let text = await read(path); text !== null; text = await read(path)) {
      const owner = parse(text);
      if (owner !== null && (await isRunning(owner.pid, owner.startTime))) return { kind: 'taken', owner };
      dead.push({ path, text });
      path = `${file}.after-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
    }
    if (!(await linkInto(path, JSON.stringify(claim)))) continue;
    const isUnchanged = await Promise.all(dead.map(async ({ path, text }) => (await read(path)) === text));
    if (isUnchanged.every(Boolean)) {
      if (path !== file) await rename(path, file);
      await removeStaleFiles(dataDir);
      return { kind: 'owned', ownership: ownershipOf(file, claim) };
    }
    await rm(path, { force: true });
  }
}

function ownershipOf(file: string, claim: Owner & { readonly token: string }) {
  return {
    /** Publishes the PostgreSQL port to other processes. */
    async publishPort(port: number): Promise<void> {
      const next = temporary(file);
      await writeFile(next, JSON.stringify({ ...claim, port }), { mode: 0o600 });
      await rename(next, file);
    },
    /** Releases the folder, unless another process has taken it over. */
    async release(): Promise<void> {
      const isOurs = (await read(file))?.includes(claim.token) ?? false;
      if (isOurs) await rm(file, { force: true });
    },
  };
}

/** Creates the file with its content in one step. Returns false if the file exists. */
async function linkInto(file: string, content: string): Promise<boolean> {
  const next = temporary(file);
  await writeFile(next, content, { mode: 0o600, flag: 'wx' });
  try {
    await link(next, file);
    return true;
  } catch (error) {
    const code = codeOf(error);
    // ENOENT: the new owner removed the temporary file before it was linked.
    if (code === 'EEXIST' || code === 'ENOENT') return false;
    throw error;
  } finally {
    await rm(next, { force: true });
  }
}

/** Removes the files of claimants that lost or were killed. These files can no longer become claims. */
async function removeStaleFiles(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (name.startsWith(`${fileName}.`)) await rm(join(dataDir, name), { force: true });
  }
}

function temporary(file: string): string {
  return `${file}.${randomBytes(6).toString('hex')}`;
}

async function read(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Parses an owner file. Returns null for a damaged file, for example, after a power failure; the writer of such a file
 * cannot be running.
 */
function parse(text: string): Owner | null {
  try {
    return ownerSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

// The data folder: owner.json (the owner), postgres/ (the cluster), postgres.log (the log since the last start).

/** The cluster's folder inside a data folder. */
export function clusterOf(dataDir: string): string {
  return join(dataDir, 'postgres');
}

/**
 * Creates the folder if it does not exist. Returns its absolute path.
 * @throws RecalldError `data_dir_unusable` if the path does not lead to a writable folder.
 */
export async function prepareDataDir(dataDir: string): Promise<string> {
  const path = resolve(dataDir);
  try {
    // When recalld runs as root, the database runs as another user.
    // On some systems, that user must be able to traverse the folder.
    await makeFolder(path, isRoot() ? 0o711 : 0o700);
    if (!(await stat(path)).isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw explained(path, error);
  }
  return path;
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission to write to it',
  EPERM: 'the system does not permit the operation for this user',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its disk is full',
  EDQUOT: 'the disk quota of this user is exhausted',
  EEXIST: 'a file with that name exists',
  ENOTDIR: 'it, or part of its path, is a file instead of a folder',
  ENAMETOOLONG: 'its path is too long',
  ELOOP: 'its path has a loop of symbolic links',
  EINVAL: 'the system cannot make the database user the owner of the files in it',
  EIO: 'its disk reports errors',
  // The SQLSTATE that PostgreSQL reports for ENOSPC.
  '53100': 'its disk is full',
};

/** Converts a file system error into a data folder error; returns any other error unchanged. */
export function explained(dataDir: string, error: unknown): unknown {
  const reason = reasons[codeOf(error)];
  return reason === undefined ? error : unusable(dataDir, reason, error);
}

/** Returns the error for an unusable data folder, with the reason and the fix. */
export function unusable(dataDir: string, reason: string, cause?: unknown): RecalldError {
  return new RecalldError(
    'data_dir_unusable',
    `The data folder ${dataDir} cannot be used: ${reason}. Fix this, or set storage.data_dir to another folder.`,
    { cause },
  );
}

/** The PostgreSQL log in the data folder. The file is emptied at each start, so that it stays small. */
export type ServerLog = Awaited<ReturnType<typeof openServerLog>>;

/**
 * Opens and empties the log. PostgreSQL inherits the open file descriptor, so its account needs no permission for the
 * file.
 */
export async function openServerLog(dataDir: string) {
  const path = join(dataDir, 'postgres.log');
  const handle = await open(path, 'a', 0o600);
  await handle.truncate(0);
  const last = async (pattern: RegExp) => {
    const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n').filter((line) => line.trim() !== '');
    const line = lines.findLast((each) => pattern.test(each)) ?? lines.at(-1) ?? 'nothing';
    return line.replace(/^.*?\b(FATAL|PANIC|LOG|HINT):\s*/, '').trim();
  };
  return {
    path,
    descriptor: handle.fd,
    /** Returns the last line, without the time and process id. */
    lastLine: (): Promise<string> => last(/./),
    /** Returns the last line that reports an error; if there is none, the last line. */
    lastError: (): Promise<string> => last(/\b(FATAL|PANIC|error):/),
    close: (): Promise<void> => handle.close(),
  };
}
