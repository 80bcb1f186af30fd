import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { commandLine, processState, sendSignal } from './processes.ts';

// Reads postmaster.pid, which PostgreSQL keeps in its cluster, and ends a server that has lost its owner.

/** What PostgreSQL says about itself in postmaster.pid. */
export interface PostmasterFile {
  readonly text: string;
  readonly pid: number;
  readonly port: number;
  /** Whether it accepts connections. A file left by a crash may say so, too. */
  readonly ready: boolean;
}

/** The file as it stands, or null if there is none. */
export async function readPostmasterFile(cluster: string): Promise<PostmasterFile | null> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => null);
  if (text === null) return null;
  const lines = text.split('\n');
  return {
    text,
    pid: Math.abs(Number.parseInt(lines[0] ?? '', 10)),
    port: Number.parseInt(lines[3] ?? '', 10),
    ready: (lines[7] ?? '').startsWith('ready'),
  };
}

/** Process id of the server that runs on this very cluster, or null. */
export async function runningPostmaster(cluster: string): Promise<number | null> {
  const file = await readPostmasterFile(cluster);
  if (file === null || !(await processState(file.pid)).running) return null;
  return (await servesCluster(file.pid, cluster)) ? file.pid : null;
}

/**
 * Stops the server of a cluster: a fast shutdown, and when that takes too long an immediate one, after which the
 * next start recovers from the write-ahead log. Nothing committed is lost either way.
 * @returns the process id of a server that would not stop, or null when none runs any more.
 */
export async function endPostmaster(
  cluster: string,
  limits: { readonly fastMs: number; readonly immediateMs: number },
  signal?: AbortSignal,
): Promise<number | null> {
  const steps: [NodeJS.Signals, number][] = [
    ['SIGINT', limits.fastMs],
    ['SIGQUIT', limits.immediateMs],
  ];
  for (const [name, ms] of steps) {
    const pid = await runningPostmaster(cluster);
    if (pid === null) return null;
    sendSignal(pid, name);
    for (const end = Date.now() + ms; Date.now() < end; await delay(20)) {
      signal?.throwIfAborted();
      if (!(await processState(pid)).running) return null;
    }
  }
  return runningPostmaster(cluster);
}

/** The id may have gone to another program since the file was written, so the process itself is asked. */
async function servesCluster(pid: number, cluster: string): Promise<boolean> {
  if (process.platform === 'linux') {
    // The server works in its cluster. A process that we may not look at belongs to a third user and is not ours.
    const [theirs, ours] = await Promise.all([stat(`/proc/${pid}/cwd`), stat(cluster)]).catch(() => []);
    if (theirs === undefined || ours === undefined) return false;
    if (theirs.dev !== ours.dev || theirs.ino !== ours.ino) return false;
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    return name.trim() === 'postgres';
  }
  const command = await commandLine(pid);
  return command.includes('postgres') && command.includes(cluster);
}
