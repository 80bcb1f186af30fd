import { access, constants, mkdir, open, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { RecalldError } from '../../errors.ts';
import { isRoot } from './account.ts';
import { errorCode } from './system-error.ts';

// The data folder: owner.json (who owns it), postgres/ (the cluster), postgres.log (what PostgreSQL said since its
// last start).

/** Folder of the cluster inside a data folder. */
export function clusterOf(dataDir: string): string {
  return join(dataDir, 'postgres');
}

/**
 * Makes the folder if need be and returns its absolute path.
 * @throws RecalldError `data_dir_unusable` if it is no folder or not ours to write.
 */
export async function prepareDataDir(dataDir: string): Promise<string> {
  const path = resolve(dataDir);
  try {
    // Under root the database has another user, who on some systems must be able to pass through.
    await mkdir(path, { recursive: true, mode: isRoot() ? 0o711 : 0o700 });
    if (!(await stat(path)).isDirectory())
      throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw explained(path, error);
  }
  return path;
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write to it',
  EPERM: 'the system forbids it to this user',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its disk is full',
  EDQUOT: 'the disk quota of this user is used up',
  EEXIST: 'a file of that name is in the way',
  ENOTDIR: 'it, or a part of its path, is a file and not a folder',
  ENAMETOOLONG: 'its path is too long',
  ELOOP: 'its path has a loop of symbolic links',
  EINVAL: 'the system cannot give its files to the user of the database',
  EIO: 'its disk reports errors',
  // PostgreSQL's name for ENOSPC.
  '53100': 'its disk is full',
};

/** An error of the file system as one about the data folder; any other error as it is. */
export function explained(dataDir: string, error: unknown): unknown {
  const reason = reasons[errorCode(error) ?? ''];
  return reason === undefined ? error : unusable(dataDir, reason, error);
}

/** The error that says why a data folder cannot be used, and the way out. */
export function unusable(dataDir: string, reason: string, cause?: unknown): RecalldError {
  return new RecalldError(
    'data_dir_unusable',
    `The data folder ${dataDir} cannot be used: ${reason}. Mend that, or set storage.data_dir to another folder.`,
    { cause },
  );
}

/** What PostgreSQL prints, in a file of the data folder that starts empty with each start so that it stays small. */
export interface ServerLog {
  readonly path: string;
  readonly descriptor: number;
  /** The last line, without time and process id. */
  lastLine(): Promise<string>;
  /** The last line that tells of an error, or else the last line. */
  lastError(): Promise<string>;
  close(): Promise<void>;
}

/** Opens the log empty. The account of PostgreSQL needs no right to the file: it inherits the open descriptor. */
export async function openServerLog(dataDir: string): Promise<ServerLog> {
  const path = join(dataDir, 'postgres.log');
  const handle = await open(path, 'a', 0o600);
  await handle.truncate(0);
  const last = async (pattern: RegExp) => {
    const lines = (await readFile(path, 'utf8').catch(() => ''))
      .split('\n')
      .filter((line) => line.trim() !== '');
    const line = lines.findLast((each) => pattern.test(each)) ?? lines.at(-1) ?? 'nothing';
    return line.replace(/^.*?\b(FATAL|PANIC|LOG|HINT):\s*/, '').trim();
  };
  return {
    path,
    descriptor: handle.fd,
    lastLine: () => last(/./),
    lastError: () => last(/\b(FATAL|PANIC|error):/),
    close: () => handle.close(),
  };
}
