/** Splits long work on the main thread, so that requests are served in between. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * @param limit maximum amount of work per turn of the event loop, in any unit
 * @returns a function that accepts an amount of work. It returns null if the current turn has room for this amount, or
 *   a promise that resolves in the first turn with room. An amount above `limit` gets a turn of its own.
 */
export function createEventLoopYield(limit: number): (amount: number) => Promise<void> | null {
  let room = limit;
  let turn: Promise<void> | null = null;
  let ahead = 0;
  const after = async (before: Promise<void> | null): Promise<void> => {
    await before;
    await nextTurn();
    ahead -= 1;
    if (ahead === 0) turn = null;
  };
  return (amount) => {
    room -= amount;
    if (room < 0) {
      room = limit - amount;
      ahead += 1;
      turn = after(turn);
    }
    return turn;
  };
}
