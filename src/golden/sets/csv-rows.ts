/** The rows of a CSV table, each with the line it starts in. */
import { parse } from 'csv-parse';
import { malformed, type SourceLine, type SourcePlace } from '../../text/source-line.ts';

const delimiters = [',', ';', '\t'] as const;
const MAX_ROW_LENGTH = 1024 * 1024;

export interface Row extends SourcePlace {
  readonly cells: readonly string[];
}

/**
 * The rows of a CSV table (RFC 4180), its header first. The delimiter is the one of comma, semicolon and tab that the header
 * holds most often. Line ends inside quotes become LF, so that a file means the same with LF and with CRLF.
 * @throws RecalldError `file_malformed`, and what reading the lines throws.
 */
export async function* csvRows(lines: AsyncIterable<readonly SourceLine[]>): AsyncGenerator<Row[]> {
  let delimiter: string | null = null;
  for await (const rows of rowBatches(lines)) {
    delimiter ??= delimiterOf(rows[0]?.text ?? '');
    yield await parseRows(rows, delimiter);
  }
}

/**
 * Joins lines into rows, each at the line it starts in: a row ends where the number of its double quotes is even.
 * Empty lines between rows are left out; no batch is empty.
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
      // Only the quotes of the new line are counted: a row of many lines would otherwise be counted again and again.
      const staysOpen: boolean = (open !== null) !== (quoteCount(line.text) % 2 === 1);
      open = staysOpen ? row : null;
      if (!staysOpen) rows.push(row);
    }
    if (rows.length > 0) yield rows;
  }
  if (open !== null) yield [open];
}

/** The cells of each row. The parser's own line numbers go wrong inside quotes, so a row keeps the line it has. */
function parseRows(rows: readonly SourceLine[], delimiter: string): Promise<Row[]> {
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

function delimiterOf(header: string): string {
  const plain = header.replaceAll(/"[^"]*"/g, '');
  let best: string = delimiters[0];
  for (const delimiter of delimiters) {
    if (plain.split(delimiter).length > plain.split(best).length) best = delimiter;
  }
  return best;
}

function quotingProblem(code: string): string {
  switch (code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'starts a row with a double quote that is never closed; close it';
    case 'INVALID_OPENING_QUOTE':
      return 'has a double quote inside a cell; put the whole cell in double quotes and write the inner one twice';
    case 'CSV_INVALID_CLOSING_QUOTE':
      return 'has text after a closing double quote; write a double quote inside a cell twice';
    default:
      return `is not CSV (${code}); quote the cells as RFC 4180 says`;
  }
}
