/** Documents in an order, as retriever and store give them. */

export interface RankedDocument {
  readonly id: string;
  readonly score: number | null;
  /** Null where nobody gave it. */
  readonly text: string | null;
}

/** Documents best first, or why there are none. */
export type Ranking =
  | { readonly kind: 'ranking'; readonly documents: readonly RankedDocument[] }
  | { readonly kind: 'none'; readonly reason: string };

export interface Place {
  readonly rank: number;
  readonly score: number | null;
}

/** Rank from 1, each document counted once, at its best. */
export function placeIn(documents: readonly RankedDocument[], id: string): Place | null {
  const distinct = new Map<string, number | null>();
  for (const one of documents) {
    if (!distinct.has(one.id)) distinct.set(one.id, one.score);
    if (one.id === id) return { rank: distinct.size, score: distinct.get(id) ?? null };
  }
  return null;
}

export const placeInRanking = (ranking: Ranking, id: string): Place | null =>
  ranking.kind === 'ranking' ? placeIn(ranking.documents, id) : null;

export const lengthOf = (ranking: Ranking): number =>
  ranking.kind === 'ranking' ? new Set(ranking.documents.map(({ id }) => id)).size : 0;

const MAX_NAMED = 3;

export function namesOf(ids: readonly string[]): string {
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
  return `${ids.slice(0, MAX_NAMED).join(', ')}${more}`;
}
