/**
 * Buffers recent live queries in memory, so that a query that receives negative feedback can still be sampled. Raw
 * texts exist only here and are never written to disk.
 */
import type { LiveQuery } from './rules/live-query.ts';

export type RecentQueries = ReturnType<typeof createRecentQueries>;

export interface RecentQuery {
  readonly query: LiveQuery;
  readonly receivedAt: Date;
  /** True if the sampling rate selected the query; the query is then already stored. */
  readonly isSampled: boolean;
}

export interface FeedbackTarget {
  readonly pipeline: string;
  readonly queryId: string;
  /**
   * Id of a trace; set if `queryId` may identify a span. If the span is not a live query, the feedback applies to the
   * queries of the trace.
   */
  readonly traceId: string | null;
}

/** Creates a buffer that evicts the oldest queries when a limit is reached. */
export function createRecentQueries(limits: {
  readonly queries: number;
  /** Maximum estimated size of texts and vectors. */
  readonly bytes: number;
}) {
  const entries = new Map<string, RecentQuery>();
  const keysByTrace = new Map<string, Set<string>>();
  const negative = new Set<string>();
  // The iterators are long-lived, because each new iterator would step over all deleted entries again.
  let oldestEntries = entries.entries();
  let oldestNegative = negative.values();
  let bytes = 0;

  const remove = (key: string, { query }: RecentQuery): void => {
    entries.delete(key);
    bytes -= sizeOf(query);
    if (query.traceId === null) return;
    const trace = traceKeyOf(query.pipeline, query.traceId);
    const siblings = keysByTrace.get(trace);
    siblings?.delete(key);
    if (siblings?.size === 0) keysByTrace.delete(trace);
  };
  return {
    add(recent: RecentQuery): void {
      const { query } = recent;
      const key = keyOf(query.pipeline, query.id);
      if (entries.has(key)) return;
      entries.set(key, recent);
      bytes += sizeOf(query);
      if (query.traceId !== null) {
        const trace = traceKeyOf(query.pipeline, query.traceId);
        keysByTrace.set(trace, (keysByTrace.get(trace) ?? new Set()).add(key));
      }
      while (entries.size > limits.queries || bytes > limits.bytes) {
        const oldest = oldestEntries.next();
        if (oldest.done === true) oldestEntries = entries.entries();
        else remove(oldest.value[0], oldest.value[1]);
      }
    },
    /** Removes and returns the target query or, if this query is not buffered, all buffered queries of its trace. */
    take({ pipeline, queryId, traceId }: FeedbackTarget): readonly RecentQuery[] {
      const key = keyOf(pipeline, queryId);
      const siblings = traceId === null ? [] : [...(keysByTrace.get(traceKeyOf(pipeline, traceId)) ?? [])];
      return (entries.has(key) ? [key] : siblings).flatMap((found) => {
        const entry = entries.get(found);
        if (entry === undefined) return [];
        remove(found, entry);
        return [entry];
      });
    },
    /** Remembers negative feedback on a query that may still arrive. */
    noteNegativeFeedback({ pipeline, queryId, traceId }: FeedbackTarget): void {
      negative.add(keyOf(pipeline, queryId));
      if (traceId !== null) negative.add(traceKeyOf(pipeline, traceId));
      while (negative.size > limits.queries) {
        const oldest = oldestNegative.next();
        if (oldest.done === true) oldestNegative = negative.values();
        else negative.delete(oldest.value);
      }
    },
    hasNegativeFeedback: ({ pipeline, id, traceId }: LiveQuery): boolean =>
      negative.size > 0 &&
      (negative.has(keyOf(pipeline, id)) || (traceId !== null && negative.has(traceKeyOf(pipeline, traceId)))),
  };
}

/** Joins the pipeline and the id with a separator that pipeline names never contain. */
function keyOf(pipeline: string, id: string): string {
  return `query ${pipeline}\0${id}`;
}

function traceKeyOf(pipeline: string, traceId: string): string {
  return `trace ${pipeline}\0${traceId}`;
}

/** Returns the approximate size of a query in memory, in bytes. */
function sizeOf({ text, episode, embedding, results }: LiveQuery): number {
  let bytes = 500 + 2 * ((text?.length ?? 0) + (episode?.originalText?.length ?? 0)) + (embedding?.byteLength ?? 0);
  for (const { id } of results) bytes += 80 + 2 * id.length;
  return bytes;
}
