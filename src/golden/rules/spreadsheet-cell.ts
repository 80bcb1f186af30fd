/**
 * Matches cells with a guard: a leading apostrophe that prevents formula injection (OWASP, "CSV Injection"). A golden
 * set may contain user input, and its CSV may be opened in Excel. Without a leading apostrophe, Excel treats text as a
 * formula if it starts with `=`, `+`, `-`, `@`, a tab or CR.
 */
const GUARDED = /^'+[=+\-@\t\r]/;
const FORMULA = /^'*[=+\-@\t\r]/;

export function guardCell(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

export function unguardCell(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell;
}

/** First columns of every CSV file that recalld exports. Apostrophes are removed only from such files. */
export const exportedColumns = ['query_id', 'question', 'document', 'grade'] as const;

/** True if a table begins with the columns of an export, so that its cells may be guarded by an apostrophe. */
export function isGuardedTable(header: readonly string[]): boolean {
  return exportedColumns.every((name, index) => header[index]?.trim() === name);
}
