import { notUtf8, parseJson } from '../platform/http/request-bodies.ts';
import { createThreadPool, movable } from '../platform/threads/thread-pool.ts';
import { type ParsedItems, readFeedback, readLiveQueries } from './ingest-schema.ts';
import { pack, splitByWeight, unpackEach, weightOfFeedback, weightOfQuery } from './item-batches.ts';
import type { Feedback, LiveQuery } from './rules/live-query.ts';

export const tasks = {
  queries: (json: readonly Uint8Array[]) => packBatches(readLiveQueries(parseJson(textOf(json))), weightOfQuery),
  feedback: (json: readonly Uint8Array[]) => packBatches(readFeedback(parseJson(textOf(json))), weightOfFeedback),
} as const;

function textOf(json: readonly Uint8Array[]): string {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  try {
    return json.map((piece) => utf8.decode(piece, { stream: true })).join('') + utf8.decode();
  } catch {
    throw notUtf8();
  }
}

/** Packs parsed items into batches. Always returns at least one batch; the first batch contains all rejections. */
function packBatches<Item>(
  { items, positions, rejected }: ParsedItems<Item>,
  weightOf: (item: Item) => number,
): Uint8Array[] {
  const batches = items.length === 0 ? [[]] : splitByWeight(items, weightOf);
  let next = 0;
  return batches.map((batch, index) => {
    const from = next;
    next += batch.length;
    return pack({
      items: batch,
      positions: positions.slice(from, next),
      rejected: index === 0 ? rejected : [],
    } satisfies ParsedItems<Item>);
  });
}

/** A signal that never aborts: parsing continues after the client has disconnected, because the data must be stored. */
const never = new AbortController().signal;

/** Creates a reader whose worker thread starts when the first large body arrives. */
export function createJsonBodyReader() {
  const pool = createThreadPool<typeof tasks>({
    tasks: import.meta.url,
    threads: 1,
    // The queue is not limited here, because the reader of request bodies limits the total bytes.
    maxWaiting: Number.POSITIVE_INFINITY,
    refusal: 'Too many large request bodies are waiting to be parsed; send this request again later.',
  });
  const read = async <Item>(
    name: keyof typeof tasks,
    json: readonly Uint8Array[],
  ): Promise<Iterable<ParsedItems<Item>>> => unpackEach(await pool.run(name, json, never, json.flatMap(movable)));
  return {
    /**
     * Parses the live queries in a body into batches that the main thread ingests one at a time.
     *
     * @param json pieces of the body; they may be transferred to the thread, so the caller must not use them afterwards
     * @throws RecalldError body_unreadable
     */
    queries: (json: readonly Uint8Array[]): Promise<Iterable<ParsedItems<LiveQuery>>> => read('queries', json),
    feedback: (json: readonly Uint8Array[]): Promise<Iterable<ParsedItems<Feedback>>> => read('feedback', json),
    close: (): Promise<void> => pool.close(),
  };
}
