/** Installs stores from package registries, and starts them on this machine. */
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { virtualEnvironment, workshop } from '../virtual-environment.ts';

export const run = promisify(execFile);

/** Returns the folder of a virtual environment with the newest versions of these packages from PyPI. */
export async function pythonPackages(...packages: readonly string[]): Promise<string> {
  return path.dirname(path.dirname(await virtualEnvironment(packages)));
}

export async function pythonVersion(folder: string, name: string): Promise<string> {
  const program = 'import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))';
  const { stdout } = await run(path.join(folder, 'bin/python'), ['-c', program, name]);
  return stdout.trim();
}

/** Returns a folder with the jars that `name`/pom.xml lists, and with their dependencies. */
export async function javaPackages(name: string): Promise<string> {
  const jars = path.join(workshop, name);
  const pom = path.join(import.meta.dirname, name, 'pom.xml');
  await run('mvn', ['--quiet', '--batch-mode', `-Djars=${jars}`, '--file', pom, 'package']);
  return jars;
}

/** Returns the version in the file name of the jar `name`. */
export function jarVersion(jars: string, name: string): string {
  return readdirSync(jars)
    .flatMap((file) => file.match(String.raw`^${name}-(\d.*)\.jar$`)?.[1] ?? [])
    .join(', ');
}

/** Creates an empty folder for a server that refuses to run as root; `as` is the user to run the server as. */
export async function serverFolder(): Promise<{
  readonly folder: string;
  readonly as: Pick<SpawnOptions, 'uid' | 'gid'>;
}> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-store-'));
  if (process.getuid?.() !== 0) return { folder, as: {} };
  const unprivilegedId = 65_534;
  await chown(folder, unprivilegedId, unprivilegedId);
  await chmod(folder, 0o700);
  return { folder, as: { uid: unprivilegedId, gid: unprivilegedId } };
}

/** Stops a server, and removes its folder. */
export async function stopServer(server: ChildProcess, folder: string): Promise<void> {
  if (server.exitCode === null && server.signalCode === null) {
    const exited = once(server, 'exit');
    server.kill('SIGINT');
    await exited;
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
}

export interface StartedServer {
  /** Rejects if the server ends unexpectedly. */
  readonly failed: Promise<never>;
  readonly stop: () => Promise<void>;
}

/** Starts a server in an empty folder. */
export async function startServer(
  program: string,
  args: (folder: string) => readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<StartedServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-store-'));
  const server = spawn(program, args(folder), {
    stdio: ['ignore', 'ignore', 'inherit'],
    cwd: folder,
    env: { ...process.env, ...env },
  });
  const failed = once(server, 'exit').then(([code]): never => {
    throw new Error(`${program} ended with ${code}`);
  });
  failed.catch(() => undefined);
  return { failed, stop: () => stopServer(server, folder) };
}
