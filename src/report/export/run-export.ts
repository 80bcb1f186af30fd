/**
 * Exports tables to a folder: rewrites changed days, removes days whose rows were erased or have expired, and skips
 * unchanged days. An interrupted export therefore continues where it stopped.
 */
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import {
  type ExportFolder,
  type ExportManifest,
  exportFolder,
  hasSameLayout,
  type TableManifest,
} from './export-folder.ts';
import { type ExportFormat, writeParts } from './part-files.ts';
import { type ExportTable, exportTables, SCHEMA_VERSION } from './rules/export-tables.ts';
import { type DayDigest, type DayRange, planDays } from './rules/plan-days.ts';

/**
 * Options of an export. A missing option takes its value from the last export to the folder; if there was no earlier
 * export, the default applies.
 */
export interface ExportRequest {
  readonly to: string;
  readonly tables?: readonly string[] | undefined;
  readonly format?: ExportFormat | undefined;
  readonly pipeline?: string | undefined;
  readonly range?: DayRange | undefined;
}

export type ExportReport = Awaited<ReturnType<typeof runExport>>;

/**
 * Waits while another process exports to the same folder.
 *
 * @throws RecalldError export_differs, file_unreadable, file_unwritable, file_malformed
 */
export function runExport(
  context: Context,
  request: ExportRequest,
  signal: AbortSignal,
  progress: (text: string) => void = () => undefined,
) {
  const folder = exportFolder(request.to);
  return context.db.exportRows.alone(folder.root, context.clock, signal, async () => {
    const before = await folder.readManifest();
    const manifest = manifestOf(request, before, context.clock.now(), folder);
    await folder.recover();
    await folder.writeManifest(manifest);
    const tables = [];
    for (const table of exportTables.filter(({ name }) => manifest.tables.includes(name)))
      tables.push(await exportTable(context, folder, manifest, table, signal, progress));
    const finished = { ...manifest, finished_at: context.clock.now().toISOString() };
    await folder.writeManifest(finished);
    await folder.end();
    return { folder: folder.root, manifest: finished, tables };
  });
}

function manifestOf(
  { tables, format, pipeline, range }: ExportRequest,
  before: ExportManifest | null,
  now: Date,
  { root }: ExportFolder,
): ExportManifest {
  const manifest: ExportManifest = {
    schema_version: SCHEMA_VERSION,
    format: format ?? before?.format ?? 'parquet',
    pipeline: pipeline ?? before?.pipeline ?? null,
    tables: [...(tables ?? before?.tables ?? exportTables.map(({ name }) => name))],
    from: (range ?? before)?.from ?? null,
    until: (range ?? before)?.until ?? null,
    started_at: now.toISOString(),
    finished_at: null,
  };
  if (before === null) return manifest;
  for (const key of ['format', 'pipeline'] as const) {
    if (before[key] === manifest[key]) continue;
    throw new RecalldError(
      'export_differs',
      `${root} contains an export with ${key} ${before[key] ?? '(all)'}, but this export has ${key} ${manifest[key] ?? '(all)'}. Use another folder, or delete this one if it contains only exported data.`,
    );
  }
  return manifest;
}

async function exportTable(
  { db, config, clock }: Context,
  folder: ExportFolder,
  { pipeline, format, from, until }: ExportManifest,
  table: ExportTable,
  signal: AbortSignal,
  progress: (text: string) => void,
) {
  const hidden = config.pipelines.filter(({ privacy }) => privacy.text === 'hash').map(({ name }) => name);
  const empty: TableManifest = {
    table: table.name,
    schema_version: SCHEMA_VERSION,
    columns: table.columns.map(({ name, type }) => ({ name, type })),
    without_texts_of: table.columns.some(({ isPrivate }) => isPrivate) ? hidden.toSorted() : [],
    days: [],
  };
  const before = await folder.readTable(table.name);
  const isSame = before !== null && hasSameLayout(before, empty);
  const days = new Map((before?.days ?? []).map((one) => [one.day, one]));
  const save = (): Promise<void> =>
    folder.writeTable({ ...empty, days: [...days.values()].toSorted((a, b) => (a.day < b.day ? -1 : 1)) });

  const range = { from, until };
  const plan = planDays(await db.exportRows.digests(table, pipeline, range), days, isSame, range);
  for (const day of plan.remove) {
    signal.throwIfAborted();
    await folder.remove(table.name, day);
    days.delete(day);
    await save();
  }
  let [rows, files] = [0, 0];
  for (const digest of plan.write) {
    const written = await exportDay(digest);
    rows += written.rows;
    files += written.files.length;
  }
  return {
    table: table.name,
    /** Number of rows that this export wrote. */
    rows,
    /** Number of files that this export wrote. */
    files,
    daysWritten: plan.write.length,
    daysRemoved: plan.remove.length,
    daysUnchanged: plan.unchanged,
  };

  async function exportDay({ day, rows: sourceRows, changed }: DayDigest) {
    const readAt = clock.now();
    const staged = await folder.stage(table.name, day);
    const batches = db.exportRows.rows(table, pipeline, day, hidden, signal);
    const wrote = (count: number): void => progress(`${table.name} ${day}: ${count.toLocaleString('en')} rows`);
    const written = await writeParts(staged, format, table.columns, batches, wrote);
    // A day may have source rows but no exported rows: a query without results has no row in `results`.
    await (written.files.length === 0 ? folder.remove(table.name, day) : folder.place(staged, table.name, day));
    days.set(day, {
      day,
      rows: written.rows,
      files: [...written.files],
      read_at: readAt.toISOString(),
      source_rows: sourceRows,
      changed_micros: changed,
    });
    await save();
    return written;
  }
}
