/** What threads are asked, and how they answer. */
import { parentPort } from 'node:worker_threads';
import { type ErrorCode, RecalldError } from '../errors.ts';

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

/** The whole program of a thread, which the pool gives one task after the other. */
export function answerTasks(tasks: Tasks): void {
  parentPort?.on('message', (message: TaskMessage) => {
    void replyTo(tasks, message).then((reply) => parentPort?.postMessage(reply));
  });
}

async function replyTo(tasks: Tasks, { task, input }: TaskMessage): Promise<TaskReply> {
  const startedAt = performance.now();
  try {
    // The message was made by the pool of the same program, which ties each task to its input.
    const result = await tasks[task]?.(input as never);
    return { kind: 'result', result, cpuMs: performance.now() - startedAt };
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    return { kind: 'error', code: error instanceof RecalldError ? error.code : null, name, message };
  }
}
