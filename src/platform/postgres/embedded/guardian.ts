import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import { codeOf, messageOf, RecalldError } from '../../../core/errors.ts';
import { endsWithin } from '../../threads/wait.ts';
import type { Account } from './account.ts';

// Runs a PostgreSQL program so that it cannot outlive this process. A small shell holds one end of a pipe and this
// process holds the other. When this process ends for any reason, the operating system closes its end of the pipe, and
// the shell then asks the program to stop.

export type GuardedProcess = Awaited<ReturnType<typeof startGuarded>>;

export interface GuardedProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly account: Account | null;
  /** File descriptor for the program's output. */
  readonly log: number;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * The guardian script. The watcher blocks in `read`, which returns when the pipe is closed. `wait` returns when the
 * program ends by itself; the watcher is then killed, so that it never signals a reused process id. Signals to the
 * whole process group or control group are ignored, because the owner decides when the program stops.
 */
const script = `
trap '' HUP INT TERM
exec 3<&0 </dev/null
"$@" 3<&- &
program=$!
( read -r _ <&3; kill -s INT "$program" ) 2>/dev/null &
watcher=$!
exec 3<&-
wait "$program"
status=$?
kill -s KILL "$watcher" 2>/dev/null
exit "$status"
`;

/**
 * Starts the program and its guardian.
 * @throws RecalldError `embedded_database_failed` if the guardian cannot be started.
 */
export async function startGuarded(program: GuardedProgram) {
  const child = await spawnGuardian(program);
  // The pipe may break when the guardian is killed; the guardian's exit is handled below.
  child.on('error', () => undefined);
  child.stdin?.on('error', () => undefined);
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => {
      // If only the guardian was killed, its watcher still waits for the pipe to close.
      child.stdin?.destroy();
      resolve(code);
    });
  });
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  return {
    /**
     * Resolves when the program and its guardian have ended: with the exit code, or with null if the guardian was
     * killed.
     */
    exited,
    hasExited,
    /** Asks the program to stop, and waits for it to end. Returns false if it is still running after `withinMs`. */
    async end(withinMs: number): Promise<boolean> {
      setReferenced(child, true);
      child.stdin?.end();
      return endsWithin(exited, withinMs);
    },
    /** Kills the guardian and its child processes, except those with their own session. */
    kill(): void {
      if (child.pid !== undefined && !hasExited()) sendSignal(-child.pid, 'SIGKILL');
    },
    /** Allows this process to end while the program is running; the guardian then stops the program. */
    unref: (): void => setReferenced(child, false),
  };
}

async function spawnGuardian({ account, command, args, cwd, log, env }: GuardedProgram): Promise<ChildProcess> {
  try {
    const child = spawn('/bin/sh', ['-c', script, 'recalld-guardian', command, ...args], {
      cwd,
      // The guardian has its own session, so that Ctrl-C and a closed terminal affect recalld but not the database.
      detached: true,
      stdio: ['pipe', log, log],
      // Only these environment variables are passed, because others, such as PGPORT and PGOPTIONS, would change
      // PostgreSQL's behavior.
      env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...env },
      ...(account === null ? {} : { uid: account.uid, gid: account.gid }),
    });
    await once(child, 'spawn');
    return child;
  } catch (cause) {
    const reason = messageOf(cause);
    const who = account === null ? '' : ` as the user ${account.name}`;
    throw new RecalldError(
      'embedded_database_failed',
      `The embedded PostgreSQL could not be started${who} (${reason}): run recalld as a normal user that may start` +
        ' programs, or set storage.url to a PostgreSQL server of your own.',
      { cause },
    );
  }
}

/**
 * Runs the program to completion and returns its exit code, or null if its guardian was killed. If the signal aborts,
 * the program is stopped first, and the promise rejects with the signal's reason.
 */
export async function runGuarded(program: GuardedProgram, signal?: AbortSignal): Promise<number | null> {
  signal?.throwIfAborted();
  const child = await startGuarded(program);
  const cancel = async () => {
    if (!(await child.end(5_000))) child.kill();
  };
  const onAbort = () => void cancel();
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  const code = await child.exited;
  signal?.removeEventListener('abort', onAbort);
  signal?.throwIfAborted();
  return code;
}

/**
 * Returns the path that a program can use for its working directory. On Linux, this path is in /proc: it works with any
 * characters in the folder's own path, and the program's user needs no permission to traverse the parent folders.
 */
export function pathFromInside(folder: string): string {
  const link = '/proc/self/cwd';
  return existsSync(link) ? link : folder;
}

function setReferenced(child: ChildProcess, referenced: boolean): void {
  if (referenced) child.ref();
  else child.unref();
  if (!(child.stdin instanceof Socket)) return;
  if (referenced) child.stdin.ref();
  else child.stdin.unref();
}

// Process ids are reused after a crash or a reboot. Combined with its start time, a process id is unique.

/** `startTime` is opaque and can only be compared for equality; null if it is unknown. */
type ProcessState = { readonly running: false } | { readonly running: true; readonly startTime: string | null };

export async function processState(pid: number): Promise<ProcessState> {
  if (!Number.isSafeInteger(pid) || pid <= 0 || !hasProcess(pid)) return { running: false };
  if (process.platform !== 'linux') return { running: true, startTime: (await ps(pid, 'lstart=')) || null };
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The second field, the program name in parentheses, may contain any characters; other fields contain no spaces.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    // A zombie counts as not running.
    if (fields[0] === 'Z' || fields[0] === 'X') return { running: false };
    // The start time is counted in ticks from boot, so it could repeat after a reboot; the boot id makes it unique.
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
    return { running: true, startTime: `${boot.trim()} ${fields[19] ?? ''}` };
  } catch {
    return hasProcess(pid) ? { running: true, startTime: null } : { running: false };
  }
}

/** Returns true if the process with this id and start time is still running, or if that is unknown. */
export async function isRunning(pid: number, startTime: string | null): Promise<boolean> {
  const state = await processState(pid);
  if (!state.running) return false;
  return startTime === null || state.startTime === null || startTime === state.startTime;
}

/** Sends a signal. Has no effect if the process has ended or belongs to another user. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}

/** Returns a property of a process; empty if the process has ended. */
export async function ps(pid: number, column: 'command=' | 'lstart='): Promise<string> {
  try {
    const env = { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' };
    const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', column, '-p', String(pid)], { env });
    return stdout.trim();
  } catch {
    return '';
  }
}

function hasProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return codeOf(error) === 'EPERM';
  }
}
