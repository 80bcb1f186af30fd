import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createMicroBatch } from '../../../../src/live/sql/live-traffic.ts';

/**
 * Writes batches of at most five items, and refuses calls while more than 200 items wait; the test completes the
 * writes.
 */
function aBatch() {
  const writes: { readonly items: readonly number[]; end(): void; fail(): void }[] = [];
  const call = createMicroBatch<number, number>({
    write: (items) =>
      new Promise((resolve, reject) => {
        writes.push({
          items,
          end: () => resolve(items.map((item) => item * 10)),
          fail: () => reject(new Error('the database is away')),
        });
      }),
    weigh: () => 50,
    concurrency: 2,
  });
  return { writes, call };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Waits until the batch timer has fired and its effects are done. */
const turn = () => vi.advanceTimersByTimeAsync(3);

describe('calls that arrive together', () => {
  it('share one write, and each call receives its own results', async () => {
    const { writes, call } = aBatch();
    const [first, second] = [call([1, 2]), call([3])];
    await turn();
    expect(writes.map(({ items }) => items)).toEqual([[1, 2, 3]]);
    writes[0]?.end();
    expect(await Promise.all([first, second])).toEqual([[10, 20], [30]]);
  });

  it('wait for the previous write while they do not fill a batch, and are then written together', async () => {
    const { writes, call } = aBatch();
    const calls = [call([1])];
    await turn();
    calls.push(call([2]), call([3]));
    await turn();
    expect(writes).toHaveLength(1);
    writes[0]?.end();
    await turn();
    expect(writes.map(({ items }) => items)).toEqual([[1], [2, 3]]);
    writes[1]?.end();
    expect((await Promise.all(calls)).flat()).toEqual([10, 20, 30]);
  });

  it('are written concurrently with the previous write when they fill a batch', async () => {
    const { writes, call } = aBatch();
    const calls = [call([1])];
    await turn();
    calls.push(call([2, 3, 4, 5, 6]));
    await turn();
    expect(writes.map(({ items }) => items)).toEqual([[1], [2, 3, 4, 5, 6]]);
    for (const write of writes) write.end();
    await Promise.all(calls);
  });

  it('fail together, without affecting later calls', async () => {
    const { writes, call } = aBatch();
    const failed = [call([1]), call([2])];
    await turn();
    const next = call([3]);
    writes[0]?.fail();
    for (const one of failed) await expect(one).rejects.toThrow('the database is away');
    await turn();
    writes[1]?.end();
    expect(await next).toEqual([30]);
  });

  it('are rejected while too many items are waiting', async () => {
    const { writes, call } = aBatch();
    const calls = [call([1, 2, 3, 4, 5]), call([6, 7, 8, 9, 10])];
    await turn();
    const waiting = call(Array.from({ length: 201 }, (_, i) => i));
    await expect(call([12])).rejects.toMatchObject({ code: 'overloaded' });
    for (const write of writes.splice(0)) write.end();
    await turn();
    for (const write of writes) write.end();
    await Promise.all([...calls, waiting]);
  });
});
