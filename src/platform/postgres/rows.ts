/** Reads and writes rows as objects: snake_case columns become camelCase keys, and vice versa. */
import type { Pool, PoolClient } from 'pg';
import { camelCase, snakeCase } from '../../core/text/names.ts';

type Database = Pool | PoolClient;

/**
 * Returns a statement's rows, with `received_at` as `receivedAt`. `Row` can be a domain type, because the columns need
 * no interface of their own.
 */
export async function queryRows<Row extends object>(
  db: Database,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const { fields, rows } = await db.query<unknown[]>({ text, values: [...values], rowMode: 'array' });
  const keys = fields.map(({ name }) => camelCase(name));
  return rows.map((row) => {
    const object: Record<string, unknown> = {};
    for (const [index, key] of keys.entries()) object[key] = row[index];
    return object as Row;
  });
}

/** Returns the first row; null if there are no rows. */
export async function queryRow<Row extends object>(
  db: Database,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row | null> {
  return (await queryRows<Row>(db, text, values))[0] ?? null;
}

interface ValueTypes {
  text: string | null;
  smallint: number | null;
  integer: number | null;
  /** The number as text, because a numeric value may exceed double precision. */
  numeric: string | null;
  'double precision': number | null;
  boolean: boolean | null;
  date: string | null;
  timestamptz: Date | null;
  bytea: Uint8Array | null;
  jsonb: unknown;
}

/** Column types of an insert, keyed by the column name in camelCase. */
export type Columns = Readonly<Record<string, keyof ValueTypes>>;

type RowOf<C extends Columns> = { readonly [K in keyof C]: ValueTypes[C[K]] };

/**
 * Inserts all rows with one statement; sends nothing if there are no rows.
 *
 * @param rest SQL at the end of the statement, such as `on conflict do nothing`
 * @returns the number of inserted or updated rows
 */
export async function insertRows<const C extends Columns>(
  db: Database,
  table: string,
  columns: C,
  rows: readonly RowOf<C>[],
  rest = '',
): Promise<number> {
  if (rows.length === 0) return 0;
  const entries = Object.entries(columns);
  const names = entries.map(([key]) => snakeCase(key)).join(', ');
  // jsonb values are sent as text, because a list within a jsonb array would be interpreted as another array dimension.
  const arrays = entries.map(([, type], index) => `$${index + 1}::${type === 'jsonb' ? 'text' : type}[]`).join(', ');
  const chosen = entries.map(([key, type]) => (type === 'jsonb' ? `${snakeCase(key)}::jsonb` : snakeCase(key)));
  const values = entries.map(([key, type]) => rows.map((row) => (type === 'jsonb' ? jsonOf(row[key]) : row[key])));
  const { rowCount } = await db.query(
    `insert into ${table} (${names}) select ${chosen.join(', ')} from unnest(${arrays}) as new (${names}) ${rest}`,
    values,
  );
  return rowCount ?? 0;
}

/** Replaces lone surrogates with U+FFFD, because PostgreSQL rejects them in JSON. */
function jsonOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'string' ? inner.toWellFormed() : inner));
}
