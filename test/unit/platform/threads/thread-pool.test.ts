/** Tests that a thread that fails or ends, while busy or idle, affects neither the process nor the next task. */
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { createThreadPool, type ThreadPool } from '../../../../src/platform/threads/thread-pool.ts';
import type { tasks } from './troubled-tasks.ts';

const never = new AbortController().signal;
let pool: ThreadPool<typeof tasks>;

afterEach(() => pool.close());

function aPool(): ThreadPool<typeof tasks> {
  pool = createThreadPool<typeof tasks>({
    tasks: import.meta.resolve('./troubled-tasks.ts'),
    threads: 1,
    maxWaiting: 10,
    refusal: 'Too many.',
  });
  return pool;
}

/** Resolves when the next thread to start has ended; does not listen for its errors. */
function endOfNextThread(): Promise<void> {
  return new Promise((resolve) => {
    process.once('worker', (worker: Worker) => worker.once('exit', () => resolve()));
  });
}

describe('a thread', () => {
  it.each([
    ['throws an error', 'breakLater'],
    ['ends', 'endLater'],
  ] as const)(
    'that %s while it is idle affects nothing else, and a new thread takes the next task',
    async (_, task) => {
      const { run } = aPool();
      for (let round = 0; round < 3; round += 1) {
        const end = endOfNextThread();
        const flag = new Int32Array(new SharedArrayBuffer(4));
        expect(await run(task, flag, never)).toBe('answered');
        Atomics.store(flag, 0, 1);
        await end;
      }
      expect(await run('echo', 'alive', never)).toBe('alive');
    },
  );

  it('that ends during a task fails this task, and the queued tasks are completed', async () => {
    const { run } = aPool();
    const [failed, next] = await Promise.allSettled([run('endNow', 1, never), run('echo', 'next', never)]);
    expect(failed).toMatchObject({
      status: 'rejected',
      reason: { message: expect.stringContaining('exited') },
    });
    expect(next).toEqual({ status: 'fulfilled', value: 'next' });
  });

  it("preserves the kind of a task's error", async () => {
    await expect(aPool().run('refuse', 'not so', never)).rejects.toThrow(new RangeError('not so'));
  });

  it('fails a task that cannot be cloned, and completes the next one', async () => {
    const { run } = aPool();
    await expect(run('echo', (() => 'a function') as never, never)).rejects.toThrow('could not be cloned');
    expect(await run('echo', 'next', never)).toBe('next');
  });

  it('ends when its task is aborted, and the queued tasks are removed', async () => {
    const { run } = aPool();
    const [running, waiting] = [new AbortController(), new AbortController()];
    const reason = new Error('enough');
    const outcomes = Promise.allSettled([
      run('turnForEver', undefined as never, running.signal),
      run('echo', 'never', waiting.signal),
      run('echo', 'after', never),
    ]);
    waiting.abort(reason);
    running.abort(reason);
    expect(await outcomes).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
      { status: 'fulfilled', value: 'after' },
    ]);
  });
});
