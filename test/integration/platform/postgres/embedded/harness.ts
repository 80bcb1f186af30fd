import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import type { Connection } from '../../../../../src/platform/postgres/embedded/open.ts';
import { waitFor } from '../../../../support/wait-for.ts';

// Helpers shared by tests of the embedded database: folders, other processes that open the database, and lists of
// running processes.

export const isRoot = process.geteuid?.() === 0;

const script = fileURLToPath(new URL('./opener.ts', import.meta.url));

/** A user without privileges that exists on every system. */
export const nobody = { uid: 65_534, gid: 65_534 };

/** True if this process can start processes as `nobody`, and those processes can read this program. */
export const nobodyCanRunOpeners =
  isRoot && spawnSync('/bin/sh', ['-c', '"$0" --version && cat "$1"', process.execPath, script], nobody).status === 0;

const folders: string[] = [];
const openers: ChildProcess[] = [];

/** Creates an empty folder that `cleanUp` removes. */
export async function temporaryFolder(): Promise<string> {
  const folder = realpathSync(await mkdtemp(join(tmpdir(), 'recalld-test-')));
  folders.push(folder);
  return folder;
}

/** Ends the running processes that opened databases, and waits until they have exited. */
export async function endOpeners(): Promise<void> {
  for (const child of openers.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }
}

/** Ends the processes that opened databases, waits until the databases have stopped, and removes the folders. */
export async function cleanUp(): Promise<void> {
  await endOpeners();
  for (const folder of folders.splice(0)) {
    await waitFor(() => processesIn(folder).length === 0);
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/**
 * Ids of the processes whose working directory is the folder or a folder below it: the guardian, PostgreSQL and its
 * children. The list is empty if the system does not show working directories; tests that need the list check
 * `canSeeProcesses`.
 */
export function processesIn(folder: string): number[] {
  return (canSeeProcesses ? readdirSync('/proc') : [])
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const cwd = readlinkSync(`/proc/${pid}/cwd`);
        return cwd === folder || cwd.startsWith(`${folder}/`);
      } catch {
        return false;
      }
    });
}

/**
 * True if /proc shows the working directories of processes, which these tests use to find remaining processes.
 */
export const canSeeProcesses = existsSync('/proc/self/cwd');

interface Report {
  readonly event: string;
  readonly code?: string;
  readonly message?: string;
  readonly port?: number;
  readonly startedHere?: boolean;
  readonly done?: boolean;
}

/** Another process that opens a database; see opener.ts. */
export interface Opener {
  readonly pid: number;
  /** Resolves with the first report of the kind `event`; rejects if the process ends without such a report. */
  report(event: string): Promise<Report>;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** All output on stderr so far, including any stack traces. */
  stderr(): string;
  /** Sends a signal to the whole process group, as a terminal does. */
  signalGroup(name: NodeJS.Signals): void;
  kill(name: NodeJS.Signals): void;
}

export interface OpenerOptions {
  readonly purpose?: 'daemon' | 'command';
  readonly manner?: 'stay' | 'leave' | 'forget';
  readonly uid?: number;
  readonly gid?: number;
  readonly cwd?: string;
  /** Words that precede `node` in the command line. */
  readonly prefix?: readonly string[];
}

export function startOpener(dataDir: string, options: OpenerOptions = {}): Opener {
  const { purpose = 'daemon', manner = 'stay', uid, gid, cwd, prefix = [] } = options;
  const words = [...prefix, process.execPath, '--import', import.meta.resolve('tsx'), script, dataDir, purpose, manner];
  const child = spawn(words[0] ?? process.execPath, words.slice(1), {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  });
  openers.push(child);
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const reports: Report[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const report: Report = JSON.parse(line);
    reports.push(report);
  });
  const exited = once(child, 'close').then(([code, signal]: (number | NodeJS.Signals | null)[]) => ({
    code: typeof code === 'number' ? code : null,
    signal: typeof signal === 'string' ? signal : null,
  }));
  let closed = false;
  child.on('close', () => {
    closed = true;
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('The opener did not start.');
  return {
    pid,
    exited,
    stderr: () => stderr,
    signalGroup: (name) => process.kill(-pid, name),
    kill: (name) => process.kill(pid, name),
    async report(event) {
      const find = () => reports.find((each) => each.event === event);
      const found = await waitFor(() => find() ?? closed);
      if (found !== true) return found;
      throw new Error(`The opener ended without ${event}: ${JSON.stringify(reports)} ${stderr}`);
    },
  };
}

/** Runs one statement and returns its rows. */
export async function query(connection: Connection, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client(connection);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
