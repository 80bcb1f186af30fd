import { describe, expect, it } from 'vitest';
import { combineCalls } from '../../../../src/platform/threads/combine-calls.ts';

describe('combined calls', () => {
  it('run the items of simultaneous calls together, and items that arrive meanwhile in the next batch', async () => {
    const batches: (readonly number[])[] = [];
    let late: Promise<unknown> = Promise.resolve();
    const double = combineCalls(async (items: readonly number[]) => {
      if (batches.push(items) === 1) late = Promise.all([double(3), double(4)]);
      return items.map((item) => 2 * item);
    });
    expect(await Promise.all([double(1), double(2)])).toEqual([2, 4]);
    expect(await late).toEqual([6, 8]);
    expect(batches).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  it('reject together if their batch fails, and continue with the next batch', async () => {
    const run = combineCalls(async (items: readonly string[]) => {
      if (items.includes('bad')) throw new Error('failed');
      return items;
    });
    const ends = await Promise.allSettled([run('good'), run('bad')]);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await run('good')).toBe('good');
  });
});
