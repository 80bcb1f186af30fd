/** One run of a program, from its start to its end. */
import { type ChildProcess, spawn } from 'node:child_process';
import process from 'node:process';
import type { RetrieverConfigOf } from './config.ts';

const LINE_FEED = 10;

/**
 * Cuts a stream of bytes into lines.
 *
 * Takes chunks and hands over each line that is complete, as UTF-8 without its line end; empty lines are left out.
 * What is not ended after `maxBytes` is handed to `onTooLong`, and nothing after it: no more than that is ever kept.
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
/** A process that ran away from its group may hold the pipes of a program that has ended. */
const DRAIN_MS = 1000;

/**
 * Starts the program in a process group of its own, so that Ctrl-C in a terminal reaches us alone and what it starts
 * itself ends with it. Should we die, it sees the end of its standard input.
 *
 * @throws an error of the system for what it refuses at once, such as arguments that are too long
 */
export function startProgram(
  config: ProgramConfig,
  maxLineBytes: number,
  events: {
    onLine(line: string): void;
    /** A line grew beyond the limit; nothing more is read. */
    onTooLong(): void;
    /** The first thing that it wrote to its standard error, whose content nobody reads. */
    onComplaint(): void;
    /** Once, after its last line. `reason` is to be read behind "the command". */
    onEnd(end: { readonly code: string; readonly reason: string }): void;
  },
) {
  const child = spawnGroup(config);
  let hasEnded = false;
  // The number of a group that is gone may belong to another one.
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
    // Unlike `exit`, `close` comes after the last line, and also when no process was created.
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
  // It may have ended, or closed its input: what then becomes of a query is told by its end.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => undefined);

  return {
    write(line: string): void {
      child.stdin?.write(line);
    },
    /** Asks it to end, by force after two seconds; resolves when it has ended. */
    async stop(): Promise<void> {
      send('SIGTERM');
      const timer = setTimeout(() => send('SIGKILL'), GRACE_MS);
      await ended;
      clearTimeout(timer);
    },
    /** Ends it by force; resolves when it has ended. */
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
    // Nobody of the group is left.
  }
}

function closePipes(child: ChildProcess): void {
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
}
