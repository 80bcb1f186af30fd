/** A few worker threads with a short queue. */
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type ErrorCode, RecalldError } from '../../core/errors.ts';

/** Functions, keyed by name. Arguments and results of tasks are copied between threads. */
export type Tasks = Readonly<Record<string, (input: never) => unknown>>;

export type TaskInput<Table extends Tasks, Name extends keyof Table> = Parameters<Table[Name]>[0];

export type TaskResult<Table extends Tasks, Name extends keyof Table> = Awaited<ReturnType<Table[Name]>>;

export interface TaskMessage {
  readonly task: string;
  readonly input: unknown;
}

/** Errors are sent as fields, because an error loses its class between threads. */
export type TaskReply =
  | { readonly kind: 'result'; readonly result: unknown; readonly cpuMs: number }
  | {
      readonly kind: 'error';
      /** Code of a RecalldError. */
      readonly code: ErrorCode | null;
      readonly name: string;
      readonly message: string;
    };

export interface ThreadPoolSettings {
  /** URL of the module that exports the functions as `tasks`. */
  readonly tasks: string;
  readonly threads: number;
  /** Maximum number of tasks waiting for a thread; further tasks are refused. */
  readonly maxWaiting: number;
  /** Error message for a refused task. */
  readonly refusal: string;
  /** Called after every completed task. */
  onDone?(report: TaskReport): void;
}

export interface TaskReport {
  readonly task: string;
  /** Time in milliseconds that the task spent in the thread. */
  readonly computeMs: number;
  /** Time in milliseconds from the call to the result. */
  readonly totalMs: number;
  /** Memory of the process after the task, in bytes. */
  readonly processBytes: number;
}

export type ThreadPool<Table extends Tasks> = ReturnType<typeof createThreadPool<Table>>;

interface Waiting extends TaskMessage {
  readonly moved: readonly ArrayBuffer[];
  readonly signal: AbortSignal;
  readonly queuedAt: number;
  resolve(result: unknown): void;
  reject(reason: unknown): void;
  /** Listener for the signal's abort event; it is removed when the task has ended. */
  readonly leave: () => void;
}

interface Thread {
  readonly worker: Worker;
  /** Current task; null while the thread is idle. */
  task: Waiting | null;
}

