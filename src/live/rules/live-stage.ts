/** What one stage of a retriever had of a live query. */

export interface LiveStage {
  readonly name: string;
  /** One of several beside each other, which are joined after it. */
  readonly isSide: boolean;
  /** Its own time; null where nobody tells. */
  readonly latencyMs: number | null;
  /** Different documents that it handed on; null where nobody tells which. */
  readonly documents: number | null;
  /** Rank in it, from 1, of each result of the query, in their order; null for one that it did not have. Empty without documents. */
  readonly ranks: readonly (number | null)[];
}

/** Stages of one query; no retriever has more. */
export const MAX_STAGES = 10;

/** Results of a query whose ranks are kept, from the first on. */
const MAX_RANKS = 100;

/**
 * @param ids of what the stage handed on, best first; null where nobody tells
 * @param results ids of what the whole retriever answered, best first
 */
export function liveStage(
  { name, isSide, latencyMs }: Pick<LiveStage, 'name' | 'isSide' | 'latencyMs'>,
  ids: readonly string[] | null,
  results: readonly string[],
): LiveStage {
  if (ids === null) return { name, isSide, latencyMs, documents: null, ranks: [] };
  const rankOf = new Map([...new Set(ids)].map((id, place) => [id, place + 1]));
  const ranks = results.slice(0, MAX_RANKS).map((id) => rankOf.get(id) ?? null);
  return { name, isSide, latencyMs, documents: rankOf.size, ranks };
}

/** The same stage where the results of the query have become others of its results. */
export function withResults(stage: LiveStage, before: readonly string[], after: readonly string[]): LiveStage {
  if (stage.documents === null) return stage;
  const rankOf = new Map(before.map((id, place) => [id, stage.ranks[place] ?? null]));
  return { ...stage, ranks: after.slice(0, MAX_RANKS).map((id) => rankOf.get(id) ?? null) };
}
