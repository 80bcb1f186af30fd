/**
 * Cells that a spreadsheet would run. A golden set may hold what users typed, and its CSV may be opened in Excel: a text
 * that starts with `=`, `+`, `-`, `@`, a tab or CR is taken for a formula there, and one with an apostrophe before it is
 * not (OWASP, "CSV Injection").
 */
const GUARDED = /^'+[=+\-@\t\r]/;
const FORMULA = /^'*[=+\-@\t\r]/;

/** The text as it stands in a file: with one more apostrophe when it could be read as a formula. */
export function guardCell(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/** The text of a cell of a file; the inverse of `guardCell`. */
export function unguardCell(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell;
}

/** The columns with which every export begins. A table of another program keeps its apostrophes. */
export const exportedColumns = ['query_id', 'question', 'document', 'grade'] as const;

/** Whether a table begins with the columns of an export, whose cells are guarded. */
export function isGuardedTable(header: readonly string[]): boolean {
  return exportedColumns.every((name, index) => header[index]?.trim() === name);
}
