/**
 * Cells that a spreadsheet would run. A golden set may hold what users typed, and somebody opens its CSV in Excel: a
 * text that starts with `=`, `+`, `-`, `@`, a tab or CR is taken for a formula there, and one with an apostrophe before
 * it is not (OWASP, "CSV Injection").
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
