/** A manifest that a program prints. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { RecalldError } from '../../errors.ts';
import { linesOf } from '../../files/source-lines.ts';
import type { ManifestConfig } from '../config.ts';
import type { ManifestPart } from './source.ts';

type CommandConfig = Extract<ManifestConfig, { readonly kind: 'command' }>;

/** The program waits while what it printed is stored. What it says on its standard error is not read. */
export async function* readCommand(
  { command: [program = '', ...args], directory, environment, timeout_ms: timeoutMs }: CommandConfig,
  configField: string,
  signal: AbortSignal,
): AsyncGenerator<ManifestPart> {
  signal.throwIfAborted();
  const child = spawn(program, args, {
    ...(directory === undefined ? {} : { cwd: directory }),
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
    // Its own group, so that what it starts itself ends with it.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  let isOver = false;
  const end = (): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  };
  const timer = setTimeout(() => {
    isOver = true;
    end();
  }, timeoutMs);
  signal.addEventListener('abort', end, { once: true });
  const failed = (reason: string): RecalldError =>
    new RecalldError('manifest_unreadable', `The command of ${configField} ${reason}; run it by hand.`);
  const ended = once(child, 'close');
  // What it fails of is thrown below.
  ended.catch(() => undefined);
  try {
    for await (const lines of linesOf(child.stdout, `the manifest that ${configField} prints`)) {
      yield { lines, next: null };
    }
    const [code] = (await ended.catch((error: NodeJS.ErrnoException) => {
      throw failed(`cannot be started (${error.code ?? 'unknown'})`);
    })) as [number | null];
    signal.throwIfAborted();
    if (isOver) throw failed(`was not done within ${timeoutMs} ms`);
    // A manifest that was cut off would make all that is not in it look deleted.
    if (code !== 0) throw failed(`ended with ${code === null ? 'a signal' : `code ${code}`}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    end();
  }
}
