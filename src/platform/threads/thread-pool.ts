/** A few worker threads with a short queue before them. */
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type ErrorCode, RecalldError } from '../../core/errors.ts';

/** Functions by name. What they take and return is copied from thread to thread. */
export type Tasks = Readonly<Record<string, (input: never) => unknown>>;

export type TaskInput<Table extends Tasks, Name extends keyof Table> = Parameters<Table[Name]>[0];

export type TaskResult<Table extends Tasks, Name extends keyof Table> = Awaited<ReturnType<Table[Name]>>;

export interface TaskMessage {
  readonly task: string;
  readonly input: unknown;
}

/** What went wrong is told in words, since an error loses its kind on the way between threads. */
export type TaskReply =
  | { readonly kind: 'result'; readonly result: unknown; readonly cpuMs: number }
  | {
      readonly kind: 'error';
      /** Of a RecalldError. */
      readonly code: ErrorCode | null;
      readonly name: string;
      readonly message: string;
    };

export interface ThreadPoolSettings {
  /** The address of the module that exports them as `tasks`. */
  readonly tasks: string;
  readonly threads: number;
  /** Tasks that may wait for a thread; what comes beyond is refused. */
  readonly mostWaiting: number;
  /** Says to whoever is refused what is too much. */
  readonly refusal: string;
  /** Told of every task that ran to its end. */
  onDone?(report: TaskReport): void;
}

export interface TaskReport {
  readonly task: string;
  /** In the thread. */
  readonly computeMs: number;
  /** From the call to the answer. */
  readonly totalMs: number;
  /** Of the whole process, after it. */
  readonly processBytes: number;
}

export interface ThreadPool<Table extends Tasks> {
  /**
   * Runs a task in a thread. A running one whose signal aborts ends with its thread, and a new thread takes its
   * place.
   *
   * @param moved buffers of the input that go to the thread without being copied; the caller has them no longer
   * @throws the reason of `signal`; RecalldError overloaded when too many wait; RecalldError and RangeError as the
   * task throws them
   */
  readonly run: <Name extends keyof Table & string>(
    task: Name,
    input: TaskInput<Table, Name>,
    signal: AbortSignal,
    moved?: readonly ArrayBuffer[],
  ) => Promise<TaskResult<Table, Name>>;
  close(): Promise<void>;
}

interface Waiting {
  readonly task: string;
  readonly input: unknown;
  readonly moved: readonly ArrayBuffer[];
  readonly signal: AbortSignal;
  readonly queuedAt: number;
  resolve(result: unknown): void;
  reject(reason: unknown): void;
  /** Listens to the signal until the task has ended. */
  readonly leave: () => void;
}

interface Thread {
  readonly worker: Worker;
  /** Null while it is idle. */
  task: Waiting | null;
}

/** Threads start with the first tasks that need them, and do not keep the process alive. */
export function createThreadPool<Table extends Tasks>(settings: ThreadPoolSettings): ThreadPool<Table> {
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

  /** Takes the task from a thread, which is free for another one or ends. */
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
    // For as long as it lives: the error of an idle thread that nobody listens to would end the process.
    thread.worker
      .on('error', fail)
      .on('messageerror', fail)
      .on('exit', () => fail(new Error('a thread ended in the middle of its task')))
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
      // What cannot be copied; the thread has not seen it.
      release(thread, true)?.reject(error);
    }
  };

  /** Whether it waits or runs. */
  const abort = (task: Waiting): void => {
    const thread = [...running].find((one) => one.task === task);
    if (thread === undefined) queue.splice(queue.indexOf(task), 1);
    else release(thread, false);
    task.reject(task.signal.reason);
  };

  return {
    run<Name extends keyof Table & string>(
      task: Name,
      input: TaskInput<Table, Name>,
      signal: AbortSignal,
      moved: readonly ArrayBuffer[] = [],
    ) {
      return new Promise<TaskResult<Table, Name>>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        if (isClosed) return reject(new Error('the threads are closed'));
        if (running.size >= settings.threads && queue.length >= settings.mostWaiting) {
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
    async close() {
      isClosed = true;
      for (const waiting of queue.splice(0)) waiting.reject(new Error('the threads are closed'));
      await Promise.all([...idle, ...running].map(({ worker }) => worker.terminate()));
    },
  };
}

/** worker.js in dist; worker.ts through tsx when this file itself runs as TypeScript. */
function startWorker(tasks: string): Worker {
  const extension = extname(import.meta.filename);
  const file = join(import.meta.dirname, `worker${extension}`);
  if (extension !== '.ts') return new Worker(file, { workerData: tasks });
  // In a thread tsx does not register itself.
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

/** What of these bytes can be moved to a thread: their buffer, unless it holds more than them. */
export function movable({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

/**
 * @param refusal says to whoever is refused what is too much
 * @returns does work that holds so many bytes; rejects with RecalldError overloaded when they are too many with those
 * of the work under way
 */
export function createBytesInHand(
  most: number,
  refusal: string,
): <T>(bytes: number, work: () => Promise<T>) => Promise<T> {
  let inHand = 0;
  return async (bytes, work) => {
    if (inHand + bytes > most) throw new RecalldError('overloaded', refusal);
    inHand += bytes;
    try {
      return await work();
    } finally {
      inHand -= bytes;
    }
  };
}
