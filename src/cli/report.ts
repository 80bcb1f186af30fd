/** `recalld report`: the review of a pipeline as one file. */
import type { Command } from 'commander';
import { commandSettings } from '../app/commands/command-settings.ts';
import { writeReport } from '../app/commands/report.ts';
import { reviewJson } from '../status/review-json.ts';
import { type ConfiguredOptions, configuredCommand } from './configured-command.ts';
import { printJson, printLine } from './output.ts';
import { parseTime } from './parse-time.ts';

interface ReportOptions extends ConfiguredOptions {
  readonly pipeline: string;
  readonly from: Date;
  readonly to?: Date;
  readonly out: string;
  readonly force?: boolean;
}

export function reportCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'report',
    'Write one HTML file for the weekly review: scores, incidents and their causes, density drift, topics to write about, health of the golden sets.',
    'recalld report --pipeline support-docs --from 2026-11-13 --to 2026-11-20 --out report.html',
  )
    .requiredOption('--pipeline <name>', 'the pipeline to review')
    .requiredOption('--from <time>', 'start of the time to review', parseTime)
    .option('--to <time>', 'end of the time to review (default: now)', parseTime)
    .option('--out <file>', 'HTML file to write', 'report.html')
    .option('--force', 'replace the file when it is there')
    .action(async ({ config, pipeline, from, to, out, force = false, json }: ReportOptions) => {
      const until = to ?? new Date();
      const request = { pipeline, from, until, out, force };
      const review = await writeReport(commandSettings(config, signal), request);
      if (json === true) printJson({ file: out, ...reviewJson(review) });
      else printLine(`The review of ${pipeline} is in ${out}.`);
    });
}
