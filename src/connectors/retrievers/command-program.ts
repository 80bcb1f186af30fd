/** Runs a program once, from its start to its exit. */
import { type ChildProcess, spawn } from 'node:child_process';
import process from 'node:process';
import type { RetrieverConfigOf } from './config.ts';

const LINE_FEED = 10;

/**
 * Splits a byte stream into lines.
 *
 * Accepts chunks of bytes, and emits each complete line, decoded as UTF-8, without its line ending. Skips empty lines.
 * Calls `onTooLong` if a line is longer than `maxBytes`, and emits nothing after that. The buffer never exceeds
 * `maxBytes`.
 */
export function createLineCutter(maxBytes: number, onLine: (line: string) => void, onTooLong: () => void) {
  let parts: Buffer[] = [];
  let bytes = 0;
  let isOver = false;

  const endLine = (): void => {
    const line = Buffer.concat(parts).toString('utf8').trim();
    parts = [];
    bytes = 0;
    if (line !== '') onLine(line);
  };

  return (chunk: Buffer): void => {
    let rest = chunk;
    while (!isOver) {
      const end = rest.indexOf(LINE_FEED);
      const part = end === -1 ? rest : rest.subarray(0, end);
      bytes += part.byteLength;
      if (bytes > maxBytes) {
        isOver = true;
        parts = [];
        onTooLong();
        return;
      }
      parts.push(part);
      if (end === -1) return;
      endLine();
      rest = rest.subarray(end + 1);
    }
  };
}

export type Program = ReturnType<typeof startProgram>;

const GRACE_MS = 2000;
/**
 * Maximum time to read the pipes of a program after it has exited. A child process that left the program's process
 * group may keep the pipes open.
 */
const DRAIN_MS = 1000;

/**
 * Starts the program in its own process group. Ctrl-C in a terminal then reaches only recalld, and the program's child
 * processes end with the program. If recalld dies, the program's standard input is closed.
 *
 * @throws a system error for an immediate failure, such as arguments that are too long
 */
export function startProgram(
  config: RetrieverConfigOf<'command'>,
  maxLineBytes: number,
  events: {
    onLine(line: string): void;
    /** Called when a line exceeds the limit; nothing more is read. */
    onTooLong(): void;
    /** Called when the program first writes to its standard error, without the content. */
    onComplaint(): void;
    /** Called once, after the last line. `reason` completes "the command ...". */
    onEnd(end: { readonly code: string; readonly reason: string }): void;
  },
) {
  const child = spawnGroup(config);
  let hasEnded = false;
  // After a process group has ended, the system may give its id to another group.
  const send = (signal: NodeJS.Signals): void => {
    if (!hasEnded) signalGroup(child, signal);
  };
  const ended = new Promise<void>((resolve) => {
    let failedStart: string | null = null;
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) failedStart = error.code ?? 'unknown';
    });
    child.on('exit', () => {
      signalGroup(child, 'SIGKILL');
      const timer = setTimeout(() => closePipes(child), DRAIN_MS);
      child.on('close', () => clearTimeout(timer));
    });
    // Unlike `exit`, the event `close` occurs after the last line, and occurs even if no process was created.
    child.on('close', (code, signal) => {
      hasEnded = true;
      resolve();
      if (failedStart === null) {
        events.onEnd({ code: 'command_exited', reason: `ended (${signal ?? `code ${code}`})` });
      } else {
        events.onEnd({ code: 'command_not_started', reason: `cannot be started (${failedStart})` });
      }
    });
  });

  const cut = createLineCutter(
    maxLineBytes,
    (line) => events.onLine(line),
    () => {
      child.stdout?.destroy();
      events.onTooLong();
    },
  );
  child.stdout?.on('data', cut);
  let hasComplained = false;
  child.stderr?.on('data', () => {
    if (!hasComplained) events.onComplaint();
    hasComplained = true;
  });
  // The error is ignored: if the program exits or closes its input, the exit handler completes the queries.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => undefined);

  return {
    write(line: string): void {
      child.stdin?.write(line);
    },
    /** Asks the program to exit, and kills it after two seconds. Resolves after its exit. */
    async stop(): Promise<void> {
      send('SIGTERM');
      const timer = setTimeout(() => send('SIGKILL'), GRACE_MS);
      await ended;
      clearTimeout(timer);
    },
    /** Kills the program. Resolves after its exit. */
    async kill(): Promise<void> {
      send('SIGKILL');
      await ended;
    },
  };
}

function spawnGroup({ command, directory, environment }: RetrieverConfigOf<'command'>): ChildProcess {
  const [program = '', ...args] = command;
  return spawn(program, args, {
    ...(directory === undefined ? {} : { cwd: directory }),
    env: { ...process.env, ...environment },
    stdio: 'pipe',
    // On Windows, `detached` would open a console window for the program.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // No process of the group remains.
  }
}

function closePipes(child: ChildProcess): void {
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
}
