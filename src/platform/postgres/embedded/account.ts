import { chmod, lchown, lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RecalldError } from '../../../core/errors.ts';

// PostgreSQL refuses to run as root. When recalld does, the database runs as another user of the system.

/** The user as whom PostgreSQL runs when that is not the user of this process. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
}

/** Whether this process must hand PostgreSQL to another user. */
export function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

/**
 * The account for the cluster in that folder: null (our own) unless this process is root, else the owner of the
 * cluster if there is one, else `postgres` or `nobody`, whichever the system has. Users are never created.
 * @throws RecalldError `embedded_database_failed` if the system has none of them.
 */
export async function databaseAccount(cluster: string): Promise<Account | null> {
  if (!isRoot()) return null;
  const users = await systemUsers();
  const owner = await lstat(cluster).catch(() => null);
  if (owner !== null && owner.uid !== 0) {
    const name = users.find((user) => user.uid === owner.uid)?.name ?? `user ${owner.uid}`;
    return { uid: owner.uid, gid: owner.gid, name };
  }
  for (const name of ['postgres', '_postgres', 'nobody']) {
    const account = users.find((user) => user.name === name && user.uid !== 0);
    if (account !== undefined) return account;
  }
  throw new RecalldError(
    'embedded_database_failed',
    'PostgreSQL refuses to run as root, and this system has no user "postgres" or "nobody" to run it as:' +
      ' start recalld as a normal user, or set storage.url to a PostgreSQL server of your own.',
  );
}

/** Gives a cluster, and nothing outside it, to the account, with the rights that PostgreSQL asks for. */
export async function handOver(cluster: string, account: Account | null): Promise<void> {
  const { uid, mode } = await lstat(cluster);
  if (account !== null && uid !== account.uid) await chownTree(cluster, account);
  if ((mode & 0o027) !== 0) await chmod(cluster, 0o700);
}

async function chownTree(path: string, account: Account): Promise<void> {
  await lchown(path, account.uid, account.gid);
  if (!(await lstat(path)).isDirectory()) return;
  for (const name of await readdir(path)) await chownTree(join(path, name), account);
}

async function systemUsers(): Promise<Account[]> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}

/** Code of an error of the system (`ENOENT`) or of PostgreSQL (`3D000`); undefined for any other error. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
