import { describe, expect, it } from 'vitest';
import { createSemaphore } from '../../../../src/privacy/entity-analyzer.ts';

/** A task that runs until it is let go. */
function aTask() {
  const state = { isRunning: false };
  let release = (): void => undefined;
  const run = (): Promise<string> => {
    state.isRunning = true;
    return new Promise((resolve) => {
      release = () => resolve('done');
    });
  };
  return { state, run, release: () => release() };
}

const never = new AbortController().signal;

describe('a semaphore', () => {
  it('lets no more tasks run than it was made for, and the others in their order', async () => {
    const semaphore = createSemaphore(2);
    const tasks = [aTask(), aTask(), aTask(), aTask()];
    const work = tasks.map(({ run }) => semaphore(run, never));
    const running = (): boolean[] => tasks.map(({ state }) => state.isRunning);
    await Promise.resolve();
    expect(running()).toEqual([true, true, false, false]);
    tasks[1]?.release();
    expect(await work[1]).toBe('done');
    expect(running()).toEqual([true, true, true, false]);
    tasks[0]?.release();
    tasks[2]?.release();
    await Promise.all([work[0], work[2]]);
    tasks[3]?.release();
    expect(await work[3]).toBe('done');
  });

  it('gives the place of a task that fails to the next', async () => {
    const semaphore = createSemaphore(1);
    await expect(semaphore(() => Promise.reject(new Error('no')), never)).rejects.toThrow('no');
    expect(await semaphore(async () => 'next', never)).toBe('next');
  });

  it('never starts a task whose time is over before its turn', async () => {
    const semaphore = createSemaphore(1);
    const [first, second, third] = [aTask(), aTask(), aTask()];
    const over = new AbortController();
    const running = semaphore(first.run, never);
    const waiting = semaphore(second.run, over.signal);
    const last = semaphore(third.run, never);
    over.abort(new Error('too late'));
    await expect(waiting).rejects.toThrow('too late');
    await expect(semaphore(second.run, over.signal)).rejects.toThrow('too late');
    first.release();
    await running;
    third.release();
    expect(await last).toBe('done');
    expect(second.state.isRunning).toBe(false);
  });
});
