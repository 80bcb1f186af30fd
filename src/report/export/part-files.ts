/** Writes a day's rows to part files in one of the export formats, in bounded memory. */
import { type FileHandle, open } from 'node:fs/promises';
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { unwritable } from '../../platform/files/text-file.ts';
import { csvHeader, csvLine, type ExportRow, jsonLine, parquetValue } from './rules/cells.ts';
import { type CellType, type ExportColumn, SCHEMA_VERSION } from './rules/export-tables.ts';

export const exportFormats = ['parquet', 'csv', 'jsonl'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Maximum number of rows per file. The footer of a Parquet file is kept in memory and grows with its rows. */
const MAX_PART_ROWS = 250_000;

/**
 * Maximum number of rows per row group. Encoding a full row group blocks the event loop of the daemon for about 10 ms.
 */
const MAX_GROUP_ROWS = 2048;
/** Maximum number of characters per row group, for long texts. */
const MAX_GROUP_CHARACTERS = 2 * 1024 * 1024;

interface Part {
  add(rows: readonly ExportRow[]): Promise<void>;
  end(): Promise<void>;
}

/**
 * Writes all rows to `part-0.FORMAT`, `part-1.FORMAT`, ... in an empty folder, and flushes them to the disk.
 *
 * @throws RecalldError file_unwritable, and any error from `batches`
 */
export async function writeParts(
  folder: string,
  format: ExportFormat,
  columns: readonly ExportColumn[],
  batches: AsyncIterable<readonly ExportRow[]>,
  wrote: (rows: number) => void,
): Promise<{ readonly rows: number; readonly files: readonly string[] }> {
  const files: string[] = [];
  let rows = 0;
  let inPart = 0;
  let current: { readonly handle: FileHandle; readonly part: Part; readonly path: string } | null = null;
  const end = async (): Promise<void> => {
    if (current === null) return;
    const { handle, part, path } = current;
    await orUnwritable(path, async () => {
      await part.end();
      await handle.sync();
    });
    await handle.close();
    current = null;
  };
  try {
    for await (const batch of batches) {
      if (batch.length === 0) continue;
      if (inPart + batch.length > MAX_PART_ROWS) await end();
      if (current === null) {
        const name = `part-${files.length}.${format}`;
        const path = `${folder}/${name}`;
        const handle = await orUnwritable(path, () => open(path, 'wx'));
        current = { handle, path, part: partOf(format, handle, columns) };
        files.push(name);
        inPart = 0;
      }
      const { part, path } = current;
      await orUnwritable(path, () => part.add(batch));
      inPart += batch.length;
      rows += batch.length;
      wrote(rows);
    }
    await end();
  } finally {
    await (current as { readonly handle: FileHandle } | null)?.handle.close();
  }
  return { rows, files };
}

/** @throws RecalldError file_unwritable for a file system error */
export async function orUnwritable<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw cause instanceof Error && 'syscall' in cause ? unwritable(path, cause) : cause;
  }
}

function partOf(format: ExportFormat, handle: FileHandle, columns: readonly ExportColumn[]): Part {
  if (format === 'parquet') return parquetPart(handle, columns);
  const line = format === 'csv' ? csvLine : jsonLine;
  let header = format === 'csv' ? csvHeader(columns) : '';
  return {
    async add(rows) {
      const lines = rows.map((row) => line(columns, row)).join('');
      await handle.appendFile(header + lines);
      header = '';
    },
    end: async () => undefined,
  };
}

/** Parquet types by cell type. JSON is written as text, which every Parquet reader supports. */
const parquetTypes: Readonly<Record<CellType, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT32' },
  bigint: { type: 'INT64' },
  double: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  timestamp: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
};

function parquetPart(handle: FileHandle, columns: readonly ExportColumn[]): Part {
  const bytes = new ByteWriter();
  const flush = async (): Promise<void> => {
    await handle.appendFile(bytes.getBytes());
    bytes.index = 0;
  };
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [
      { name: 'root', num_children: columns.length },
      ...columns.map(({ name, type }) => ({ name, repetition_type: 'OPTIONAL' as const, ...parquetTypes[type] })),
    ],
    kvMetadata: [{ key: 'recalld_schema_version', value: `${SCHEMA_VERSION}` }],
    createdBy: 'recalld',
  });
  let group: ExportRow[] = [];
  let characters = 0;
  const writeGroup = async (): Promise<void> => {
    if (group.length === 0) return;
    const columnData = columns.map(({ name, type }, index) => ({
      name,
      data: group.map((row) => parquetValue(type, row[index] ?? null)),
    }));
    await writer.write({ columnData, rowGroupSize: group.length });
    await flush();
    group = [];
    characters = 0;
  };
  return {
    async add(rows) {
      for (const row of rows) {
        group.push(row);
        for (const cell of row) characters += typeof cell === 'string' ? cell.length : 8;
        if (group.length >= MAX_GROUP_ROWS || characters >= MAX_GROUP_CHARACTERS) await writeGroup();
      }
    },
    async end() {
      await writeGroup();
      await writer.finish();
      await flush();
    },
  };
}
