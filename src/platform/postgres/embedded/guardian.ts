import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import { messageOf, RecalldError } from '../../../core/errors.ts';
import { type Account, errorCode } from './account.ts';

// Runs a PostgreSQL program so that it cannot outlive this process. A small shell holds one end of a pipe of which
// we hold the other; the system closes ours however we die, and the shell then asks the program to stop.

/** A program under its guardian. */
export type GuardedProcess = Awaited<ReturnType<typeof startGuarded>>;

export interface GuardedProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly account: Account | null;
  /** File descriptor for what the program prints. */
  readonly log: number;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * The guardian. The watcher blocks in `read`, which sees the end of the pipe; `wait` returns when the program ends by
 * itself, and the watcher must go then so that it never signals an id that has a new holder. Signals to the whole
 * process group or control group are left to the owner, who stops the program in its own time.
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
 * Starts the program under its guardian.
 * @throws RecalldError `embedded_database_failed` if not even the guardian can be started.
 */
export async function startGuarded(program: GuardedProgram) {
  const child = await spawnGuardian(program);
  // The pipe may break when the guardian is killed; its exit tells us all there is to know.
  child.on('error', () => undefined);
  child.stdin?.on('error', () => undefined);
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => {
      // If only the guardian was killed, its watcher still waits for the end of the pipe.
      child.stdin?.destroy();
      resolve(code);
    });
  });
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  return {
    /** Resolves with the exit code when the program and its guardian are gone (null: the guardian was killed). */
    exited,
    hasExited,
    /** Asks the program to stop and waits; false if it still runs after that time. */
    async end(withinMs: number): Promise<boolean> {
      setReferenced(child, true);
      child.stdin?.end();
      return settlesWithin(exited, withinMs);
    },
    /** Kills the guardian and what it started, apart from processes with a session of their own. */
    kill(): void {
      if (child.pid !== undefined && !hasExited()) sendSignal(-child.pid, 'SIGKILL');
    },
    /** Lets this process end although the program runs: the guardian then stops it. */
    unref: (): void => setReferenced(child, false),
  };
}

async function spawnGuardian({ account, command, args, cwd, log, env }: GuardedProgram): Promise<ChildProcess> {
  try {
    const child = spawn('/bin/sh', ['-c', script, 'recalld-guardian', command, ...args], {
      cwd,
      // A session of its own: Ctrl-C and the end of the terminal reach recalld, and not the database under it.
      detached: true,
      stdio: ['pipe', log, log],
      // Only what is listed: variables such as PGPORT or PGOPTIONS would change what PostgreSQL does.
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
      `The embedded PostgreSQL cannot be started${who} (${reason}): let recalld run as a normal user that may start` +
        ' programs, or set storage.url to a PostgreSQL server of your own.',
      { cause },
    );
  }
}

/**
 * Runs the program to its end and returns its exit code (null: its guardian was killed). If the signal aborts, the
 * program is stopped first, and the promise rejects with the signal's reason.
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
 * The path by which a program reaches the folder it was started in. On Linux /proc leads there although the user
 * of the program may not pass the folders above, and whatever the path is made of.
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

/** Whether the promise settles in that time. */
async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

// A process id alone says little: it is given to another program after a crash or a reboot. Together with the time
// at which the process started it is unique.

/** Whether a process runs, and when it started (opaque, comparable for equality; null where it cannot be told). */
type ProcessState = { readonly running: false } | { readonly running: true; readonly startTime: string | null };

/** State of the process with that id; a zombie does not run. */
export async function processState(pid: number): Promise<ProcessState> {
  if (!Number.isSafeInteger(pid) || pid <= 0 || !hasProcess(pid)) return { running: false };
  if (process.platform !== 'linux') return { running: true, startTime: await startTimeByPs(pid) };
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses, which may hold anything; the others hold no spaces.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return { running: false };
    // Ticks count from the boot, so without its id they would repeat after the next one.
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
    return { running: true, startTime: `${boot.trim()} ${fields[19] ?? ''}` };
  } catch {
    return hasProcess(pid) ? { running: true, startTime: null } : { running: false };
  }
}

/** Whether the process that had this id and start time still runs. In doubt it does. */
export async function isRunning(pid: number, startTime: string | null): Promise<boolean> {
  const state = await processState(pid);
  if (!state.running) return false;
  return startTime === null || state.startTime === null || startTime === state.startTime;
}

/** Sends a signal; a process that is gone or belongs to another user is left alone. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // There is nothing left to signal.
  }
}

/** Arguments with which a process was started, joined by spaces; empty if it is gone. */
export async function commandLine(pid: number): Promise<string> {
  return ps(pid, 'command=');
}

async function startTimeByPs(pid: number): Promise<string | null> {
  return (await ps(pid, 'lstart=')) || null;
}

async function ps(pid: number, column: string): Promise<string> {
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
    // EPERM: it exists and belongs to another user.
    return errorCode(error) === 'EPERM';
  }
}
