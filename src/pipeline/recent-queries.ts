/**
 * The last live queries that were not sampled, held for a while in this process: when a user is unhappy with one of
 * them, it is kept after all. Raw texts live here and nowhere else, in memory alone.
 */
import type { LiveQuery } from '../core/live/live-query.ts';

export interface RecentQueries {
  hold(query: LiveQuery): void;
  /** Hands over a held query, once. */
  take(pipeline: string, id: string): LiveQuery | null;
  /** Remembers that somebody was unhappy with a query that may still come. */
  noteUnhappy(pipeline: string, id: string): void;
  isUnhappy(pipeline: string, id: string): boolean;
}

export interface RecentLimits {
  readonly queries: number;
  /** Of texts and vectors, estimated. */
  readonly bytes: number;
}

/** The oldest leave first when a limit is reached. */
export function createRecentQueries(limits: RecentLimits): RecentQueries {
  const held = new Map<string, LiveQuery>();
  const unhappy = new Set<string>();
  let bytes = 0;
  const drop = (key: string, query: LiveQuery): void => {
    held.delete(key);
    bytes -= sizeOf(query);
  };
  return {
    hold(query) {
      const key = keyOf(query.pipeline, query.id);
      if (held.has(key)) return;
      held.set(key, query);
      bytes += sizeOf(query);
      for (const [oldest, old] of held) {
        if (held.size <= limits.queries && bytes <= limits.bytes) break;
        drop(oldest, old);
      }
    },
    take(pipeline, id) {
      const key = keyOf(pipeline, id);
      const query = held.get(key) ?? null;
      if (query !== null) drop(key, query);
      return query;
    },
    noteUnhappy(pipeline, id) {
      unhappy.add(keyOf(pipeline, id));
      for (const oldest of unhappy) {
        if (unhappy.size <= limits.queries) break;
        unhappy.delete(oldest);
      }
    },
    isUnhappy: (pipeline, id) => unhappy.has(keyOf(pipeline, id)),
  };
}

function keyOf(pipeline: string, id: string): string {
  return JSON.stringify([pipeline, id]);
}

/** What a query weighs in memory, roughly. */
function sizeOf({ text, embedding, results }: LiveQuery): number {
  return 500 + 2 * (text?.length ?? 0) + (embedding?.byteLength ?? 0) + 100 * results.length;
}
