/** `recalld report`: the review of a pipeline as one file. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { commandSettings } from '../app/commands/command-settings.ts';
import type { CommandSettings } from '../app/commands/command-store.ts';
import { withWatchedStore } from '../app/commands/watched-store.ts';
import { assertConfiguredPipeline } from '../app/pipelines.ts';
import { version } from '../app/version.ts';
import { type ConfiguredOptions, configuredCommand } from '../cli/configured-command.ts';
import { printJson, printLine } from '../cli/output.ts';
import { parseTime } from '../cli/parse-time.ts';
import { RecalldError } from '../errors.ts';
import { writeText } from '../files/text-file.ts';
import { systemClock } from '../system-clock.ts';
import { type Review, readReview } from './read-review.ts';
import { renderReport } from './report/report-page.tsx';
import { reviewJson } from './review-json.ts';

/** Writes the review of one pipeline as a file. */
interface ReportRequest {
  readonly pipeline: string;
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
  /** Path of the file. */
  readonly out: string;
  /** Replaces a file that is there. */
  readonly force: boolean;
}

/** From the compiled file as from the source. */
const assets = path.join(import.meta.dirname, '../../src/console/assets');

/**
 * Reads the review and writes it as one HTML file.
 *
 * @throws RecalldError pipeline_unknown, usage for times that do not follow each other, file_unwritable, and as
 * withWatchedStore
 */
async function writeReport(settings: CommandSettings, request: ReportRequest): Promise<Review> {
  const { pipeline, from, until, out, force } = request;
  assertConfiguredPipeline(settings.config, pipeline);
  if (from >= until) throw new RecalldError('usage', '--from must be before --to; swap the two times.');
  const now = systemClock.now();
  const privacy = settings.config.pipelines.find(({ name }) => name === pipeline)?.privacy;
  const showsText = privacy?.text !== 'hash';
  const review = await withWatchedStore(settings, (store) => {
    const watched = store.pipelines.find(({ name }) => name === pipeline);
    if (watched === undefined)
      throw new RangeError(`The pipeline ${pipeline} is in the config but not watched.`);
    return readReview(store, { pipeline: watched, from, until, showsText });
  });
  const sheets = ['style.css', 'report.css'].map((name) => readFile(path.join(assets, name), 'utf8'));
  const style = (await Promise.all(sheets)).join('\n');
  await writeText(out, renderReport({ review, now, version, style }), force);
  return review;
}

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
