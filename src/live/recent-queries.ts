/**
 * The last live queries that no rule kept, held for a while in this process: when a user is unhappy with one of them,
 * it is kept after all. Raw texts live here and nowhere else, in memory alone.
 */
import type { LiveQuery } from './rules/live-query.ts';

export type RecentQueries = ReturnType<typeof createRecentQueries>;

export interface HeldQuery {
  readonly query: LiveQuery;
  readonly receivedAt: Date;
  /** Whether the rate kept it. */
  readonly isKept: boolean;
}

/** What a user was unhappy with. */
export interface Judged {
  readonly pipeline: string;
  readonly queryId: string;
  /** Set when `queryId` may be a span that is no query: then the queries of this trace are meant. */
  readonly traceId: string | null;
}

interface Weighed {
  readonly one: HeldQuery;
  readonly weight: number;
}

/** The oldest leave first when a limit is reached. */
export function createRecentQueries(limits: {
  readonly queries: number;
  /** Of texts and vectors, estimated. */
  readonly bytes: number;
}) {
  const held = new Map<string, Weighed>();
  /** Keys of the held queries of a trace. */
  const ofTrace = new Map<string, Set<string>>();
  const unhappy = new Set<string>();
  // One walk for good: to begin again each time would step over all that has left before.
  let oldestHeld = held.entries();
  let oldestUnhappy = unhappy.values();
  let bytes = 0;
  const drop = (key: string, { one: { query }, weight }: Weighed): void => {
    held.delete(key);
    bytes -= weight;
    if (query.traceId === null) return;
    const trace = traceKeyOf(query.pipeline, query.traceId);
    const siblings = ofTrace.get(trace);
    siblings?.delete(key);
    if (siblings?.size === 0) ofTrace.delete(trace);
  };
  return {
    hold(one: HeldQuery): void {
      const { query } = one;
      const key = keyOf(query.pipeline, query.id);
      if (held.has(key)) return;
      const weight = sizeOf(query);
      held.set(key, { one, weight });
      bytes += weight;
      if (query.traceId !== null) {
        const trace = traceKeyOf(query.pipeline, query.traceId);
        ofTrace.set(trace, (ofTrace.get(trace) ?? new Set()).add(key));
      }
      while (held.size > limits.queries || bytes > limits.bytes) {
        const oldest = oldestHeld.next();
        if (oldest.done === true) oldestHeld = held.entries();
        else drop(oldest.value[0], oldest.value[1]);
      }
    },
    /** Hands over what is held of those that a user judged, once: the query, else all of the trace. */
    take({ pipeline, queryId, traceId }: Judged): readonly HeldQuery[] {
      const key = keyOf(pipeline, queryId);
      const siblings = traceId === null ? [] : [...(ofTrace.get(traceKeyOf(pipeline, traceId)) ?? [])];
      return (held.has(key) ? [key] : siblings).flatMap((found) => {
        const weighed = held.get(found);
        if (weighed === undefined) return [];
        drop(found, weighed);
        return [weighed.one];
      });
    },
    /** Remembers that somebody was unhappy with a query that may still come. */
    noteUnhappy({ pipeline, queryId, traceId }: Judged): void {
      unhappy.add(keyOf(pipeline, queryId));
      if (traceId !== null) unhappy.add(traceKeyOf(pipeline, traceId));
      while (unhappy.size > limits.queries) {
        const oldest = oldestUnhappy.next();
        if (oldest.done === true) oldestUnhappy = unhappy.values();
        else unhappy.delete(oldest.value);
      }
    },
    isUnhappy: ({ pipeline, id, traceId }: Pick<LiveQuery, 'pipeline' | 'id' | 'traceId'>): boolean =>
      unhappy.size > 0 &&
      (unhappy.has(keyOf(pipeline, id)) || (traceId !== null && unhappy.has(traceKeyOf(pipeline, traceId)))),
  };
}

/** No name of a pipeline has the character that ends it here. */
function keyOf(pipeline: string, id: string): string {
  return `query ${pipeline}\0${id}`;
}

function traceKeyOf(pipeline: string, traceId: string): string {
  return `trace ${pipeline}\0${traceId}`;
}

/** What a query weighs in memory, roughly. */
function sizeOf({ text, embedding, results }: LiveQuery): number {
  let bytes = 500 + 2 * (text?.length ?? 0) + (embedding?.byteLength ?? 0);
  for (const { id } of results) bytes += 80 + 2 * id.length;
  return bytes;
}
