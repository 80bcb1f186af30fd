/** Builds the Python client, and runs it in the servers, workers and frameworks that it supports. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { programFile } from '../../support/recalld.ts';
import { virtualEnvironment } from '../virtual-environment.ts';

const tools = ['build', 'mypy', 'pandas-stubs', 'django-stubs', 'pytest', 'twine', 'vermin'];
const servers = ['celery', 'django', 'fastapi', 'gunicorn', 'uvicorn', 'uvicorn-worker'];
const libraries = ['ipykernel', 'langchain-classic', 'langchain-core', 'llama-index-core', 'nbclient', 'pandas'];

let python: string;
let folder: string;
let wheel: string;

/** Runs a module in a copy of the client. If the module fails, the error contains its output. */
async function run(interpreter: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const settings = { cwd: folder, env: { ...process.env, NO_PROXY: '*', ...env }, maxBuffer: 1e8 };
  return promisify(execFile)(interpreter, args, settings).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`${args.join(' ')} failed:\n${error.stdout}\n${error.stderr}`);
  });
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'recalld-python-client-'));
  await cp(path.resolve(import.meta.dirname, '../../../clients/python'), folder, { recursive: true });
  python = await virtualEnvironment([...tools, ...servers, ...libraries]);
  await run(python, ['-m', 'build', '--outdir', 'dist']);
  const built = await readdir(path.join(folder, 'dist'));
  wheel = path.join(folder, 'dist', built.find((name) => name.endsWith('.whl')) ?? '');
});

afterAll(() => rm(folder, { recursive: true, force: true }));

it('the Python client builds a wheel that PyPI accepts and that installs without other packages', async () => {
  await run(python, [
    '-m',
    'twine',
    'check',
    '--strict',
    ...(await readdir(path.join(folder, 'dist'))).map((name) => `dist/${name}`),
  ]);
  const fresh = path.join(folder, 'fresh');
  await run('python3', ['-m', 'venv', fresh]);
  const own = path.join(fresh, 'bin/python');
  await run(own, ['-m', 'pip', 'install', '--quiet', '--no-index', wheel]);
  // -I prevents Python from importing the copied sources.
  const script =
    'import pathlib, recalld; print(recalld.__file__, (pathlib.Path(recalld.__file__).parent / "py.typed").exists())';
  const { stdout } = await run(own, ['-I', '-c', script]);
  expect(stdout).toMatch(/site-packages.* True\n$/);
});

it('the Python client passes mypy in strict mode, and supports Python 3.9', async () => {
  for (const args of [
    ['mypy', '--strict', 'recalld', 'tests'],
    ['mypy', '--strict', '--exclude', 'programs/', 'integration'],
  ])
    await expect(run(python, ['-m', ...args])).resolves.toBeDefined();
  // vermin runs as a program, because version 1.9 cannot run as a module: it has no `__main__`.
  const vermin = path.join(path.dirname(python), 'vermin');
  const args = ['--target=3.9-', '--eval-annotations', '--violations', 'recalld'];
  await expect(run(vermin, args)).resolves.toBeDefined();
});

it('the Python client passes its integration tests with real servers, workers and frameworks', async () => {
  await run(python, ['-m', 'pip', 'install', '--quiet', '--force-reinstall', '--no-deps', wheel]);
  const env = { RECALLD_COMMAND: `${process.execPath} ${programFile()}`, RECALLD_EXAMPLES: path.resolve('examples') };
  // Runs in a separate folder, so that the installed wheel is tested rather than the sources next to it.
  const pytest = ['-I', '-m', 'pytest', '-q', '--tb=short', '-p', 'no:cacheprovider', 'integration'];
  await expect(run(python, pytest, env)).resolves.toBeDefined();
});
