/**
 * Matches guarded cells. The guard prevents formula injection: a golden set may contain user input, and its CSV may be
 * opened in Excel, which treats text that starts with `=`, `+`, `-`, `@`, a tab or CR as a formula unless an apostrophe
 * precedes it (OWASP, "CSV Injection").
 */
const GUARDED = /^'+[=+\-@\t\r]/;
const FORMULA = /^'*[=+\-@\t\r]/;

/** Adds an apostrophe if the text could be read as a formula. */
export function guardCell(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/** Removes the apostrophe that `guardCell` added. */
export function unguardCell(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell;
}

/**
 * The first column names in every CSV file that recalld exports. Apostrophes are removed only from such files, not from
 * tables of other tools.
 */
export const exportedColumns = ['query_id', 'question', 'document', 'grade'] as const;

/** True if a table begins with the columns of an export, whose cells are guarded. */
export function isGuardedTable(header: readonly string[]): boolean {
  return exportedColumns.every((name, index) => header[index]?.trim() === name);
}
