import { type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { type CommandSettings, commandSettings, withCommandStore } from '../../../app/commands/command-store.ts';
import type { Config } from '../../../app/config/schema.ts';
import { createGoldenSchedule, goldenChecks } from '../../../app/pipelines.ts';
import { ofKind } from '../../../checks/rules/golden-checks.ts';
import {
  type ConfiguredOptions,
  configuredCommand,
  note,
  parseCount,
  printJson,
  printLine,
} from '../../../cli/output.ts';
import { RecalldError } from '../../../core/errors.ts';
import { plural } from '../../../core/format.ts';
import type { GoldenQuery } from '../../../core/model.ts';
import type { Column } from '../../../report/model/content.ts';
import { time } from '../../../report/model/show.ts';
import { tableText } from '../../../report/terminal.ts';
import { goldenQueryJson, goldenSetVersionJson, importSummaryJson } from '../../golden-set-schema.ts';
import { readingText } from '../../rules/column-roles.ts';
import { foreignFormats, goldenFormats, type ReadGoldenSetOptions } from '../../rules/golden-set.ts';
import type { ImportSummary } from '../../rules/golden-set-builder.ts';
import { hasSteps } from '../../rules/steps.ts';
import { powerOfSet, type SetUse } from '../../sets/check-golden-set.ts';
import {
  type ExportRequest,
  exportGoldenSetTo,
  findVersion,
  type ImportReport,
  importGoldenSet,
  readGoldenSet,
} from '../../sets/import-golden-set.ts';
import { importReview } from '../../sets/review-file.ts';
import { unwatchedSet } from '../../watched-pipeline.ts';

export function listCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand('list', 'List every version of every golden set.', 'recalld golden list').action(
    async ({ config, json }) => {
      const versions = await withCommandStore(commandSettings(config, signal), ({ db }) => db.golden.sets.list());
      if (json === true) return printJson(versions.map(goldenSetVersionJson));
      if (versions.length === 0)
        return printLine('No golden sets yet. Import a set with `recalld golden import PATH --set NAME`.');
      printLine(
        tableText(versions, [
          ['set', ({ name }) => name],
          ['format', ({ format }) => format],
          ['imported', ({ importedAt }) => time(importedAt)],
          ['version', ({ version }) => version, 'number'],
          ['queries', ({ queries }) => queries, 'number'],
          ['judgments', ({ judgments }) => judgments, 'number'],
        ]),
      );
    },
  );
}

export function showCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand('show', 'Show the latest version of a golden set.', 'recalld golden show support-faq')
    .argument('<set>', 'name of the golden set')
    .action(async (name, { config, json }) => {
      const { set, queries } = await withCommandStore(commandSettings(config, signal), async ({ db }) => {
        const latest = await findVersion(db.golden.sets, name);
        return { set: latest, queries: await db.golden.sets.queries(latest.name, latest.version) };
      });
      if (json === true) return printJson({ ...goldenSetVersionJson(set), queries: queries.map(goldenQueryJson) });
      printLine(`${set.name} version ${set.version}, ${set.format}, imported ${set.importedAt.toISOString()}`);
      printLine(`${sizeText(set.queries, set.judgments)}, content ${set.contentHash}\n`);
      printLine(
        tableText(queries, [
          ['query', ({ id }) => id],
          ['text', ({ text }) => text],
          ...(queries.some(hasSteps) ? [stepsColumn] : []),
          [
            'judgments',
            ({ judgments }) => judgments.map(({ documentId, grade }) => `${documentId}:${grade}`).join(' '),
          ],
        ]),
      );
    });
}

const stepsColumn: Column<GoldenQuery> = ['steps', ({ steps = [] }) => steps.join(' / ')];

export function parseSetName(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text)) return text;
  throw new InvalidArgumentError(
    'A name must be 1 to 100 letters, digits, dots, dashes or underscores, and start with a letter or digit.',
  );
}

type ImportOptions = ReturnType<ReturnType<typeof importOptions>['opts']>;

