/** All data that a daemon stored: the rows of every table, and the files below a folder. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Client } from 'pg';

/** One line for each row of every table, including the queue's tables; each line starts with the table's name. */
export async function everyRow(database: Client): Promise<string[]> {
  const tables = await database.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  );
  const rows: string[] = [];
  for (const { name } of tables.rows) {
    const found = await database.query<{ row: string }>(`select t::text as row from ${name} t`);
    rows.push(...found.rows.map(({ row }) => `${name} ${row}`));
  }
  return rows;
}

/** Returns the bytes of all files below a folder, joined by line feeds. */
export function everyFile(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}
