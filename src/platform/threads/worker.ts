/** The worker thread's program, which receives one task at a time from its pool. */
import { parentPort, workerData } from 'node:worker_threads';
import { RecalldError } from '../../core/errors.ts';
import type { TaskMessage, TaskReply, Tasks } from './thread-pool.ts';

const { tasks }: { readonly tasks: Tasks } = await import(workerData);

parentPort?.on('message', (message: TaskMessage) => {
  void replyTo(message).then((reply) => parentPort?.postMessage(reply));
});

async function replyTo({ task, input }: TaskMessage): Promise<TaskReply> {
  const startedAt = performance.now();
  try {
    // The cast is safe: only a pool of this program sends messages, and the pool's types bind each task to its input.
    const result = await tasks[task]?.(input as never);
    return { kind: 'result', result, cpuMs: performance.now() - startedAt };
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    return { kind: 'error', code: error instanceof RecalldError ? error.code : null, name, message };
  }
}
