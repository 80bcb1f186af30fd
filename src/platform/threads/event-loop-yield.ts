/** Divides long work on the main thread, so that requests come in between. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * @param most that is done in one turn of the event loop, in whatever the work is counted
 * @returns waits for a turn that has room for so much, null when this one has; what is more than `most` has a turn of
 * its own
 */
export function createEventLoopYield(most: number): (amount: number) => Promise<void> | null {
  let room = most;
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
      room = most - amount;
      ahead += 1;
      turn = after(turn);
    }
    return turn;
  };
}
