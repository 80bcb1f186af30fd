/** Folders with packages from npm, in the newest compatible versions. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { workshop } from './virtual-environment.ts';

const run = promisify(execFile);

/** Returns a folder in which modules find the packages. Callers with the same packages share the folder. */
export async function npmFolder(names: readonly string[]): Promise<string> {
  const packages = [...new Set(names)].toSorted();
  const folder = path.join(workshop, createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 12));
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ private: true }));
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  await run('npm', ['install', ...flags, '--prefix', folder, ...packages], { cwd: folder });
  return folder;
}
