/** Reads JSON bodies that are too large for the main thread, in a thread. */
import { notUtf8, parseJson } from '../platform/http/request-bodies.ts';
import { createThreadPool, movable } from '../platform/threads/thread-pool.ts';
import { type ParsedItems, readFeedback, readLiveQueries } from './ingest-schema.ts';
import { cut, eachUnpacked, pack, weightOfFeedback, weightOfQuery } from './parts.ts';
import type { Feedback, LiveQuery } from './rules/live-query.ts';

export const tasks = {
  queries: (json: readonly Uint8Array[]) => inPackedParts(readLiveQueries(valueOf(json)), weightOfQuery),
  feedback: (json: readonly Uint8Array[]) => inPackedParts(readFeedback(valueOf(json)), weightOfFeedback),
} as const;

function valueOf(json: readonly Uint8Array[]): unknown {
  return parseJson(textOf(json));
}

function textOf(json: readonly Uint8Array[]): string {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  try {
    return json.map((piece) => utf8.decode(piece, { stream: true })).join('') + utf8.decode();
  } catch {
    throw notUtf8();
  }
}

/** What was refused is told with the first part, and there is always one. */
function inPackedParts<Item>(
  { items, positions, rejected }: ParsedItems<Item>,
  weightOf: (item: Item) => number,
): Uint8Array[] {
  const parts = items.length === 0 ? [[]] : cut(items, weightOf);
  let next = 0;
  return parts.map((part, index) => {
    const from = next;
    next += part.length;
    return pack({
      items: part,
      positions: positions.slice(from, next),
      rejected: index === 0 ? rejected : [],
    } satisfies ParsedItems<Item>);
  });
}

/** Of work that goes on although its caller has gone: what was sent shall be kept. */
const never = new AbortController().signal;

/** The thread starts with the first large body. */
export function createJsonBodyReader() {
  const pool = createThreadPool<typeof tasks>({
    tasks: import.meta.url,
    threads: 1,
    // What waits is bounded by its bytes, where bodies are read.
    mostWaiting: Number.POSITIVE_INFINITY,
    refusal: 'More large bodies wait than can be read; send this one again later.',
  });
  const read = async <Item>(
    name: keyof typeof tasks,
    json: readonly Uint8Array[],
  ): Promise<Iterable<ParsedItems<Item>>> => eachUnpacked(await pool.run(name, json, never, json.flatMap(movable)));
  return {
    /**
     * The live queries of a body, in parts that the main thread can take in at once.
     *
     * @param json in pieces, which may be moved to the thread; the caller has them no longer
     * @throws RecalldError body_unreadable
     */
    queries: (json: readonly Uint8Array[]): Promise<Iterable<ParsedItems<LiveQuery>>> => read('queries', json),
    /** Feedback likewise. */
    feedback: (json: readonly Uint8Array[]): Promise<Iterable<ParsedItems<Feedback>>> => read('feedback', json),
    close: (): Promise<void> => pool.close(),
  };
}
