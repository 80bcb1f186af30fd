/** docs/reference/export.md: every exported table and column, from the list that the export itself uses. */
import { type CellType, exportTables, SCHEMA_VERSION } from '../../src/report/export/rules/export-tables.ts';
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
    ['src/report/export/rules/export-tables.ts'],
    [
      '# Exported tables',
      `This page describes schema version ${SCHEMA_VERSION}. The manifest of each export contains the schema version, which changes whenever a name or type below changes. [docs/how-to/export.md](../how-to/export.md) explains how to export data.`,
      'Each file is `TABLE/date=YYYY-MM-DD/part-N.FORMAT`. `date` is the day (UTC) on which recalld received or measured the data in a row, or on which the run or incident started. Timestamps are in UTC with microseconds. JSON columns are text in Parquet and CSV, and nested values in JSONL. Vectors are not exported.',
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
