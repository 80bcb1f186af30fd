import { type Command, InvalidArgumentError } from 'commander';
import { commandSettings } from '../../app/commands/command-settings.ts';
import { type CommandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { type PromoteRequest, promoteToFile } from '../../app/commands/golden-promotion.ts';
import { type ConfiguredOptions, configuredCommand } from '../configured-command.ts';
import { printJson, printLine } from '../output.ts';
import { parseCount } from '../parse-count.ts';
import { createProgressBar } from '../progress.ts';
import { parseSetName } from './parse-set-name.ts';

type PromoteOptions = ConfiguredOptions & PromoteRequest;

export function promoteCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'promote',
    'Write live queries with feedback to a file, for a person to judge; `golden import --format review` takes it in.',
    'recalld golden promote --pipeline support-docs --since 14d --set support-faq --out review.jsonl',
  )
    .requiredOption('--pipeline <name>', 'pipeline of the config')
    .requiredOption('--since <when>', 'date such as 2026-11-01, or days such as 14d', parseSince)
    .requiredOption('--set <name>', 'golden set that the questions are to join', parseSetName)
    .requiredOption('--out <file>', 'review file to write')
    .option('--queries <n>', 'at most so many questions', parseCount, 50)
    .option('--force', 'replace the file if it is there', false)
    .action((options: PromoteOptions) => promote(commandSettings(options.config, signal), options));
}

async function promote(settings: CommandSettings, options: PromoteOptions): Promise<void> {
  const bar = createProgressBar(options.set);
  const report = await withCommandStore(settings, (store) =>
    promoteToFile(settings, store, options, (progress) => bar.show(progress)).finally(() => bar.end()),
  );
  if (options.json === true) return printJson({ ...report, file: options.out });
  printLine(
    `${report.promoted} questions of ${report.candidates} live queries written to ${options.out}: ` +
      `${report.suggested} documents with a suggested grade, ${report.open} to judge.`,
  );
  if (report.failed > 0)
    printLine(`The retriever failed ${report.failed} of them; their documents are those that users saw.`);
  printLine(
    `Edit keep and grades, then: recalld golden import ${options.out} --set ${options.set} --format review`,
  );
}

function parseSince(text: string): Date {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  const date = days === undefined ? new Date(text) : new Date(Date.now() - Number(days) * 86_400_000);
  if (Number.isNaN(date.getTime()))
    throw new InvalidArgumentError('Write a date such as 2026-11-01, or days such as 14d.');
  return date;
}
