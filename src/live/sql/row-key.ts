/** By what a live query or its feedback is told from another, within the days in which it may be sent again. */
export interface RowKey {
  readonly pipeline: string;
  readonly id: string;
}

/** Which of the rows that were sent are among those that were inserted; of equal ones only the first can be. */
export function areNew(sent: readonly RowKey[], inserted: readonly RowKey[]): boolean[] {
  const fresh = new Set(inserted.map(keyOf));
  return sent.map((row) => fresh.delete(keyOf(row)));
}

/** No text of PostgreSQL has the character in between. */
function keyOf({ pipeline, id }: RowKey): string {
  return `${pipeline}\0${id}`;
}
