/** A live query with what its search said of the store, as the passes of this folder take it. */

export interface ScoredQuery {
  readonly id: string;
  /** Queries of one session are one vote; null when nobody named the session. */
  readonly session: string | null;
  /** Mean cosine to its k best distinct chunks; null when it could not be measured. */
  readonly score: number | null;
  /** Row of its vector in the matrix that comes with the queries; null without a vector. */
  readonly row: number | null;
  readonly occurredAt: Date;
}

export interface MeasuredQuery extends ScoredQuery {
  readonly score: number;
}

/** Queries that are left out, each counted once by the first of these reasons. */
export interface DroppedQueries {
  /** No score, or one that is not finite. */
  readonly notMeasurable: number;
  /** A vector that holds NaN or an infinity. */
  readonly notFiniteVector: number;
  /** A vector of length 0. */
  readonly zeroVector: number;
}

/**
 * The queries that can be judged, in their order, and how many cannot. A query without a vector is kept: it belongs to
 * no region and is compared with the whole baseline.
 *
 * @param lengths of the vectors that the rows of the queries point into, as rowLengths gives them
 */
export function measuredQueries(
  queries: readonly ScoredQuery[],
  lengths: Float64Array,
): { readonly measured: readonly MeasuredQuery[]; readonly dropped: DroppedQueries } {
  const measured: MeasuredQuery[] = [];
  const dropped = { notMeasurable: 0, notFiniteVector: 0, zeroVector: 0 };
  for (const query of queries) {
    const { score, row } = query;
    if (score === null || !Number.isFinite(score)) {
      dropped.notMeasurable++;
      continue;
    }
    const length = row === null ? 1 : (lengths[row] ?? 0);
    if (length === 0) dropped.zeroVector++;
    else if (!Number.isFinite(length)) dropped.notFiniteVector++;
    else measured.push({ ...query, score });
  }
  return { measured, dropped };
}