/** Threads start on demand and do not keep the process alive. */
export function createThreadPool<Table extends Tasks>(settings: ThreadPoolSettings) {
  const idle: Thread[] = [];
  const running = new Set<Thread>();
  const queue: Waiting[] = [];
  let isClosed = false;

  const next = (): void => {
    while (running.size < settings.threads) {
      const waiting = queue.shift();
      if (waiting === undefined) return;
      start(waiting);
    }
  };

  /** Detaches the task from its thread, which becomes idle or is terminated. */
  const release = (thread: Thread, isUsable: boolean): Waiting | null => {
    const { task, worker } = thread;
    thread.task = null;
    task?.signal.removeEventListener('abort', task.leave);
    running.delete(thread);
    if (isUsable && !isClosed) {
      worker.unref();
      idle.push(thread);
    } else {
      if (idle.includes(thread)) idle.splice(idle.indexOf(thread), 1);
      void worker.terminate();
    }
    next();
    return task;
  };

  const launch = (): Thread => {
    const thread: Thread = { worker: startWorker(settings.tasks), task: null };
    const fail = (reason: unknown): void => release(thread, false)?.reject(reason);
    // These listeners stay as long as the thread lives: without them, an error in an idle thread would end the process.
    thread.worker
      .on('error', fail)
      .on('messageerror', fail)
      .on('exit', () => fail(new Error('a thread exited during its task')))
      .on('message', (reply: TaskReply) => {
        const task = release(thread, true);
        if (task !== null) answer(task, reply);
      });
    return thread;
  };

  const answer = (task: Waiting, reply: TaskReply): void => {
    if (reply.kind === 'error') return task.reject(errorOf(reply));
    settings.onDone?.({
      task: task.task,
      computeMs: reply.cpuMs,
      totalMs: performance.now() - task.queuedAt,
      processBytes: process.memoryUsage().rss,
    });
    task.resolve(reply.result);
  };

  const start = (task: Waiting): void => {
    const thread = idle.pop() ?? launch();
    thread.task = task;
    running.add(thread);
    thread.worker.ref();
    try {
      thread.worker.postMessage({ task: task.task, input: task.input }, task.moved);
    } catch (error) {
      // If the input cannot be copied, the call throws before the thread receives the task.
      release(thread, true)?.reject(error);
    }
  };

  /** Removes the task if it is waiting; if it is running, terminates its thread. */
  const abort = (task: Waiting): void => {
    const thread = [...running].find((one) => one.task === task);
    if (thread === undefined) queue.splice(queue.indexOf(task), 1);
    else release(thread, false);
    task.reject(task.signal.reason);
  };

  return {
    /**
     * Runs a task in a thread. If the signal of a running task aborts, its thread is terminated and replaced.
     *
     * @param moved list of input buffers to transfer instead of copying; the caller must not use them afterwards
     * @throws `signal.reason` if the signal aborts; RecalldError overloaded if too many tasks wait; any RecalldError or
     * RangeError that the task throws
     */
    run: <Name extends keyof Table & string>(
      task: Name,
      input: TaskInput<Table, Name>,
      signal: AbortSignal,
      moved: readonly ArrayBuffer[] = [],
    ): Promise<TaskResult<Table, Name>> => {
      return new Promise<TaskResult<Table, Name>>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        if (isClosed) return reject(new Error('the threads are closed'));
        if (running.size >= settings.threads && queue.length >= settings.maxWaiting) {
          return reject(new RecalldError('overloaded', settings.refusal));
        }
        const one: Waiting = {
          task,
          input,
          moved,
          signal,
          queuedAt: performance.now(),
          resolve: (result) => resolve(result as TaskResult<Table, Name>),
          reject,
          leave: () => abort(one),
        };
        queue.push(one);
        signal.addEventListener('abort', one.leave, { once: true });
        next();
      });
    },
    async close(): Promise<void> {
      isClosed = true;
      for (const waiting of queue.splice(0)) waiting.reject(new Error('the threads are closed'));
      await Promise.all([...idle, ...running].map(({ worker }) => worker.terminate()));
    },
  };
}

/** Starts worker.js in dist, or worker.ts through tsx if this file runs as TypeScript. */
function startWorker(tasks: string): Worker {
  const extension = extname(import.meta.filename);
  const file = join(import.meta.dirname, `worker${extension}`);
  if (extension !== '.ts') return new Worker(file, { workerData: tasks });
  // tsx does not register in threads by default.
  const [tsx, entry] = [import.meta.resolve('tsx/esm/api'), pathToFileURL(file).href].map((url) => JSON.stringify(url));
  return new Worker(`import(${tsx}).then(({ register }) => { register(); return import(${entry}); });`, {
    eval: true,
    execArgv: [],
    workerData: tasks,
  });
}

function errorOf({ code, name, message }: Extract<TaskReply, { kind: 'error' }>): Error {
  if (code !== null) return new RecalldError(code, message);
  return name === 'RangeError' ? new RangeError(message) : new Error(message);
}

/**
 * Returns the buffer behind these bytes in a list, for a transfer to a thread. Returns an empty list if the buffer also
 * contains other bytes.
 */
export function movable({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

/**
 * Limits the memory that concurrent work uses.
 *
 * @param limit in bytes
 * @param refusal error message for refused work
 * @returns a function that reserves bytes, runs the work and releases the bytes; it rejects with RecalldError
 *   overloaded if the limit would be exceeded
 */
export function createByteLimit(
  limit: number,
  refusal: string,
): <T>(bytes: number, work: () => Promise<T>) => Promise<T> {
  let used = 0;
  return async (bytes, work) => {
    if (used + bytes > limit) throw new RecalldError('overloaded', refusal);
    used += bytes;
    try {
      return await work();
    } finally {
      used -= bytes;
    }
  };
}
