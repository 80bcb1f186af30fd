/**
 * Runs the program as a user runs it, in a separate folder.
 *
 *   const folder = await aFolder({ 'recalld.yaml': '...', 'faq.csv': '...' });
 *   const result = await runRecalld(['golden', 'list', '--json'], folder);      // {code, stdout, stderr}
 *   const daemon = await startRecalld(['serve'], folder);                       // resolves when it is ready
 *   await daemon.stop();                                                        // SIGTERM, then its exit code
 *
 * Most tests need no embedded database in their folder and use an installation (installation.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, inject, onTestFinished } from 'vitest';
import type * as conclusion from '../../src/cli/exit.ts';
import type * as program from '../../src/cli/program.ts';
import { copyFolder } from './copy-folder.ts';
import { waitFor } from './wait-for.ts';

const built = path.resolve(import.meta.dirname, '../../dist/cli');
let isBundled = process.env['VITEST'] !== undefined;

/** A program file: from the bundle (bundle-program.ts), or from the build. */
const fileOf = (name: string): string =>
  isBundled ? path.join(inject('program'), `${name}.mjs`) : path.join(built, `${name}.js`);

/** Path of the file that the command `recalld` runs. */
export const programFile = (): string => fileOf('main');

/** Makes the tests in a file run the built program in `dist` instead of the bundle. */
export function runAsBuilt(): void {
  const before = isBundled;
  beforeAll(() => {
    isBundled = false;
  });
  afterAll(() => {
    isBundled = before;
  });
}

/** Registers a cleanup for the end of a test; a file that shares a daemon between its tests passes another function. */
export type AtEnd = (clean: () => Promise<void>) => void;

/**
 * A temporary folder with files, removed when the test ends. If the config in the folder uses the embedded database,
 * that database is already set up; see program-setup.ts.
 */
export async function aFolder(
  files: Readonly<Record<string, string>> = {},
  atEnd: AtEnd = onTestFinished,
): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-e2e-'));
  atEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  await Promise.all(Object.entries(files).map(([name, content]) => writeFile(path.join(folder, name), content)));
  const config = files['recalld.yaml'];
  if (config !== undefined && !/^storage: *\{[^}]/m.test(config)) {
    await copyFolder(inject('dataFolder'), path.join(folder, '.recalld'));
  }
  return folder;
}

/** A connection to a running daemon's embedded database, found in the same way as recalld's commands find it. */
export async function aDatabase(folder: string, atEnd: AtEnd = onTestFinished): Promise<Client> {
  const client = new Client(embeddedConnection(folder));
  client.on('error', () => undefined);
  await client.connect();
  atEnd(() => client.end());
  return client;
}

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a command to completion in this process, because starting a process takes longer than most commands. Commands
 * that run until they are stopped get a separate process; `spawnRecalld` is for tests of the process, its signals
 * and its exit.
 */
export async function runRecalld(
  args: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>> = {},
  atEnd: AtEnd = onTestFinished,
): Promise<Finished> {
  if (['serve', 'demo'].includes(args[0] ?? '')) return spawnRecalld(args, folder, env, atEnd).finished;
  const finished = lastCommand.then(() => runHere(args, folder, { ...cleanEnvironment(), ...env }));
  lastCommand = finished.catch(() => undefined);
  return finished;
}

/** Commands share the process, and run one at a time. */
let lastCommand: Promise<unknown> = Promise.resolve();