function importOptions() {
  return configuredCommand(
    'import',
    'Import a golden set. A changed file creates a new version.',
    'recalld golden import faq.csv --set support-faq --dry-run\n  recalld golden import labels.csv --set support-faq --document filename --grade label --ignore page\n  recalld golden import ./beir/scifact --set scifact --format beir\n  recalld golden import review.jsonl --set support-faq --format review',
  )
    .argument('<path>', 'file, or folder for BEIR and TREC')
    .requiredOption('--set <name>', 'name of the golden set', parseSetName)
    .addOption(
      new Option('--format <format>', 'format of the files')
        .choices(['auto', ...goldenFormats, ...foreignFormats, 'review'] as const)
        .default('auto' as const),
    )
    .option('--query <column>', 'in a table: column that contains the query text')
    .option('--document <column>', 'in a table: column that contains the document id')
    .option('--grade <column>', 'in a table: column that contains the grade')
    .option(
      '--tags <columns>',
      'in a table: columns (separated by commas) that become tags and distinguish queries with the same text',
      parseColumns,
    )
    .option('--ignore <columns>', 'in a table: columns to ignore, separated by commas', parseColumns)
    .option(
      '--relevance-threshold <grade>',
      'minimum grade of a relevant document, if grades are fractions',
      parseThreshold,
    )
    .option('--documents-separator <text>', 'in a table: separator between documents in a cell, such as ","')
    .option('--skip-own-document', 'skip judgments whose document id equals the query id')
    .option(
      '--rows-as-queries',
      'in a table: treat every row as a separate query, even if the query text and tags repeat',
      false,
    )
    .option('--queries <file>', 'BEIR and TREC: query file, if its name is not standard')
    .option('--qrels <file>', 'BEIR and TREC: judgment file, if its name is not standard')
    .option('--dry-run', 'show how the files are read, but store nothing');
}

export function importCommand(signal: AbortSignal): CommandUnknownOpts {
  return importOptions().action((path, options) =>
    // A dry run requires no config and no store.
    options.dryRun === true
      ? tryImport(path, options, signal)
      : importSet(commandSettings(options.config, signal), path, options),
  );
}

function parseColumns(text: string, before: readonly string[] = []): readonly string[] {
  const columns = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (columns.length > 0) return [...before, ...columns];
  throw new InvalidArgumentError('Write column names, separated by commas.');
}

function parseThreshold(text: string): number {
  const threshold = Number(text);
  if (text.trim() !== '' && Number.isFinite(threshold) && threshold > 0) return threshold;
  throw new InvalidArgumentError('The value must be a number above 0, such as 0.5.');
}

function readOptions(format: ReadGoldenSetOptions['format'], options: ImportOptions): ReadGoldenSetOptions {
  const { query, document, grade, tags, ignore, queries: queriesPath, qrels: qrelsPath, ...others } = options;
  const isNamed = [query, document, grade, tags, ignore].some((one) => one !== undefined);
  const columns = isNamed ? { query, document, grade, tags: tags ?? [], ignore: ignore ?? [] } : undefined;
  return { ...others, format, queriesPath, qrelsPath, columns };
}

/**
 * Imports a set. If no pipeline runs the set, adds a warning to the report. Otherwise, `power` states the drops that
 * each check can detect, for each pipeline that runs the set.
 *
 * @throws the errors of withCommandStore, and RecalldError for files that cannot be read
 */
export async function importNamedSet(
  settings: CommandSettings,
  path: string,
  options: ImportOptions,
): Promise<ImportReport & { readonly power: readonly string[] }> {
  const { format } = options;
  const { config, signal } = settings;
  const uses = usesOf(config, options.set);
  // Reads the file before it opens the store, so that an unreadable file is reported immediately.
  const file = format === 'review' ? null : await readGoldenSet(path, readOptions(format, options), signal);
  return withCommandStore(settings, async ({ db }) => {
    const report =
      file === null
        ? await importReview(config, db.golden.sets, path, options.set, signal)
        : await importGoldenSet(db.golden.sets, file, options.set, signal);
    if (uses.length === 0) return { ...report, warnings: [...report.warnings, unwatchedSet(options.set)], power: [] };
    const now = new Date();
    const power = await Promise.all(uses.map((use) => powerOfSet(db.golden.baselines, use, report.set.queries, now)));
    return { ...report, power: power.flat() };
  });
}

