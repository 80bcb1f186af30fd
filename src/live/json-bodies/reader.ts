/** Reads JSON bodies that are too large for the main thread, in a thread. */

import { createThreadPool, movable } from '../../threads/thread-pool.ts';
import { eachUnpacked } from '../parts.ts';
import type { Feedback, LiveQuery } from '../rules/live-query.ts';
import type { ParsedItems } from '../schema/items.ts';
import type { tasks } from './tasks.ts';

export interface JsonBodyReader {
  /**
   * The live queries of a body, in parts that the main thread can take in at once.
   *
   * @param json in pieces, which may be moved to the thread; the caller has them no longer
   * @throws RecalldError body_unreadable
   */
  queries(json: readonly Uint8Array[]): Promise<Iterable<ParsedItems<LiveQuery>>>;
  /** Feedback likewise. */
  feedback(json: readonly Uint8Array[]): Promise<Iterable<ParsedItems<Feedback>>>;
  close(): Promise<void>;
}

/** Of work that goes on although its caller has gone: what was sent shall be kept. */
const never = new AbortController().signal;

/** The thread starts with the first large body. */
export function createJsonBodyReader(): JsonBodyReader {
  const pool = createThreadPool<typeof tasks>({
    folder: import.meta.dirname,
    threads: 1,
    // What waits is bounded by its bytes, where bodies are read.
    mostWaiting: Number.POSITIVE_INFINITY,
    refusal: 'More large bodies wait than can be read; send this one again later.',
  });
  const read = async <Item>(
    name: keyof typeof tasks,
    json: readonly Uint8Array[],
  ): Promise<Iterable<ParsedItems<Item>>> =>
    eachUnpacked(await pool.run(name, json, never, json.flatMap(movable)));
  return {
    queries: (json) => read('queries', json),
    feedback: (json) => read('feedback', json),
    close: () => pool.close(),
  };
}