/** Runs a command as src/cli/main.ts does, but captures the output and the exit code. */
async function runHere(args: readonly string[], folder: string, env: NodeJS.ProcessEnv): Promise<Finished> {
  const { createProgram } = (await import(fileOf('program'))) as typeof program;
  const { reportError } = (await import(fileOf('exit'))) as typeof conclusion;
  const before = { folder: process.cwd(), env: process.env, exitCode: process.exitCode };
  const [stdout, stderr] = [listenTo(process.stdout), listenTo(process.stderr)];
  process.chdir(folder);
  process.env = env;
  process.exitCode = undefined;
  let code: number;
  try {
    const commands = await createProgram(args, new AbortController().signal);
    await commands.parseAsync([...args], { from: 'user' });
    code = process.exitCode ?? 0;
  } catch (error) {
    code = reportError(error);
  } finally {
    process.exitCode = before.exitCode;
    process.env = before.env;
    process.chdir(before.folder);
  }
  return { code, signal: null, stdout: stdout.end(), stderr: stderr.end() };
}

/** Captures the text that is written to a stream; `end` returns this text. */
function listenTo(stream: NodeJS.WriteStream): { end(): string } {
  const write = stream.write.bind(stream);
  let heard = '';
  stream.write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    heard += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
    const callback = rest.find((one) => typeof one === 'function') as (() => void) | undefined;
    if (callback !== undefined) process.nextTick(callback);
    return true;
  };
  return {
    end() {
      stream.write = write;
      return heard;
    },
  };
}

export interface Running {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

/** Starts a command without waiting for it to end. Kills the command if it is still running when the test ends. */
export function spawnRecalld(
  args: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>> = {},
  atEnd: AtEnd = onTestFinished,
): Running {
  const child = spawn(process.execPath, [programFile(), ...args], {
    cwd: folder,
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString('utf8');
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  const finished = new Promise<Finished>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  atEnd(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await finished;
  });
  return { pid: child.pid ?? 0, child, finished, stdout: () => stdout, stderr: () => stderr };
}

export interface Daemon extends Running {
  readonly url: string;
  /** Shuts the daemon down cleanly. Returns the exit code and output of the daemon. */
  stop(): Promise<Finished>;
}

/** Starts `serve` and waits until it reports that it is ready. */
export async function startRecalld(
  args: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>> = {},
  atEnd: AtEnd = onTestFinished,
): Promise<Daemon> {
  const running = spawnRecalld(args, folder, env, atEnd);
  const url = await waitFor(
    () => {
      if (running.child.exitCode !== null) throw new Error(`the daemon ended: ${running.stderr()}`);
      return logLines(running.stderr()).find((line) => line['msg'] === 'recalld is ready')?.['url'] as
        | string
        | undefined;
    },
    { timeoutMs: 120_000 },
  );
  return {
    ...running,
    url,
    stop() {
      running.child.kill('SIGTERM');
      return running.finished;
    },
  };
}

/** The JSON lines in a log; other lines are omitted. */
export function logLines(text: string): Record<string, unknown>[] {
  return text.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as Record<string, unknown>];
    } catch {
      return [];
    }
  });
}

/** Pids of all descendants of `pid`, according to /proc. */
export function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = parentOf(Number(entry));
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const collect = (root: number): number[] => (children.get(root) ?? []).flatMap((child) => [child, ...collect(child)]);
  return collect(pid);
}

/** True if the process exists and is not a zombie. */
export function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

function parentOf(pid: number): number | null {
  try {
    // The process name, in parentheses, may contain any character; the parent's id is the second field after the name.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(fields[1]);
  } catch {
    return null;
  }
}

/** Tests must not see the settings of the person who runs them. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('RECALLD_')));
}

/** Value of one series on a /metrics page; undefined if it is missing. */
export function seriesValue(metrics: string, series: string): number | undefined {
  const line = metrics.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

/** Connection options for a running daemon's embedded database, found in the same way as recalld's commands find it. */
export function embeddedConnection(folder: string) {
  const owner = readFileSync(path.join(folder, '.recalld/owner.json'), 'utf8');
  const { port } = JSON.parse(owner) as { port: number };
  const password = readFileSync(path.join(folder, '.recalld/postgres/recalld.password'), 'utf8').trim();
  return { host: '127.0.0.1', port, user: 'recalld', password, database: 'recalld' };
}
