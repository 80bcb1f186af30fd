import { type Command, Option } from 'commander';
import { commandSettings } from '../../app/commands/command-settings.ts';
import { type CommandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { importGoldenSet } from '../../app/commands/golden-import.ts';
import { importReview } from '../../app/commands/golden-review-import.ts';
import { type GoldenFormat, goldenFormats } from '../../golden/rules/golden-set.ts';
import { goldenSetVersionJson } from '../../golden/schema/golden-set.ts';
import { type ConfiguredOptions, configuredCommand } from '../configured-command.ts';
import { note, printJson, printLine } from '../output.ts';
import { parseSetName } from './parse-set-name.ts';

interface ImportOptions extends ConfiguredOptions {
  readonly set: string;
  readonly format: 'auto' | 'review' | GoldenFormat;
  readonly rowsAsQueries: boolean;
  readonly queries?: string;
  readonly qrels?: string;
}

export function importCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'import',
    'Import a golden set; a changed file makes a new version.',
    'recalld golden import faq.csv --set support-faq\n  recalld golden import ./beir/scifact --set scifact --format beir\n  recalld golden import review.jsonl --set support-faq --format review',
  )
    .argument('<path>', 'file, or folder for BEIR and TREC')
    .requiredOption('--set <name>', 'name of the golden set', parseSetName)
    .addOption(
      new Option('--format <format>', 'form of the files')
        .choices(['auto', ...goldenFormats, 'review'])
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

async function importSet(settings: CommandSettings, path: string, options: ImportOptions): Promise<void> {
  const { format } = options;
  const report = await withCommandStore(settings, ({ sets }) =>
    format === 'review'
      ? importReview(settings.config, sets, path, options.set)
      : importGoldenSet(sets, path, options.set, {
          format,
          rowsAsQueries: options.rowsAsQueries,
          ...(options.queries === undefined ? {} : { queriesPath: options.queries }),
          ...(options.qrels === undefined ? {} : { qrelsPath: options.qrels }),
        }),
  );
  if (options.json === true) {
    printJson({ ...goldenSetVersionJson(report.set), created: report.created, warnings: report.warnings });
    return;
  }
  for (const warning of report.warnings) note(`Note: ${warning}`);
  const { name, version, queries, judgments } = report.set;
  const size = `${queries} queries, ${judgments} judgments`;
  if (report.created) printLine(`Imported ${name} version ${version}: ${size}.`);
  else printLine(`${name} version ${version} already has this content (${size}); nothing to do.`);
}
