/** Reads exported files back with DuckDB, and reads the same rows from the database. */
import { DuckDBInstance } from '@duckdb/node-api';
import type { Pool } from 'pg';
import { unguardCell } from '../../src/golden/rules/spreadsheet-cell.ts';
import type { ExportFormat } from '../../src/report/export/part-files.ts';
import type { CellType, ExportTable } from '../../src/report/export/rules/export-tables.ts';

type Row = Readonly<Record<string, unknown>>;

const duckTypes: Readonly<Record<CellType, string>> = {
  text: 'VARCHAR',
  json: 'VARCHAR',
  integer: 'INTEGER',
  bigint: 'BIGINT',
  double: 'DOUBLE',
  boolean: 'BOOLEAN',
  timestamp: 'TIMESTAMP',
};

/** Runs a statement in an empty DuckDB database. */
export async function duckRows(sql: string): Promise<Row[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjects();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Returns all rows of an exported table, each with its day; times are in microseconds, and JSON is parsed. */
export async function exportedRows(folder: string, table: ExportTable, format: ExportFormat): Promise<Row[]> {
  const files = `'${folder}/${table.name}/*/*.${format}', hive_partitioning = true, hive_types_autocast = false`;
  const columns = `columns = {${table.columns.map(({ name, type }) => `${name}: '${format === 'jsonl' && type === 'json' ? 'JSON' : duckTypes[type]}'`).join(', ')}}`;
  const from = {
    parquet: `read_parquet(${files})`,
    csv: `read_csv(${files}, ${columns}, header = true, quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false)`,
    jsonl: `read_json(${files}, ${columns}, format = 'newline_delimited')`,
  }[format];
  const selected = table.columns.map(({ name, type }) => {
    if (type === 'timestamp') return `epoch_us(${name})::varchar as ${name}`;
    return type === 'bigint' || type === 'json' ? `${name}::varchar as ${name}` : name;
  });
  const rows = await duckRows(`select date::varchar as date, ${selected.join(', ')} from ${from}`);
  return rows.map((row) => canonical(table, row, format === 'csv' ? unguardCell : (text) => text)).toSorted(byText);
}

/** Returns the database rows of an exported table, in the same format as `exportedRows`. */
export async function storedRows(pool: Pool, table: ExportTable): Promise<Row[]> {
  const selected = table.columns.map(({ name, type, sql }) => {
    if (type === 'timestamp') return `(extract(epoch from ${sql}) * 1000000)::bigint::text as ${name}`;
    return type === 'bigint' || type === 'json' ? `(${sql})::text as ${name}` : `${sql} as ${name}`;
  });
  const { rows } = await pool.query<Row>(
    `select (${table.day})::text as date, ${selected.join(', ')} from ${table.source} ${table.joins}`,
  );
  return rows.map((row) => canonical(table, row, (text) => text)).toSorted(byText);
}

function canonical(table: ExportTable, row: Row, unguard: (text: string) => string): Row {
  const cells = table.columns.map(({ name, type }): [string, unknown] => {
    const value = row[name] ?? null;
    if (typeof value !== 'string') return [name, value];
    if (type === 'json') return [name, JSON.parse(unguard(value)) as unknown];
    return [name, type === 'text' ? unguard(value) : value];
  });
  return { date: row['date'], ...Object.fromEntries(cells) };
}

function byText(a: Row, b: Row): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}
