/** Runs a program once, from its start to its exit. */
import { type ChildProcess, spawn } from 'node:child_process';
import process from 'node:process';
import type { RetrieverConfigOf } from './config.ts';

const LINE_FEED = 10;

/**
 * Splits a stream of bytes into lines.
 *
 * Accepts chunks and emits each complete line as UTF-8 without its line ending; empty lines are skipped. If a line is
 * longer than `maxBytes`, it calls `onTooLong` and emits nothing more; no more than that is ever buffered.
 */
export function createLineCutter(
  maxBytes: number,
  onLine: (line: string) => void,
  onTooLong: () => void,
): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let bytes = 0;
  let isOver = false;

  const endLine = (): void => {
    const line = Buffer.concat(parts).toString('utf8').trim();
    parts = [];
    bytes = 0;
    if (line !== '') onLine(line);
  };

  return (chunk) => {
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

type ProgramConfig = Pick<RetrieverConfigOf<'command'>, 'command' | 'directory' | 'environment'>;

export type Program = ReturnType<typeof startProgram>;

const GRACE_MS = 2000;
/**
 * Longest time to read the pipes of a program that has exited; a process that left its group may still hold them open.
 */
const DRAIN_MS = 1000;

/**
 * Starts the program in its own process group, so that Ctrl-C in a terminal reaches only recalld, and child processes
 * of the program end with it. If recalld dies, the program sees the end of its standard input.
 *
 * @throws a system error for what fails immediately, such as arguments that are too long
 */
export function startProgram(
  config: ProgramConfig,
  maxLineBytes: number,
  events: {
    onLine(line: string): void;
    /** A line exceeded the limit; nothing more is read. */
    onTooLong(): void;
    /** The program first wrote to its standard error; the content is not read. */
    onComplaint(): void;
    /** Called once, after the last line. `reason` completes "the command ...". */
    onEnd(end: { readonly code: string; readonly reason: string }): void;
  },
) {
  const child = spawnGroup(config);
  let hasEnded = false;
  // The id of a group that is gone may belong to another one.
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
    // Unlike `exit`, `close` is emitted after the last line, and also if no process was created.
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
  // It may have exited or closed its input; its exit then decides about the query.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => undefined);

  return {
    write(line: string): void {
      child.stdin?.write(line);
    },
    /** Asks it to exit, kills it after two seconds; resolves after its exit. */
    async stop(): Promise<void> {
      send('SIGTERM');
      const timer = setTimeout(() => send('SIGKILL'), GRACE_MS);
      await ended;
      clearTimeout(timer);
    },
    /** Kills it; resolves after its exit. */
    async kill(): Promise<void> {
      send('SIGKILL');
      await ended;
    },
  };
}

function spawnGroup({ command, directory, environment }: ProgramConfig): ChildProcess {
  const [program = '', ...args] = command;
  return spawn(program, args, {
    ...(directory === undefined ? {} : { cwd: directory }),
    env: { ...process.env, ...environment },
    stdio: 'pipe',
    // Windows would open a console window for it.
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
    // No process of the group is left.
  }
}

function closePipes(child: ChildProcess): void {
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
}
