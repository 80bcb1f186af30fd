/**
 * Reads and writes the export folder: `TABLE/date=YYYY-MM-DD/part-N.FORMAT`, `manifest/TABLE.json` and `manifest.json`.
 * Each day is written to a staging folder and then renamed, so that no reader sees an incomplete file.
 */
import { open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { codeOf, RecalldError } from '../../core/errors.ts';
import { makeFolder } from '../../platform/files/folder.ts';
import { unreadable } from '../../platform/files/text-file.ts';
import { exportFormats, orUnwritable } from './part-files.ts';
import { SCHEMA_VERSION } from './rules/export-tables.ts';

const tableManifestSchema = z.object({
  table: z.string(),
  schema_version: z.number(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  /** Names of the pipelines in hash mode, whose private texts are null. */
  without_texts_of: z.array(z.string()),
  days: z.array(
    z.object({
      day: z.string(),
      rows: z.number(),
      files: z.array(z.string()),
      /** Time at which the export read the day from the database. */
      read_at: z.string(),
      /** Number of source rows at the time `read_at`. */
      source_rows: z.number(),
      /** Time of the last change of the source rows, in microseconds since 1970. */
      changed_micros: z.string().nullable(),
    }),
  ),
});
export type TableManifest = z.infer<typeof tableManifestSchema>;

const exportManifestSchema = z.object({
  schema_version: z.number(),
  format: z.enum(exportFormats),
  pipeline: z.string().nullable(),
  tables: z.array(z.string()),
  from: z.string().nullable(),
  until: z.string().nullable(),
  started_at: z.string(),
  /** Time at which the export ended; null until it is complete. */
  finished_at: z.string().nullable(),
});
export type ExportManifest = z.infer<typeof exportManifestSchema>;

export type ExportFolder = ReturnType<typeof exportFolder>;

/**
 * Returns functions that read and write a folder. The functions throw RecalldError file_unreadable and file_unwritable.
 */
export function exportFolder(to: string) {
  const root = resolve(to);
  const staging = join(root, '.incomplete');
  const placeOf = (table: string, day: string): string => join(root, table, `date=${day}`);
  const manifestFile = join(root, 'manifest.json');
  const tableFile = (table: string): string => join(root, 'manifest', `${table}.json`);
  return {
    root,
    readManifest: (): Promise<ExportManifest | null> => readJson(manifestFile, exportManifestSchema),
    writeManifest: (manifest: ExportManifest): Promise<void> => writeJson(manifestFile, manifest),
    readTable: (table: string): Promise<TableManifest | null> => readJson(tableFile(table), tableManifestSchema),
    writeTable: (manifest: TableManifest): Promise<void> => writeJson(tableFile(manifest.table), manifest),

    /** Restores days that an interrupted process had moved aside, and deletes that process's incomplete files. */
    async recover(): Promise<void> {
      await orUnwritable(root, async () => {
        await makeFolder(staging);
        for (const name of await readdir(staging)) {
          const [, table = '', day = ''] = /^(\w+) (\d{4}-\d\d-\d\d) replaced$/.exec(name) ?? [];
          if (table !== '' && (await stat(placeOf(table, day)).catch(() => null)) === null)
            await rename(join(staging, name), placeOf(table, day));
        }
        await rm(staging, { recursive: true, force: true });
      });
    },

    /** Creates an empty folder for the files of a day. */
    async stage(table: string, day: string): Promise<string> {
      const staged = join(staging, `${table} ${day}`);
      return orUnwritable(staged, async () => {
        await rm(staged, { recursive: true, force: true });
        await makeFolder(staged);
        return staged;
      });
    },

    /** Replaces the folder of a day with the staged files. */
    async place(staged: string, table: string, day: string): Promise<void> {
      const place = placeOf(table, day);
      await orUnwritable(place, async () => {
        await syncFolder(staged);
        await makeFolder(dirname(place));
        const aside = `${staged} replaced`;
        await rm(aside, { recursive: true, force: true });
        await rename(place, aside).catch(ignoreMissing);
        await rename(staged, place);
        await syncFolder(dirname(place));
        await rm(aside, { recursive: true, force: true });
      });
    },

    async remove(table: string, day: string): Promise<void> {
      const place = placeOf(table, day);
      await orUnwritable(place, async () => {
        await rm(place, { recursive: true, force: true });
        await syncFolder(dirname(place)).catch(ignoreMissing);
      });
    },

    /** Deletes the staging folder, which is empty after an export. */
    async end(): Promise<void> {
      await rm(staging, { recursive: true, force: true });
    },
  };
}

function ignoreMissing(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw error;
}

/** Flushes a folder, because a power failure may otherwise lose a rename. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T | null> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    if (codeOf(cause) === 'ENOENT') return null;
    throw unreadable(path, cause);
  });
  if (text === null) return null;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new RecalldError(
      'file_malformed',
      `${path} is not a recalld manifest. If the folder contains only exported data, delete it to export everything again; otherwise use another folder.`,
      { cause },
    );
  }
}

async function writeJson(path: string, value: unknown): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  await orUnwritable(path, async () => {
    await makeFolder(dirname(path));
    await writeFile(part, `${JSON.stringify(value, null, 2)}\n`, { flush: true });
    await rename(part, path);
    await syncFolder(dirname(path));
  });
}

/** Returns true if both tables have the same columns and omit the texts of the same pipelines. */
export function hasSameLayout(a: TableManifest, b: TableManifest): boolean {
  const layout = ({ columns, without_texts_of: hidden }: TableManifest) => JSON.stringify([columns, hidden]);
  return a.schema_version === SCHEMA_VERSION && layout(a) === layout(b);
}
