/** Child processes of a benchmark: the installed daemon, and small servers with which the daemon is compared. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

export const program = path.resolve(import.meta.dirname, '../../dist/cli/main.js');

export interface Server {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface Daemon extends Server {
  readonly folder: string;
  /** Time from the start of the process until it reports that it is ready. */
  readonly startMs: number;
}

/** Runs `work` with a temporary folder, and then deletes the folder. */
export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(path.join(tmpdir(), 'recalld-bench-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * Starts `recalld serve` in a temporary folder, runs the work, and stops the daemon.
 *
 * @param nodeOptions Node.js options for the daemon process
 */
export async function withDaemon<T>(
  config: string,
  work: (daemon: Daemon) => Promise<T>,
  nodeOptions: readonly string[] = [],
): Promise<T> {
  return withFolder(async (folder) => {
    writeFileSync(path.join(folder, 'recalld.yaml'), config);
    const daemon = await startDaemon(folder, nodeOptions);
    try {
      return await work(daemon);
    } finally {
      await daemon.stop();
    }
  });
}

export async function startDaemon(folder: string, nodeOptions: readonly string[] = []): Promise<Daemon> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...nodeOptions, program, 'serve'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const url = await urlFrom(child, child.stderr, (line) => {
    // Node.js itself may print warnings in another format.
    if (!line.startsWith('{')) return undefined;
    const { msg, url: ready } = JSON.parse(line) as { msg?: string; url?: string };
    return msg === 'recalld is ready' ? ready : undefined;
  });
  return { ...serverOf(child, url), folder, startMs: performance.now() - startedAt };
}

/** Starts a script in this folder that prints its URL. */
export async function startScript(name: string, ...args: readonly string[]): Promise<Server> {
  const child = spawn(process.execPath, ['--import', 'tsx', path.join(import.meta.dirname, name), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return serverOf(child, await urlFrom(child, child.stdout, (line) => line));
}

/** Runs a command and waits for it to exit. @throws Error with the command's stderr if it fails */
export async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

/** Connection settings for a daemon's embedded database. */
export function databaseOf({ folder }: Daemon) {
  const { port } = JSON.parse(readFileSync(path.join(folder, '.recalld/owner.json'), 'utf8')) as {
    port: number;
  };
  const password = readFileSync(path.join(folder, '.recalld/postgres/recalld.password'), 'utf8').trim();
  return { host: '127.0.0.1', port, user: 'recalld', password, database: 'recalld' };
}

function serverOf(child: ChildProcess, url: string): Server {
  return {
    url,
    pid: child.pid ?? 0,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function urlFrom(
  child: ChildProcess,
  output: NodeJS.ReadableStream,
  read: (line: string) => string | undefined,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const last: string[] = [];
    child.once('exit', (code) => reject(new Error(`A server ended with ${code}: ${last.join('\n')}`)));
    createInterface({ input: output }).on('line', (line) => {
      last.push(line);
      if (last.length > 10) last.shift();
      const url = read(line);
      if (url !== undefined) resolve(url);
    });
  });
}
