/** Runs that are in one piece: each is asked by one worker as a whole. */
import type { BatchCounts, GoldenBatches } from '../../src/golden/sql/golden-batches.ts';

export class MemoryGoldenBatches implements GoldenBatches {
  async claim(): Promise<null> {
    return null;
  }

  async renew(): Promise<boolean> {
    return true;
  }

  async release(): Promise<void> {
    // Nobody holds one.
  }

  async complete(): Promise<void> {
    // There is none.
  }

  async completeAll(): Promise<void> {
    // There is none.
  }

  async counts(): Promise<BatchCounts> {
    return { free: 0, held: 0, done: 1 };
  }
}
