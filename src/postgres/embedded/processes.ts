import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { errorCode } from './system-error.ts';

// A process id alone says little: it is given to another program after a crash or a reboot. Together with the time
// at which the process started it is unique.

/** Whether a process runs, and when it started (opaque, comparable for equality; null where it cannot be told). */
export type ProcessState =
  | { readonly running: false }
  | { readonly running: true; readonly startTime: string | null };

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
