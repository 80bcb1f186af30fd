/** How the queries that a retriever may have in flight are divided among those who ask it. */

export interface ShareClaim {
  /** Most queries in flight to the retriever. */
  readonly concurrency: number;
  /** What the asker may use until it hears otherwise: the larger of its last share and what it has in flight. */
  readonly using: number;
  /** What the others may use, by the same rule. */
  readonly others: readonly number[];
  /** Place of the asker among all, from 0. */
  readonly rank: number;
}

export interface Share {
  /** Most that the asker may have in flight from now on; 0 when it must wait. */
  readonly slots: number;
  /** What it is to be counted with until it asks again. */
  readonly counted: number;
}

/**
 * Divides the concurrency equally, the remainder going to the first ones; a share is never more than the others leave
 * free. An asker that has more than its share is counted with all it has until it has come down, so that the shares in
 * use never add up to more than the concurrency.
 */
export function shareOf({ concurrency, using, others, rank }: ShareClaim): Share {
  const askers = others.length + 1;
  const remainder = rank < concurrency % askers ? 1 : 0;
  const fair = Math.max(1, Math.floor(concurrency / askers) + remainder);
  const free = Math.max(0, concurrency - others.reduce((sum, slots) => sum + slots, 0));
  const slots = Math.min(fair, free);
  return { slots, counted: Math.max(slots, using) };
}
