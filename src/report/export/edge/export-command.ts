/** `recalld export`: writes stored data to files for a warehouse or a notebook. */
import { type Command, type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { commandSettings, withCommandStore } from '../../../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../../../app/pipelines.ts';
import { formatTable, printJson, printLine, withConfig } from '../../../cli/output.ts';
import { showProgressLine } from '../../../cli/progress.ts';
import { RecalldError } from '../../../core/errors.ts';
import { count } from '../../../core/format.ts';
import { toDocument } from '../../../core/text/names.ts';
import { exportFormats } from '../part-files.ts';
import { exportTables } from '../rules/export-tables.ts';
import { type ExportReport, runExport } from '../run-export.ts';

export function exportCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return withConfig(
    command,
    'recalld export --to export\n  recalld export --to export --since-last\n  recalld export --to november --tables queries,feedback --from 2026-11-01 --until 2026-11-30 --format csv',
  )
    .requiredOption('--to <dir>', 'folder for TABLE/date=YYYY-MM-DD/part-N.FORMAT and manifest.json')
    .option('--tables <list>', 'tables, separated by commas (default: all; see docs/reference/export.md)', parseTables)
    .option('--from <day>', 'first day (UTC), such as 2026-11-01 (default: the oldest)', parseDay)
    .option('--until <day>', 'last day (UTC), inclusive (default: today)', parseDay)
    .option(
      '--since-last',
      'reuse the tables, --from and --until of the last export to the folder, and write only days that changed since then',
      false,
    )
    .addOption(new Option('--format <format>', 'file format (default: parquet)').choices(exportFormats))
    .option('--pipeline <name>', 'only this pipeline (default: all)')
    .action(async ({ to, tables, format, pipeline, from = null, until = null, sinceLast, config, json }) => {
      assertRange(from, until, sinceLast);
      const settings = commandSettings(config, signal);
      if (pipeline !== undefined) assertConfiguredPipeline(settings.config, pipeline);
      const all = sinceLast ? undefined : exportTables.map(({ name }) => name);
      const range = sinceLast ? undefined : { from, until };
      const request = { to, format, pipeline, tables: tables ?? all, range };
      const report = await withCommandStore(settings, (store) => runExport(store, request, signal, showProgressLine));
      showProgressLine(null);
      if (json === true) printJson(reportJson(report));
      else printReport(report);
    });
}

function assertRange(from: string | null, until: string | null, sinceLast: boolean): void {
  if (sinceLast && (from !== null || until !== null))
    throw new RecalldError(
      'usage',
      '--since-last exports the same days as the last export; remove --from and --until.',
    );
  if (from !== null && until !== null && from > until)
    throw new RecalldError('usage', `--from ${from} is after --until ${until}; swap them.`);
}

/** @throws InvalidArgumentError */
function parseTables(text: string): string[] {
  const names = exportTables.map(({ name }) => name);
  const chosen = text.split(',').map((name) => name.trim());
  const unknown = chosen.filter((name) => !names.includes(name));
  if (unknown.length === 0) return chosen;
  throw new InvalidArgumentError(`"${unknown.join(', ')}" is not a table; choose from ${names.join(', ')}.`);
}

/** @throws InvalidArgumentError */
function parseDay(text: string): string {
  const time = new Date(`${text}T00:00:00Z`);
  if (/^\d{4}-\d\d-\d\d$/.test(text) && time.getTime() > 0 && time.toISOString().startsWith(text)) return text;
  throw new InvalidArgumentError(`"${text}" is not a day; write it like 2026-11-20.`);
}

function reportJson({ folder, manifest, tables }: ExportReport) {
  const { tables: _, ...rest } = manifest;
  return { folder, ...rest, tables: toDocument(tables) };
}

function printReport({ folder, manifest, tables }: ExportReport): void {
  const rows = tables.map(({ table, rows: written, files, daysWritten, daysUnchanged, daysRemoved }) => [
    table,
    ...[written, files, daysWritten, daysUnchanged, daysRemoved].map((value) => count(value)),
  ]);
  printLine(formatTable(['table', 'rows written', 'files', 'days written', 'days unchanged', 'days removed'], rows, 1));
  printLine(`\nExported to ${folder} (${manifest.format}).`);
}
