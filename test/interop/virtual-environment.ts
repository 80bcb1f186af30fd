/** Virtual environments of Python with distributions from PyPI, in their newest versions. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Outside the repository, because the paths of programs appear in the stack traces of their spans. */
export const workshop = path.join(tmpdir(), 'recalld-interop');

/** Returns the interpreter. Callers with the same distributions share an environment; the first one installs them. */
export async function virtualEnvironment(names: readonly string[]): Promise<string> {
  const distributions = [...new Set(names)].toSorted();
  const folder = path.join(workshop, createHash('sha256').update(distributions.join(' ')).digest('hex').slice(0, 12));
  const python = path.join(folder, 'bin/python');
  await mkdir(workshop, { recursive: true });
  if (!existsSync(path.join(folder, 'bin/pip'))) await run('python3', ['-m', 'venv', folder]);
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...distributions]);
  return python;
}
