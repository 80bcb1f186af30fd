/** What `unnest` wants: one array for each column. */
export function columnsOf<Row>(
  rows: readonly Row[],
  columns: readonly ((row: Row) => unknown)[],
): unknown[][] {
  return columns.map((column) => rows.map(column));
}
