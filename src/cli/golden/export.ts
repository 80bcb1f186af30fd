import { type Command, Option } from 'commander';
import { commandSettings } from '../../app/commands/command-settings.ts';
import { type CommandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { exportGoldenSetTo } from '../../app/commands/golden-export.ts';
import { type GoldenFormat, goldenFormats } from '../../golden/rules/golden-set.ts';
import { goldenSetVersionJson } from '../../golden/schema/golden-set.ts';
import { type ConfiguredOptions, configuredCommand } from '../configured-command.ts';
import { printJson, printLine } from '../output.ts';
import { parseCount } from '../parse-count.ts';
import { parseSetName } from './parse-set-name.ts';

interface ExportOptions extends ConfiguredOptions {
  readonly set: string;
  readonly version?: number;
  readonly format: GoldenFormat;
  readonly out: string;
  readonly dropTags: boolean;
  readonly force: boolean;
}

export function exportCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'export',
    'Write a golden set to files; importing them gives the same set.',
    'recalld golden export --set support-faq --format csv --out faq.csv\n  recalld golden export --set scifact --format beir --out ./scifact',
  )
    .requiredOption('--set <name>', 'name of the golden set', parseSetName)
    .option('--version <n>', 'version of the set (default: the latest)', parseCount)
    .addOption(
      new Option('--format <format>', 'form of the files').choices(goldenFormats).makeOptionMandatory(),
    )
    .requiredOption('--out <path>', 'file, or folder for BEIR and TREC')
    .option('--drop-tags', 'TREC: leave out the tags, which it cannot hold', false)
    .option('--force', 'replace files that are there', false)
    .action((options: ExportOptions) => exportSet(commandSettings(options.config, signal), options));
}

async function exportSet(settings: CommandSettings, options: ExportOptions): Promise<void> {
  const { set, files } = await withCommandStore(settings, ({ sets }) => exportGoldenSetTo(sets, options));
  if (options.json === true) printJson({ ...goldenSetVersionJson(set), files });
  else
    printLine(`Exported ${set.name} version ${set.version}: ${set.queries} queries to ${files.join(', ')}.`);
}
