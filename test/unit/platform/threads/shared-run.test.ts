import { expect, it } from 'vitest';
import { sharedRun } from '../../../../src/platform/threads/wait.ts';

it('reads once for all concurrent callers, and again for later callers', async () => {
  let reads = 0;
  const read = sharedRun(async () => (reads += 1));
  expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1]);
  expect(await read()).toBe(2);
});

it('rejects all callers that share a failed read, and reads again on the next call', async () => {
  let reads = 0;
  const read = sharedRun(async () => {
    reads += 1;
    if (reads === 1) throw new Error('down');
    return reads;
  });
  const shared = await Promise.allSettled([read(), read()]);
  expect(shared.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await read()).toBe(2);
});
