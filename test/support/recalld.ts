/**
 * The program as a user runs it, in a folder of its own.
 *
 *   const folder = await aFolder({ 'recalld.yaml': '...', 'faq.csv': '...' });
 *   const result = await runRecalld(['golden', 'list', '--json'], folder);      // {code, stdout, stderr}
 *   const daemon = await startRecalld(['serve'], folder);                       // resolves when it says it is ready
 *   await daemon.stop();                                                        // SIGTERM, then its exit code
 *
 * Most tests need no database embedded in their folder, and take an installation (installation.ts).
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

/** A file of the program: of its bundle (bundle-program.ts), or as it was built. */
const fileOf = (name: string): string =>
  isBundled ? path.join(inject('program'), `${name}.mjs`) : path.join(built, `${name}.js`);

/** What `recalld` runs. */
export const programFile = (): string => fileOf('main');

/** For a file that shows that the program runs as it was built, too. */
export function runAsBuilt(): void {
  const before = isBundled;
  beforeAll(() => {
    isBundled = false;
  });
  afterAll(() => {
    isBundled = before;
  });
}

/** Registers what is to be done when a test ends; a file that shares a daemon between its tests has its own. */
export type AtEnd = (clean: () => Promise<void>) => void;

/**
 * A temporary folder with files; removed when the test ends. Where its config takes the embedded database, that is set
 * up already; see program-setup.ts.
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

/** A connection to the embedded database of a running daemon, as its own commands find it. */
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
 * Runs a command to its end: in this process, since to start one takes longer than most commands do. What goes on
 * until it is stopped is a process; `spawnRecalld` is for whoever means the process, its signals and its end.
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

/** Commands share the process, and take turns with it. */
let lastCommand: Promise<unknown> = Promise.resolve();

/** As src/cli/main.ts does, with what it writes and how it ends told rather than done. */
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

/** Keeps what is written to a stream from it, until the end, which tells it. */
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

/** Starts a command without waiting; killed when the test ends, in case it is still there. */
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
  /** Stops in order and tells how it ended. */
  stop(): Promise<Finished>;
}

/** Starts `serve` and waits for its own word that it is ready. */
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

/** The JSON lines of a log; other lines are left out. */
export function logLines(text: string): Record<string, unknown>[] {
  return text.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as Record<string, unknown>];
    } catch {
      return [];
    }
  });
}

/** Pids of all processes that descend from `pid`, by what /proc says now. */
export function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = parentOf(Number(entry));
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const collect = (root: number): number[] => (children.get(root) ?? []).flatMap((child) => [child, ...collect(child)]);
  return collect(pid);
}

/** Whether the process exists and is no zombie. */
export function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

function parentOf(pid: number): number | null {
  try {
    // The name in brackets may hold anything; the parent is the second field behind it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(fields[1]);
  } catch {
    return null;
  }
}

/** The tests shall not see the settings of whoever runs them. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('RECALLD_')));
}

/** Value of one series on a page of /metrics; undefined when it is not there. */
export function seriesValue(metrics: string, series: string): number | undefined {
  const line = metrics.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

/** How to reach the embedded database of a running daemon, as its own commands find it. */
export function embeddedConnection(folder: string) {
  const owner = readFileSync(path.join(folder, '.recalld/owner.json'), 'utf8');
  const { port } = JSON.parse(owner) as { port: number };
  const password = readFileSync(path.join(folder, '.recalld/postgres/recalld.password'), 'utf8').trim();
  return { host: '127.0.0.1', port, user: 'recalld', password, database: 'recalld' };
}
