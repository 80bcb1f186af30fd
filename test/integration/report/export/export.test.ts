/** Exports in each format, read back with DuckDB. */
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { RecalldError } from '../../../../src/core/errors.ts';
import { exportFormats } from '../../../../src/report/export/part-files.ts';
import { exportTables } from '../../../../src/report/export/rules/export-tables.ts';
import { type ExportRequest, runExport } from '../../../../src/report/export/run-export.ts';
import { createExportRows } from '../../../../src/report/export/sql/export-rows.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { eveText, storeExportableRows } from '../../../support/exportable-rows.ts';
import { exportedRows, storedRows } from '../../../support/exported-files.ts';
import { HandClock } from '../../../support/hand-clock.ts';

const database = useDatabase();
beforeAll(() => storeExportableRows(database.pool));

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-export-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function exportTo(request: ExportRequest, hashed: readonly string[] = [], signal = new AbortController().signal) {
  const pipelines = hashed.map((name) => ({ name, privacy: { text: 'hash' as const } }));
  const context = contextOf({
    clock: new HandClock(new Date('2026-11-28T12:00:00Z')),
    config: { pipelines },
    db: { exportRows: createExportRows(database.pool) },
  });
  const { tables } = await runExport(context, request, signal);
  return new Map(tables.map((table) => [table.table, table]));
}

const tableOf = (name: string) => {
  const found = exportTables.find((table) => table.name === name);
  if (found === undefined) throw new Error(`no table ${name}`);
  return found;
};

describe.each(exportFormats)('an export to %s', (format) => {
  it('contains every row and value of the database', async () => {
    const to = await aFolder();
    await exportTo({ to, format });
    for (const table of exportTables) {
      const stored = await storedRows(database.pool, table);
      expect(stored.length).toBeGreaterThan(0);
      expect(await exportedRows(to, table, format), table.name).toEqual(stored);
    }
  });

  it('contains only one pipeline and one day if the request names them', async () => {
    const to = await aFolder();
    const range = { from: '2026-11-20', until: '2026-11-20' };
    await exportTo({ to, format, pipeline: 'docs', range, tables: ['queries'] });
    expect((await readdir(to)).toSorted()).toEqual(['manifest', 'manifest.json', 'queries']);
    const rows = await exportedRows(to, tableOf('queries'), format);
    expect(rows.map((row) => [row['pipeline'], row['date'], row['query_id']])).toEqual(
      ['q1', 'q2', 'q3'].map((id) => ['docs', '2026-11-20', id]),
    );
  });
});

describe('an export', () => {
  it('has no texts of a pipeline in hash mode, and writes its days again after the mode changes', async () => {
    const to = await aFolder();
    await exportTo({ to });
    await exportTo({ to }, ['docs', 'other']);
    const queries = await exportedRows(to, tableOf('queries'), 'parquet');
    const feedback = await exportedRows(to, tableOf('feedback'), 'parquet');
    expect(queries.map(({ text, error }) => [text, error])).toEqual(queries.map(() => [null, null]));
    expect(feedback.map(({ comment }) => comment)).toEqual([null, null]);
  });

  it('rewrites only changed days, duplicates no row, and removes days without rows', async () => {
    const to = await aFolder();
    await exportTo({ to, format: 'jsonl' });
    const client = await database.pool.connect();
    onTestFinished(async () => {
      await client.query('drop table if exists kept_rows');
      client.release();
    });
    await client.query('create temp table kept_rows as select * from live_queries');
    await client.query(`delete from live_queries where user_hash = 'hash-eve' or pipeline = 'other'`);
    onTestFinished(async () => {
      await client.query('delete from live_queries');
      await client.query('insert into live_queries select * from kept_rows');
    });
    const tables = await exportTo({ to });
    expect(tables.get('queries')).toMatchObject({ daysWritten: 1, daysRemoved: 1 });
    expect((await exportedRows(to, tableOf('queries'), 'jsonl')).map((row) => row['query_id'])).toEqual(['q1', 'q2']);
    expect(await filesWith(to, eveText)).toEqual([]);
    expect(tables.get('feedback')).toMatchObject({ daysWritten: 0, daysUnchanged: 1 });
  });

  it('refuses another format and another pipeline in the same folder', async () => {
    const to = await aFolder();
    await exportTo({ to });
    for (const other of [{ format: 'csv' as const }, { pipeline: 'docs' }])
      await expect(exportTo({ to, ...other })).rejects.toMatchObject({ code: 'export_differs' });
  });

  it('names the manifest that it cannot read', async () => {
    const to = await aFolder();
    await writeFile(path.join(to, 'manifest.json'), 'oops');
    const error = await exportTo({ to }).catch((one: unknown) => one);
    expect(error).toBeInstanceOf(RecalldError);
    expect(error).toMatchObject({ code: 'file_malformed' });
    expect((error as Error).message).toContain('manifest.json');
  });

  it('continues after an interruption, and restores a day that was being replaced', async () => {
    const to = await aFolder();
    await exportTo({ to, tables: ['queries'] });
    const day = path.join(to, 'queries', 'date=2026-11-20');
    await mkdir(path.join(to, '.incomplete', 'queries 2026-11-20'), { recursive: true });
    await rename(day, path.join(to, '.incomplete', 'queries 2026-11-20 replaced'));
    const tables = await exportTo({ to });
    expect(tables.get('queries')).toMatchObject({ daysWritten: 0, daysUnchanged: 2 });
    expect(await exportedRows(to, tableOf('queries'), 'parquet')).toHaveLength(4);
    expect(await readdir(to)).not.toContain('.incomplete');
  });

  it('stops immediately when it is aborted, and its manifest has no end time', async () => {
    const to = await aFolder();
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect(exportTo({ to }, [], stopped)).rejects.toThrow('stopped');
    const manifest = JSON.parse(await readFile(path.join(to, 'manifest.json'), 'utf8')) as { finished_at: unknown };
    expect(manifest.finished_at).toBeNull();
    expect(await exportTo({ to })).toHaveProperty('size', exportTables.length);
  });
});

/** Returns the files in a folder and its subfolders whose content includes a string. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const contents = await Promise.all(files.map((file) => readFile(file, 'latin1')));
  return files.filter((_, index) => contents[index]?.includes(text));
}
