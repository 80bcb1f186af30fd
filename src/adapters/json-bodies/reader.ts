/** Reads JSON bodies that are too large for the main thread, in a thread. */
import type { ParsedItems } from '../../contracts/http/items.ts';
import type { Feedback, LiveQuery } from '../../core/live/live-query.ts';
import { createBytesInHand } from '../threads/bytes-in-hand.ts';
import { eachUnpacked } from '../threads/parts.ts';
import { createThreadPool, movable } from '../threads/thread-pool.ts';
import type { tasks } from './tasks.ts';

export interface JsonBodyReader {
  /**
   * The live queries of a body, in parts that the main thread can take in at once.
   *
   * @param json in pieces, which may be moved to the thread; the caller has them no longer
   * @throws RecalldError body_unreadable; overloaded when too many bodies wait
   */
  queries(json: readonly Uint8Array[]): Promise<Iterable<ParsedItems<LiveQuery>>>;
  /** Feedback likewise. */
  feedback(json: readonly Uint8Array[]): Promise<Iterable<ParsedItems<Feedback>>>;
  close(): Promise<void>;
}

/** Of bodies in hand: some seconds of reading. */
const MOST_BYTES = 128 * 1024 * 1024;

const REFUSAL = 'More large bodies wait than can be read; send smaller batches, or this one again later.';

/** Of work that goes on although its caller has gone: what was sent shall be kept. */
const never = new AbortController().signal;

/** The thread starts with the first large body. */
export function createJsonBodyReader(): JsonBodyReader {
  const pool = createThreadPool<typeof tasks>({
    folder: import.meta.dirname,
    threads: 1,
    // Their bytes are what is bounded.
    mostWaiting: Number.POSITIVE_INFINITY,
    refusal: REFUSAL,
  });
  const holding = createBytesInHand(MOST_BYTES, REFUSAL);
  const read = async <Item>(
    name: keyof typeof tasks,
    json: readonly Uint8Array[],
  ): Promise<Iterable<ParsedItems<Item>>> => {
    const bytes = json.reduce((sum, { length }) => sum + length, 0);
    return eachUnpacked(await holding(bytes, () => pool.run(name, json, never, json.flatMap(movable))));
  };
  return {
    queries: (json) => read('queries', json),
    feedback: (json) => read('feedback', json),
    close: () => pool.close(),
  };
}
