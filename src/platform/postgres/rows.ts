/** Rows of tables as objects: columns in snake case there are keys in camel case here, in both directions. */
import type { Pool, PoolClient } from 'pg';
import { camelCase, snakeCase } from '../../core/text/names.ts';
import { wellFormed } from './values.ts';

type Database = Pick<Pool | PoolClient, 'query'>;

/**
 * Rows of a statement, `received_at` as `receivedAt`. `Row` is what the program works with, such as a type of `rules`: no
 * interface repeats the columns.
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

/** The first row; null without any. */
export async function queryRow<Row extends object>(
  db: Database,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row | null> {
  return (await queryRows<Row>(db, text, values))[0] ?? null;
}

/** What a value of each type of column is here; of `jsonb` anything that JSON can hold. */
interface ValueTypes {
  text: string | null;
  smallint: number | null;
  integer: number | null;
  'double precision': number | null;
  boolean: boolean | null;
  date: string | null;
  timestamptz: Date | null;
  bytea: Uint8Array | null;
  jsonb: unknown;
}

/** The columns of an insertion: key of a row, in camel case, and type of its column. */
export type Columns = Readonly<Record<string, keyof ValueTypes>>;

type RowOf<C extends Columns> = { readonly [K in keyof C]: ValueTypes[C[K]] };

/**
 * Inserts all rows by one statement; nothing is sent for none.
 *
 * @param rest what stands behind the rows, such as `on conflict do nothing`
 * @returns how many were inserted or updated
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
  // Arrays of jsonb would take the lists inside them for dimensions.
  const arrays = entries.map(([, type], index) => `$${index + 1}::${type === 'jsonb' ? 'text' : type}[]`).join(', ');
  const chosen = entries.map(([key, type]) => (type === 'jsonb' ? `${snakeCase(key)}::jsonb` : snakeCase(key)));
  const values = entries.map(([key, type]) => rows.map((row) => (type === 'jsonb' ? jsonOf(row[key]) : row[key])));
  const { rowCount } = await db.query(
    `insert into ${table} (${names}) select ${chosen.join(', ')} from unnest(${arrays}) as new (${names}) ${rest}`,
    values,
  );
  return rowCount ?? 0;
}

/** Half of a surrogate pair in a text becomes U+FFFD: inside JSON it is an error. */
function jsonOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'string' ? wellFormed(inner) : inner));
}
