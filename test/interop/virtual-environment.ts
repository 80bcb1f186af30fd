/** Creates Python virtual environments with the newest versions of distributions from PyPI. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** This folder is outside the repository, because the paths of programs appear in the stack traces of their spans. */
export const workshop = path.join(tmpdir(), 'recalld-interop');

/**
 * Returns the interpreter. Callers with the same distributions share an environment; the first caller installs them.
 */
export async function virtualEnvironment(names: readonly string[]): Promise<string> {
  const distributions = [...new Set(names)].toSorted();
  const folder = path.join(workshop, createHash('sha256').update(distributions.join(' ')).digest('hex').slice(0, 12));
  const python = path.join(folder, 'bin/python');
  const uv = await installedUv();
  if (!existsSync(python)) await run(uv, ['venv', '--quiet', '--seed', '--python', 'python3', folder]);
  await run(uv, ['pip', 'install', '--quiet', '--python', python, ...distributions]);
  return python;
}

/**
 * Returns the path of uv. If a tracing library pins its dependencies, pip downloads old versions one by one for more
 * than twenty minutes; uv reads only their metadata, and downloads one version.
 */
async function installedUv(): Promise<string> {
  const folder = path.join(workshop, 'uv');
  const program = path.join(folder, 'bin/uv');
  if (existsSync(program)) return program;
  await mkdir(workshop, { recursive: true });
  // Several test files install uv at the same time, and none may run an incomplete installation.
  const staged = await mkdtemp(`${folder}-`);
  await run('python3', ['-m', 'venv', staged]);
  await run(path.join(staged, 'bin/python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', 'uv']);
  await rename(staged, folder).catch(() => rm(staged, { recursive: true, force: true }));
  return program;
}
