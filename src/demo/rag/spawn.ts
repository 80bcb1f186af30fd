import { type ChildProcess, fork } from 'node:child_process';
import { extname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { RecalldError } from '../../core/errors.ts';
import { type Gap, gaps, type RagFault } from './fault.ts';

/** What the child process tells over IPC, once, when the first search can be answered. */
export interface ReadyMessage {
  readonly kind: 'ready';
  readonly url: string;
  readonly storeUrl: string;
  readonly documents: number;
}

/** How the child process ended; exactly one of the two is not null. */
export interface RagServiceExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The demo's RAG service in a process of its own. */
export interface DemoRagService {
  /** `http://127.0.0.1:port`; the search is `POST /search {query, k}`. */
  readonly url: string;
  /** `postgres://` address of the vector store (table `chunks`: id, title, body, embedding). */
  readonly storeUrl: string;
  readonly documents: number;
  readonly pid: number;
  /**
   * Puts the fault in place, or lifts it with `none`, before it resolves. Throws demo_failed.
   *
   * @param filled what of that which it can do without the store holds; left out, everything
   * @returns how many documents the store then holds
   */
  setFault(fault: RagFault, filled?: readonly Gap[]): Promise<number>;
  /** Stops the process, by force after five seconds. Calls after the first wait for the same end. */
  stop(): Promise<void>;
  /** Resolves when the process has ended, for whatever reason; never rejects. */
  readonly exited: Promise<RagServiceExit>;
}

const STOP_DEADLINE_MS = 5_000;
const FAULT_DEADLINE_MS = 10_000;

/**
 * Starts the demo's RAG service as a child process. The child has a process group of its own, so that Ctrl-C in the
 * terminal reaches only the parent, which can then stop things in order; it ends when the parent ends, however that
 * happens.
 *
 * `signal` gives up the start and rejects with its reason; once started, only `stop` ends the service. `onLog` gets
 * the child's output line by line. Throws demo_failed with the child's last words when it ends or stays silent for
 * `startTimeoutMs` (90 s).
 */
export async function startDemoRagService(
  options: { signal?: AbortSignal; onLog?: (line: string) => void; startTimeoutMs?: number } = {},
): Promise<DemoRagService> {
  const { signal, onLog, startTimeoutMs = 90_000 } = options;
  signal?.throwIfAborted();
  const child = forkMain();
  // Unlike `exit`, `close` waits until the last line has been read, and comes also when no process was created.
  const exited = new Promise<RagServiceExit>((resolve) => {
    child.once('close', (code, by) => resolve({ code, signal: by }));
  });
  const lastLine = followLines(child, onLog);
  try {
    const ready = await waitForReady(child, exited, lastLine, startTimeoutMs, signal);
    return {
      ...ready,
      exited,
      setFault: (fault, filled = gaps) => setFault(ready.url, fault, filled),
      stop: () => stopChild(child, exited),
    };
  } catch (error) {
    child.kill('SIGKILL');
    await exited;
    throw error;
  }
}

/** main.js beside this file in dist; main.ts through tsx when this file itself runs as TypeScript. */
function forkMain(): ChildProcess {
  const extension = extname(import.meta.filename);
  return fork(join(import.meta.dirname, `main${extension}`), [], {
    execArgv: extension === '.ts' ? ['--import', import.meta.resolve('tsx')] : [],
    // Windows would open a console window for it.
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
}

/** Passes the child's output on and returns a look at its last line that tells something. */
function followLines(child: ChildProcess, onLog: ((line: string) => void) | undefined): () => string {
  let last = 'it wrote nothing';
  const take = (line: string) => {
    // The frames of a stack and Node's own version line say less than the message above them.
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
): Promise<Omit<ReadyMessage, 'kind'> & { pid: number }> {
  const failed = (what: string) =>
    new RecalldError('demo_failed', `The demo's RAG service ${what}; its last line was: ${lastLine()}`);
  const settled = new AbortController();
  try {
    return await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(failed(`did not start within ${timeoutMs / 1_000} s`)), timeoutMs);
      settled.signal.addEventListener('abort', () => clearTimeout(timer));
      signal?.addEventListener('abort', () => reject(signal.reason), { signal: settled.signal });
      child.once('message', (message: ReadyMessage) => {
        const { url, storeUrl, documents } = message;
        resolve({ url, storeUrl, documents, pid: child.pid ?? 0 });
      });
      void exited.then(({ code, signal: by }) => reject(failed(`ended during its start (${by ?? `code ${code}`})`)));
    });
  } finally {
    settled.abort();
  }
}

async function setFault(url: string, fault: RagFault, filled: readonly Gap[]): Promise<number> {
  let response: Response;
  try {
    response = await fetch(`${url}/admin/condition`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ fault, filled }),
      signal: AbortSignal.timeout(FAULT_DEADLINE_MS),
    });
  } catch (cause) {
    throw new RecalldError('demo_failed', `The demo's RAG service at ${url} does not answer.`, { cause });
  }
  if (!response.ok) {
    throw new RecalldError(
      'demo_failed',
      `The demo's RAG service refused the fault ${fault} with status ${response.status}.`,
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
