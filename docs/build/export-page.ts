/** docs/reference/export.md: every exported table and column, from the list that the export itself uses. */
import { type CellType, exportTables, SCHEMA_VERSION } from '../../src/export/rules/export-tables.ts';
import { code, generatedPage, type Page, table } from './page.ts';

const typeNames: Readonly<Record<CellType, string>> = {
  text: 'text',
  json: 'JSON',
  integer: '32-bit integer',
  bigint: '64-bit integer',
  double: 'double',
  boolean: 'boolean',
  timestamp: 'timestamp',
};

export function exportPage(): Page {
  return generatedPage(
    'docs/reference/export.md',
    ['src/export/rules/export-tables.ts'],
    [
      '# Exported tables',
      `Schema version ${SCHEMA_VERSION}. Each manifest has this number; it changes with any name or type below. How to export: [docs/how-to/export.md](../how-to/export.md).`,
      'Files are in `TABLE/date=YYYY-MM-DD/part-N.FORMAT`; `date` is the day (UTC) of receipt, measurement or start. Timestamps have microseconds in UTC. JSON is text in Parquet and CSV, and nested in JSONL. Vectors are not exported.',
      'Columns marked *private* are null for pipelines with `privacy.text: hash`.',
      ...exportTables.flatMap(({ name, does, columns }) => [
        `## ${name}`,
        does,
        table(
          ['Column', 'Type', 'Meaning'],
          columns.map(({ name: column, type, isPrivate, does: meaning }) => [
            code(column),
            isPrivate ? `${typeNames[type]}, *private*` : typeNames[type],
            meaning,
          ]),
        ),
      ]),
    ],
  );
}
