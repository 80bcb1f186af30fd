import { type ChildProcess, fork } from 'node:child_process';
import { extname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { RecalldError } from '../../core/errors.ts';
import { type Gap, gaps, type RagFault } from './fault.ts';
import { postJson } from './post-json.ts';
import type { RagService } from './rag-service.ts';

/** IPC message of the child process, sent once the service can answer searches. */
export type ReadyMessage = Omit<RagService, 'stop'>;

/** Exit code or signal with which the child process ended; exactly one of the two is not null. */
export interface RagServiceExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export type DemoRagService = Awaited<ReturnType<typeof startDemoRagService>>;

const STOP_DEADLINE_MS = 5_000;
const FAULT_DEADLINE_MS = 10_000;

/**
 * Starts the demo's RAG service as a child process. The child has its own process group, so that Ctrl-C in the terminal
 * reaches only the parent, which then stops everything in order. The child ends when the parent ends for any reason.
 *
 * @param options `signal` cancels only the startup; after that, `stop` ends the service. `onLog` receives the child's
 *   output line by line. `startTimeoutMs` defaults to 90 s.
 * @throws RecalldError demo_failed, with the last line of the child's output, if the child ends or is not ready in
 *   time; `signal.reason` if `signal` aborts
 */
export async function startDemoRagService(
  options: { signal?: AbortSignal; onLog?: (line: string) => void; startTimeoutMs?: number } = {},
) {
  const { signal, onLog, startTimeoutMs = 90_000 } = options;
  signal?.throwIfAborted();
  const child = forkMain();
  // Unlike `exit`, the event `close` occurs after the last line has been read, and occurs even if no process was
  // created.
  const exited = new Promise<RagServiceExit>((resolve) => {
    child.once('close', (code, by) => resolve({ code, signal: by }));
  });
  const lastLine = followLines(child, onLog);
  try {
    const ready = await waitForReady(child, exited, lastLine, startTimeoutMs, signal);
    return {
      ...ready,
      /** Resolves when the process has ended for any reason; never rejects. */
      exited,
      /** Activates a fault; `none` removes it. Returns the number of documents in the store. */
      setFault: (fault: RagFault, filled: readonly Gap[] = gaps) => setFault(ready.url, fault, filled),
      /** Stops the process; if it still runs after five seconds, kills it. A second call waits for the same exit. */
      stop: () => stopChild(child, exited),
    };
  } catch (error) {
    child.kill('SIGKILL');
    await exited;
    throw error;
  }
}

/** Runs main.js next to this file in dist, or main.ts with tsx if this file runs as TypeScript. */
function forkMain(): ChildProcess {
  const extension = extname(import.meta.filename);
  return fork(join(import.meta.dirname, `main${extension}`), [], {
    execArgv: extension === '.ts' ? ['--import', import.meta.resolve('tsx')] : [],
    // On Windows, a detached process would open a console window.
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
}

/** Forwards the child's output. @returns a function that returns the last informative line of the output */
function followLines(child: ChildProcess, onLog: ((line: string) => void) | undefined): () => string {
  let last = '(no output)';
  const take = (line: string) => {
    // Skips the lines after the error message: stack frames and the version of Node.js.
    if (/^\S/.test(line) && !/^(Node\.js v|\})/.test(line)) last = line;
    onLog?.(line);
  };
  for (const input of [child.stdout, child.stderr]) {
    if (input !== null) createInterface({ input }).on('line', take);
  }
  child.on('error', (error) => take(error.message));
  return () => last;
}

async function waitForReady(
  child: ChildProcess,
  exited: Promise<RagServiceExit>,
  lastLine: () => string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<ReadyMessage & { pid: number }> {
  const failed = (what: string) =>
    new RecalldError('demo_failed', `The demo's RAG service ${what}. Its last output was: ${lastLine()}`);
  const waited = new AbortController();
  try {
    return await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(failed(`did not start within ${timeoutMs / 1_000} s`)), timeoutMs);
      waited.signal.addEventListener('abort', () => clearTimeout(timer));
      signal?.addEventListener('abort', () => reject(signal.reason), { signal: waited.signal });
      child.once('message', (message: ReadyMessage) => resolve({ ...message, pid: child.pid ?? 0 }));
      void exited.then(({ code, signal: by }) => reject(failed(`exited during startup (${by ?? `code ${code}`})`)));
    });
  } finally {
    waited.abort();
  }
}

/**
 * @param filled the gaps whose documents will be in the store
 * @throws RecalldError demo_failed
 */
async function setFault(url: string, fault: RagFault, filled: readonly Gap[]): Promise<number> {
  let response: Response;
  try {
    response = await postJson(`${url}/admin/condition`, { fault, filled }, AbortSignal.timeout(FAULT_DEADLINE_MS));
  } catch (cause) {
    throw new RecalldError('demo_failed', `The demo's RAG service at ${url} did not respond.`, { cause });
  }
  if (!response.ok) {
    throw new RecalldError(
      'demo_failed',
      `The demo's RAG service rejected the fault ${fault} with status ${response.status}.`,
    );
  }
  const { documents } = (await response.json()) as { documents: number };
  return documents;
}

async function stopChild(child: ChildProcess, exited: Promise<RagServiceExit>): Promise<void> {
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
  await exited;
  clearTimeout(force);
}
