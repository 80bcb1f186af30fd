/** Turns database values into the cells of a file. */
import { guardCell } from '../../../golden/rules/spreadsheet-cell.ts';
import type { CellType, ExportColumn } from './export-tables.ts';

/** A value as returned by an SQL statement. Times, in microseconds since 1970, and 64-bit integers are strings. */
export type Cell = string | number | boolean | null;

export type ExportRow = readonly Cell[];

/** Returns SQL that converts a value to a `Cell` without loss. */
export function cellSql(type: CellType, sql: string): string {
  if (type === 'timestamp') return `(extract(epoch from ${sql}) * 1000000)::bigint::text`;
  return type === 'bigint' || type === 'json' ? `(${sql})::text` : sql;
}

/** Formats microseconds since 1970 as an ISO 8601 time in UTC. */
function timeOf(micros: string): string {
  const exact = BigInt(micros);
  const rest = ((exact % 1000n) + 1000n) % 1000n;
  const millis = new Date(Number((exact - rest) / 1000n)).toISOString();
  return `${millis.slice(0, -1)}${`${rest}`.padStart(3, '0')}Z`;
}

/** Formats a row as one line with a JSON object; JSON columns are nested. */
export function jsonLine(columns: readonly ExportColumn[], row: ExportRow): string {
  const members = columns.map(({ name, type }, index) => `${JSON.stringify(name)}:${jsonOf(type, row[index] ?? null)}`);
  return `{${members.join(',')}}\n`;
}

function jsonOf(type: CellType, cell: Cell): string {
  if (cell === null) return 'null';
  if (type === 'timestamp') return `"${timeOf(String(cell))}"`;
  // The text of a JSON value or of a 64-bit integer is already valid JSON.
  return type === 'json' || type === 'bigint' ? String(cell) : JSON.stringify(cell);
}

export function csvHeader(columns: readonly ExportColumn[]): string {
  return `${columns.map(({ name }) => name).join(',')}\n`;
}

/**
 * Formats a row as a CSV record (RFC 4180, but with LF line endings). A string that a spreadsheet would execute as a
 * formula is prefixed with an apostrophe.
 */
export function csvLine(columns: readonly ExportColumn[], row: ExportRow): string {
  return `${columns.map(({ type }, index) => csvCell(type, row[index] ?? null)).join(',')}\n`;
}

/** Formats one cell. An empty string is quoted and null is not, so that readers can distinguish them. */
function csvCell(type: CellType, cell: Cell): string {
  if (cell === null) return '';
  if (type === 'timestamp') return timeOf(String(cell));
  if (typeof cell !== 'string') return String(cell);
  if (type === 'bigint') return cell;
  const text = guardCell(cell);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Converts a cell to a value for a Parquet column. `parquetTypes` maps the cell type to the column type. */
export function parquetValue(type: CellType, cell: Cell): string | number | boolean | bigint | null {
  return cell !== null && (type === 'timestamp' || type === 'bigint') ? BigInt(cell) : cell;
}
