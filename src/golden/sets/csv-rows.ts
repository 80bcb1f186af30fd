import { parse } from 'csv-parse';
import { malformed, type SourceLine, type SourcePlace } from '../../core/text/source-line.ts';
import { roleOfColumn } from '../rules/column-roles.ts';
import { qrelsCells } from '../rules/qrels-form.ts';
import type { TableRow } from '../rules/table-columns.ts';

const delimiters = [',', ';', '\t'] as const;
/** Matches a first line such as `sep=;`, with which Excel declares the delimiter of a CSV file. */
const SEPARATOR_LINE = /^\uFEFF?"?sep=([,;\t])"?$/i;
const MAX_ROW_LENGTH = 1024 * 1024;

/**
 * Yields the rows of a CSV table (RFC 4180), the header first. The delimiter is read from a first line such as `sep=;`,
 * which Excel writes. Without such a line, the delimiter is detected from the header. Line endings inside quotes become
 * LF, so that LF and CRLF files have the same content. Rows of empty cells are skipped. All other rows must have a cell
 * for each named column, and must have no text after the last column.
 *
 * @param mayStandAlone true to allow rows that have only one cell
 * @throws RecalldError `file_malformed`, and any error that occurs while the lines are read
 */
export async function* csvRows(
  lines: AsyncIterable<readonly SourceLine[]>,
  mayStandAlone = false,
): AsyncGenerator<TableRow[]> {
  let delimiter: string | null = null;
  let header: TableRow | null = null;
  for await (const rows of rowBatches(lines)) {
    const [first] = rows;
    const named: string | undefined = delimiter === null ? SEPARATOR_LINE.exec(first?.text ?? '')?.[1] : undefined;
    if (named !== undefined) rows.shift();
    delimiter ??= named ?? (first === undefined ? ',' : delimiterOf(first));
    if (rows.length === 0) continue;
    const filled = (await parseRows(rows, delimiter)).filter(({ cells }) => cells.some(isFilled));
    for (const row of filled) {
      if (header === null) header = row;
      else if (row.cells.length > 1 || !mayStandAlone) refuseOtherWidth(row, header.cells);
    }
    yield filled;
  }
}

const isFilled = (cell: string): boolean => cell.trim() !== '';

function refuseOtherWidth({ cells, ...place }: TableRow, names: readonly string[]): void {
  const needed = names.findLastIndex(isFilled) + 1;
  if (cells.length >= needed && !cells.slice(names.length).some(isFilled)) return;
  const found = cells.length === 1 ? '1 cell' : `${cells.length} cells`;
  const isNumbered = cells.length === names.length + 1 && /^\d+$/.test(cells[0] ?? '');
  const other = isNumbered
    ? ', or write the file without row numbers (index=False in pandas, row.names=FALSE in R)'
    : '';
  throw malformed(
    place,
    `has ${found}, but the header has ${names.length}; put double quotes around text that contains the delimiter${other}`,
  );
}

/**
 * Joins lines into rows, each with the number of the line on which it starts. A row ends at the first line end at which
 * its number of double quotes is even. Empty lines between rows are skipped; no batch is empty.
 */
async function* rowBatches(batches: AsyncIterable<readonly SourceLine[]>): AsyncGenerator<SourceLine[]> {
  let open: SourceLine | null = null;
  for await (const lines of batches) {
    const rows: SourceLine[] = [];
    for (const line of lines) {
      const row: SourceLine = open === null ? line : { ...open, text: `${open.text}\n${line.text}` };
      if (row.text === '') continue;
      if (row.text.length > MAX_ROW_LENGTH) {
        throw malformed(row, 'starts a row of more than 1 MiB; check that each double quote is closed');
      }
      // Counts only the quotes in the new line, because counting those of the whole row again would take quadratic
      // time.
      const staysOpen: boolean = (open !== null) !== (quoteCount(line.text) % 2 === 1);
      open = staysOpen ? row : null;
      if (!staysOpen) rows.push(row);
    }
    if (rows.length > 0) yield rows;
  }
  if (open !== null) yield [open];
}

/**
 * Splits rows into cells. The parser counts lines incorrectly inside quotes, so each row stores the number of its first
 * line.
 */
function parseRows(rows: readonly SourceLine[], delimiter: string): Promise<TableRow[]> {
  const text = rows.map((row) => row.text).join('\n');
  const place = (index: number): SourcePlace => {
    const { file = '', line = 0 } = rows[index] ?? {};
    return { file, line };
  };
  return new Promise((resolve, reject) => {
    parse(text, { delimiter, record_delimiter: '\n', relax_column_count: true }, (error, records) => {
      if (error === undefined) resolve(records.map((cells, index) => ({ ...place(index), cells })));
      else reject(malformed(place(Number(error['records'])), quotingProblem(error.code)));
    });
  });
}

function quoteCount(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) count += 1;
  return count;
}

/**
 * Returns the delimiter that yields the most known column names; ties are broken by the number of columns. Throws if
 * the two best delimiters yield the same number of known names, and this number is at least two.
 */
function delimiterOf(header: SourceLine): string {
  const [best, other] = delimiters
    .map((delimiter) => {
      const names = cellsOf(header.text, delimiter);
      return { delimiter, names, known: names.filter((name) => roleOfColumn(name) !== null).length };
    })
    .toSorted((a, b) => b.known - a.known || b.names.length - a.names.length);
  if (best === undefined || other === undefined || best.known < 2 || best.known > other.known) {
    return best?.delimiter ?? ',';
  }
  const names = [best, other].map(({ delimiter }) => (delimiter === '\t' ? 'tabs' : `"${delimiter}"`));
  throw malformed(header, `can be read with columns separated by either ${names.join(' or ')}; use only one of them`);
}

/** Returns the column names of a table from the beginning of its file. */
export function headerNames(head: string): string[] {
  const lines = head.split(/\r?\n/).filter((line) => line.trim() !== '');
  const [first = '', second = ''] = lines;
  const named = SEPARATOR_LINE.exec(first)?.[1];
  const text = (named === undefined ? first : second).replace(/^\uFEFF/, '');
  const splits = delimiters.map((delimiter) => cellsOf(text, delimiter));
  if (named !== undefined) return cellsOf(text, named);
  return splits.toSorted((a, b) => b.length - a.length)[0] ?? [];
}

function cellsOf(text: string, delimiter: string): string[] {
  return qrelsCells(text, delimiter === ';' ? ';' : delimiter === '\t' ? 'tabs' : ',');
}

function quotingProblem(code: string): string {
  switch (code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'starts a row with a double quote that is never closed; close it';
    case 'INVALID_OPENING_QUOTE':
      return 'has a double quote inside a cell; put the whole cell in double quotes and double the inner quote';
    case 'CSV_INVALID_CLOSING_QUOTE':
      return 'has text after a closing double quote; double each double quote inside a cell';
    default:
      return `is not valid CSV (${code}); quote the cells as in RFC 4180`;
  }
}
