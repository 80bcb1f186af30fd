import { chmod, lchown, lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RecalldError } from '../../../core/errors.ts';

// PostgreSQL refuses to run as root. If recalld runs as root, the database runs as another system user.

/** The user that PostgreSQL runs as, if it differs from this process's user. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
}

/** True if PostgreSQL must run as another user. */
export function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

/**
 * Returns the account for the cluster in a folder. The account is null (the current user) unless this process runs as
 * root. For root, the account is the owner of the existing cluster or, if there is no cluster, the system user
 * `postgres` or `nobody`. Never creates users.
 * @throws RecalldError `embedded_database_failed` if neither user exists.
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
    'PostgreSQL refuses to run as root, and this system has no user "postgres" or "nobody":' +
      ' start recalld as a normal user, or set storage.url to a PostgreSQL server of your own.',
  );
}

/**
 * Makes the account the owner of a cluster, but of nothing outside it, and sets the file modes that PostgreSQL
 * requires.
 */
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
