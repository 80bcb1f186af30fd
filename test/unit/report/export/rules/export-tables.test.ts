import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { exportTables, SCHEMA_VERSION } from '../../../../../src/report/export/rules/export-tables.ts';

it('requires a new schema version after any change of names or types', () => {
  const schema = exportTables.map(({ name, columns }) => [name, columns.map((column) => [column.name, column.type])]);
  const hash = createHash('sha256').update(JSON.stringify(schema)).digest('hex').slice(0, 12);
  // After a change to the schema, raise SCHEMA_VERSION and add the new hash; before the first release, replace the
  // hash.
  const hashes: Readonly<Record<number, string>> = { 1: 'fe6f2fcecb56' };
  expect(hash).toBe(hashes[SCHEMA_VERSION]);
});

it('names each table and each column of a table once', () => {
  expect(new Set(exportTables.map(({ name }) => name)).size).toBe(exportTables.length);
  for (const { columns } of exportTables) expect(new Set(columns.map(({ name }) => name)).size).toBe(columns.length);
});
