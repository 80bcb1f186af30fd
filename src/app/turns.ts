/** Divides long work on the main thread, so that requests come in between. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * @param most that is done in one turn of the event loop, in whatever the work is counted
 * @returns waits for a turn that has room for so much; what is more than `most` has a turn of its own
 */
export function createTurns(most: number): (amount: number) => Promise<void> {
  let room = most;
  let turn: Promise<unknown> = Promise.resolve();
  return async (amount) => {
    room -= amount;
    if (room < 0) {
      room = most - amount;
      turn = turn.then(() => nextTurn());
    }
    await turn;
  };
}
