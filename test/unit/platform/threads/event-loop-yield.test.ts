import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createEventLoopYield } from '../../../../src/platform/threads/event-loop-yield.ts';

/** Does all the work, and returns the amount of work that was done in each turn of the event loop. */
async function turnsOf(most: number, amounts: readonly number[]): Promise<number[][]> {
  const takeTurn = createEventLoopYield(most);
  const turns: number[][] = [];
  let turn: number[] = [];
  const all = amounts.map(async (amount) => {
    await takeTurn(amount);
    turn.push(amount);
  });
  while (turns.flat().length < amounts.length) {
    await nextTurn();
    turns.push(turn);
    turn = [];
  }
  await Promise.all(all);
  return turns.filter((done) => done.length > 0);
}

it('processes as many items in a turn as fit, in order', async () => {
  expect(await turnsOf(10, [4, 4, 4, 4, 4])).toEqual([[4, 4], [4, 4], [4]]);
});

it('processes an item that is larger than a turn in a separate turn', async () => {
  expect(await turnsOf(10, [4, 30, 4, 4])).toEqual([[4], [30], [4, 4]]);
});

it('does not wait while the current turn has room', async () => {
  const takeTurn = createEventLoopYield(10);
  let hasYielded = false;
  setImmediate(() => {
    hasYielded = true;
  });
  await takeTurn(8);
  expect(hasYielded).toBe(false);
});
