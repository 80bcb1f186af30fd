/** `recalld golden`: import, list, show and run golden sets. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { commandSettings } from '../app/command-settings.ts';
import { type CommandSettings, withCommandStore } from '../app/command-store.ts';
import { importGoldenSet } from '../app/golden-import.ts';
import { queueGoldenRun, runGoldenSetNow } from '../app/golden-run.ts';
import { summarizeRun } from '../app/run-summary.ts';
import type { RunSummaryJson } from '../contracts/run-summary.ts';
import { RecalldError } from '../core/errors.ts';
import type { GoldenFormat } from '../core/golden/golden-set-file.ts';
import type { GoldenQuery } from '../core/model.ts';
import type { GoldenSetVersion } from '../ports/golden-sets.ts';
import { type ConfiguredOptions, configuredCommand } from './configured-command.ts';
import { EXIT_CHECK_FAILED } from './exit-code.ts';
import { formatTable, note, printJson, printLine } from './output.ts';
import { createProgressBar } from './progress.ts';
import { formatRunSummary } from './run-report.ts';

interface ImportOptions extends ConfiguredOptions {
  readonly set: string;
  readonly format: 'auto' | GoldenFormat;
  readonly rowsAsQueries: boolean;
  readonly queries?: string;
  readonly qrels?: string;
}

interface RunOptions extends ConfiguredOptions {
  readonly pipeline: string;
  readonly set: string;
  readonly wait: boolean;
}

export function goldenCommand(signal: AbortSignal): Command {
  const command = new Command('golden').description('Golden sets: queries with judged documents.');
  command.addCommand(importCommand(signal));
  command.addCommand(runCommand(signal));
  command.addCommand(
    configuredCommand('list', 'List every version of every golden set.', 'recalld golden list').action(
      (options: ConfiguredOptions) => list(commandSettings(options.config, signal), options),
    ),
  );
  command.addCommand(
    configuredCommand('show', 'Show the latest version of a golden set.', 'recalld golden show support-faq')
      .argument('<set>', 'name of the golden set')
      .action((name: string, options: ConfiguredOptions) =>
        show(commandSettings(options.config, signal), name, options),
      ),
  );
  return command;
}

function importCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'import',
    'Import a golden set; a changed file makes a new version.',
    'recalld golden import faq.csv --set support-faq\n  recalld golden import ./beir/scifact --set scifact --format beir',
  )
    .argument('<path>', 'file, or folder for BEIR and TREC')
    .requiredOption('--set <name>', 'name of the golden set', parseSetName)
    .addOption(
      new Option('--format <format>', 'form of the files')
        .choices(['auto', 'beir', 'trec', 'csv', 'jsonl'])
        .default('auto'),
    )
    .option(
      '--rows-as-queries',
      'CSV: every row is a query of its own, also when question and tags repeat',
      false,
    )
    .option('--queries <file>', 'BEIR and TREC: the queries, when they are not found by name')
    .option('--qrels <file>', 'BEIR and TREC: the judgments, when they are not found by name')
    .action((path: string, options: ImportOptions) =>
      importSet(commandSettings(options.config, signal), path, options),
    );
}

function runCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'run',
    'Run a golden set against the retriever of a pipeline, now.',
    'recalld golden run --pipeline support-docs --set support-faq',
  )
    .requiredOption('--pipeline <name>', 'pipeline of the config')
    .requiredOption('--set <name>', 'name of the golden set')
    .option('--wait', 'run it here and wait for its end', true)
    .option('--no-wait', 'hand it to a running daemon and return at once')
    .action((options: RunOptions) => run(commandSettings(options.config, signal), options));
}

async function importSet(settings: CommandSettings, path: string, options: ImportOptions): Promise<void> {
  const report = await withCommandStore(settings, ({ sets }) =>
    importGoldenSet(sets, path, options.set, {
      format: options.format,
      rowsAsQueries: options.rowsAsQueries,
      ...(options.queries === undefined ? {} : { queriesPath: options.queries }),
      ...(options.qrels === undefined ? {} : { qrelsPath: options.qrels }),
    }),
  );
  if (options.json === true) {
    printJson({ ...versionJson(report.set), created: report.created, warnings: report.warnings });
    return;
  }
  for (const warning of report.warnings) note(`Note: ${warning}`);
  const { name, version, queries, judgments } = report.set;
  const size = `${queries} queries, ${judgments} judgments`;
  if (report.created) printLine(`Imported ${name} version ${version}: ${size}.`);
  else printLine(`${name} version ${version} already has this content (${size}); nothing to do.`);
}

async function list(settings: CommandSettings, options: ConfiguredOptions): Promise<void> {
  const versions = await withCommandStore(settings, ({ sets }) => sets.list());
  if (options.json === true) printJson(versions.map(versionJson));
  else if (versions.length === 0)
    printLine('No golden set has been imported yet; `recalld golden import PATH --set NAME` does it.');
  else {
    const rows = versions.map((v) => [
      v.name,
      v.format,
      v.importedAt.toISOString(),
      `${v.version}`,
      `${v.queries}`,
      `${v.judgments}`,
    ]);
    printLine(formatTable(['set', 'format', 'imported', 'version', 'queries', 'judgments'], rows, 3));
  }
}

async function show(settings: CommandSettings, name: string, options: ConfiguredOptions): Promise<void> {
  const { set, queries } = await withCommandStore(settings, async ({ sets }) => {
    const latest = await sets.latest(name);
    if (latest === null)
      throw new RecalldError(
        'golden_set_unknown',
        `There is no golden set "${name}"; \`recalld golden list\` shows those that exist.`,
      );
    return { set: latest, queries: await sets.queries(latest.name, latest.version) };
  });
  if (options.json === true) {
    printJson({ ...versionJson(set), queries: queries.map(queryJson) });
    return;
  }
  printLine(`${set.name} version ${set.version}, ${set.format}, imported ${set.importedAt.toISOString()}`);
  printLine(`${set.queries} queries, ${set.judgments} judgments, content ${set.contentHash}\n`);
  const rows = queries.map((q) => [
    q.id,
    q.text,
    q.judgments.map((j) => `${j.documentId}:${j.grade}`).join(' '),
  ]);
  printLine(formatTable(['query', 'text', 'judgments'], rows));
}

async function run(settings: CommandSettings, options: RunOptions): Promise<void> {
  if (!options.wait) {
    const queued = await withCommandStore(settings, (store) => queueGoldenRun(settings, store, options));
    if (options.json === true) printJson({ run_id: queued.id, status: queued.status });
    else printLine(`Run ${queued.id} is on its way; \`recalld runs show ${queued.id}\` shows it.`);
    return;
  }
  const bar = createProgressBar(options.set);
  const { summary, failure } = await withCommandStore(settings, async (store) => {
    const ended = await runGoldenSetNow(settings, store, options, (progress) => bar.show(progress)).finally(
      () => bar.end(),
    );
    const firstFailure = (await store.runs.answers(ended.id)).find(
      (answer) => answer.errorMessage !== null && answer.errorCode !== 'not_asked',
    );
    return { summary: await summarizeRun(store.runs, ended), failure: firstFailure?.errorMessage ?? null };
  });
  if (options.json === true) printJson(summary);
  else printLine(formatRunSummary(summary, failure));
  if (isSilent(summary)) {
    throw new RecalldError(
      'retriever_unreachable',
      `The retriever of pipeline "${summary.pipeline}" answered none of ${summary.queries.total} queries${failure === null ? '' : ` (${failure.replace(/\.$/, '')})`}; start it or mend retriever.url.`,
    );
  }
  if (summary.verdict !== 'ok') process.exitCode = EXIT_CHECK_FAILED;
}

function isSilent({ queries }: RunSummaryJson): boolean {
  return queries.ok === 0 && queries.empty === 0 && queries.error + queries.timeout > 0;
}

function queryJson({ id, text, tags, judgments }: GoldenQuery) {
  return {
    id,
    text,
    tags,
    judgments: judgments.map(({ documentId, grade }) => ({ document_id: documentId, grade })),
  };
}

function versionJson(set: GoldenSetVersion) {
  return {
    golden_set: set.name,
    version: set.version,
    format: set.format,
    content_hash: set.contentHash,
    imported_at: set.importedAt.toISOString(),
    query_count: set.queries,
    judgment_count: set.judgments,
  };
}

function parseSetName(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 100 of letters, digits, dot, dash and underscore.');
}
