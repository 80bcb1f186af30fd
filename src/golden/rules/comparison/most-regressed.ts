/** A query with its scores in both runs. */
export interface QueryDifference {
  readonly queryId: string;
  readonly baseline: number;
  readonly candidate: number;
  /** candidate - baseline. */
  readonly difference: number;
}

/**
 * The queries that score less in the candidate, most regressed first, ties in the given order.
 *
 * @param baseline one score per query id
 * @param candidate one score per query id
 * @param most how many at most
 */
export function mostRegressed(
  queryIds: readonly string[],
  baseline: ArrayLike<number>,
  candidate: ArrayLike<number>,
  most: number,
): QueryDifference[] {
  const differences = Float64Array.from(queryIds, (_, row) => (candidate[row] ?? 0) - (baseline[row] ?? 0));
  const rows = [...differences.keys()].filter((row) => (differences[row] ?? 0) < 0);
  return rows
    .toSorted((a, b) => (differences[a] ?? 0) - (differences[b] ?? 0) || a - b)
    .slice(0, most)
    .map((row) => ({
      queryId: queryIds[row] ?? '',
      baseline: baseline[row] ?? 0,
      candidate: candidate[row] ?? 0,
      difference: differences[row] ?? 0,
    }));
}