async function importSet(settings: CommandSettings, path: string, options: ImportOptions): Promise<void> {
  const report = await importNamedSet(settings, path, options);
  if (options.json === true) {
    printJson({
      ...goldenSetVersionJson(report.set),
      created: report.created,
      dry_run: false,
      warnings: report.warnings,
      power: report.power,
      ...importSummaryJson(report.summary),
    });
    return;
  }
  for (const warning of report.warnings) note(`Note: ${warning}`);
  const { name, version, queries, judgments } = report.set;
  const size = sizeText(queries, judgments);
  if (report.created) printLine(`Imported ${name} version ${version}: ${size}.`);
  else printLine(`${name} version ${version} already has this content (${size}). Nothing was imported.`);
  for (const line of summaryLines(report.summary)) printLine(line);
  for (const sentence of report.power) note(sentence);
}

async function tryImport(path: string, options: ImportOptions, signal: AbortSignal): Promise<void> {
  if (options.format === 'review') {
    throw new RecalldError(
      'usage',
      '--dry-run does not support review files, because they are merged with the stored set. Remove --dry-run.',
    );
  }
  const file = await readGoldenSet(path, readOptions(options.format, options), signal);
  const { counts, format, warnings, summary, contentHash, origin } = file;
  if (options.json === true) {
    printJson({
      golden_set: options.set,
      format,
      content_hash: contentHash,
      query_count: counts.queries,
      judgment_count: counts.judgments,
      origin,
      created: false,
      dry_run: true,
      warnings,
      ...importSummaryJson(summary),
    });
    return;
  }
  for (const warning of warnings) note(`Note: ${warning}`);
  printLine(`Read ${path} as ${format}: ${sizeText(counts.queries, counts.judgments)}. Nothing was stored.`);
  for (const line of summaryLines(summary)) printLine(line);
}

function sizeText(queries: number, judgments: number): string {
  return `${plural(queries, 'query', 'queries')}, ${plural(judgments, 'judgment')}`;
}

function listed(counts: Readonly<Record<string, number>>, text: (name: string, count: number) => string): string {
  return Object.entries(counts)
    .map(([name, count]) => text(name, count))
    .join(', ');
}

function summaryLines({ columns, judgmentsByGrade, documents, tags, skipped }: ImportSummary): string[] {
  return [
    columns.length > 0 && `Columns: ${columns.map(readingText).join('; ')}.`,
    documents > 0 &&
      `Judgments: ${listed(judgmentsByGrade, (grade, count) => `${count} of grade ${grade}`)}; ${plural(documents, 'document')}.`,
    Object.keys(tags).length > 0 &&
      `Tags: ${listed(tags, (key, count) => `${key} on ${plural(count, 'query', 'queries')}`)}.`,
    ...skipped.map(
      ({ reason, count, first }) => `Skipped: ${count} (${reason.replaceAll('_', ' ')}; first: ${first}).`,
    ),
  ].filter((line) => line !== false);
}

export function exportCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand(
    'export',
    'Write a golden set to files. An import of these files recreates the same set.',
    'recalld golden export --set support-faq --format csv --out faq.csv\n  recalld golden export --set scifact --format beir --out ./scifact',
  )
    .requiredOption('--set <name>', 'name of the golden set', parseSetName)
    .option('--version <n>', 'version of the set (default: the latest)', parseCount)
    .addOption(new Option('--format <format>', 'format of the files').choices(goldenFormats).makeOptionMandatory())
    .requiredOption('--out <path>', 'file, or folder for BEIR and TREC')
    .option('--drop-tags', 'TREC: export without tags, which the format cannot express', false)
    .option('--force', 'overwrite existing files', false)
    .action(async (options: ConfiguredOptions & ExportRequest) => {
      const { set, files } = await withCommandStore(commandSettings(options.config, signal), ({ db }) =>
        exportGoldenSetTo(db.golden.sets, options, signal),
      );
      if (options.json === true) return printJson({ ...goldenSetVersionJson(set), files });
      printLine(
        `Exported ${set.name} version ${set.version}: ${plural(set.queries, 'query', 'queries')} to ${files.join(', ')}.`,
      );
    });
}

export function usesOf({ pipelines }: Config, name: string): SetUse[] {
  return pipelines.flatMap((pipeline) =>
    pipeline.golden
      .filter(({ set }) => set === name)
      .map((golden) => ({
        pipeline: pipeline.name,
        schedule: createGoldenSchedule(golden, pipeline),
        checks: ofKind(goldenChecks(pipeline), 'regression'),
      })),
  );
}
