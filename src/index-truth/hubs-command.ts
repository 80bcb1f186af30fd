/** `recalld index hubs`: chunks that come back for far more questions than their share, and chunks that never do. */
import type { Command } from 'commander';
import { commandSettings, withCommandStore, withPipeline } from '../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../app/pipelines.ts';
import { type ConfiguredOptions, configuredCommand, parseCount } from '../cli/configured-command.ts';
import { formatTable, note, printJson, printLine } from '../cli/output.ts';
import { RecalldError } from '../errors.ts';
import { systemClock } from '../system-clock.ts';
import { percent } from '../text/spelling.ts';
import { DAY_MS } from '../time.ts';
import { type HubsReport, readHubs } from './read-hubs.ts';
import { type Hub, MIN_QUESTIONS } from './rules/hubs.ts';

interface HubsOptions extends ConfiguredOptions {
  readonly pipeline: string;
  readonly days: number;
  readonly k: number;
  readonly chunks: number;
}

export function hubsCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'hubs',
    'List chunks that come back for far more questions than their share, and chunks that never do.',
    'recalld index hubs --pipeline support-docs',
  )
    .requiredOption('--pipeline <name>', 'pipeline of the config')
    .option('--days <n>', 'of live queries that are looked at', parseCount, 7)
    .option('-k <n>', 'places of an answer that count', parseCount, 10)
    .option('--chunks <n>', 'chunks of the store that are drawn to find dead ones', parseCount, 1000)
    .action((options: HubsOptions) => hubs(options, signal));
}

interface Told extends HubsReport {
  readonly hubs: readonly Hub[];
}

async function hubs(options: HubsOptions, signal: AbortSignal): Promise<void> {
  const settings = commandSettings(options.config, signal);
  assertConfiguredPipeline(settings.config, options.pipeline);
  const { pipeline, days, k } = options;
  const report = await withCommandStore(settings, ({ returned }) =>
    withPipeline(settings, pipeline, async ({ store }): Promise<Told> => {
      const since = new Date(systemClock.now().getTime() - days * DAY_MS);
      const window = { pipeline, since, k, most: MAX_QUERIES, chunks: options.chunks };
      const { hubs: certain, ...found } = await readHubs(returned, store, window, signal);
      if (certain === null) throw new RecalldError('usage', tooFew(found.questions, days));
      return { ...found, hubs: certain };
    }),
  );
  if (options.json === true) printJson(hubsJson(report, options));
  else printHubs(report, k);
}

/** Of a busy service these are of less than `--days`. */
const MAX_QUERIES = 20_000;

function tooFew(questions: number, days: number): string {
  return `${questions} different questions were answered within ${days} days, and fewer than ${MIN_QUESTIONS} tell nothing; look further back with --days, or run a golden set.`;
}

function hubsJson({ questions, documents, hubs: found, dead, why }: Told, { pipeline, k }: HubsOptions) {
  return {
    pipeline,
    k,
    questions,
    documents,
    hubs: found.map(({ id, share, low, high, examples, ...one }) => ({
      id,
      questions: one.questions,
      share,
      ci_low: low,
      ci_high: high,
      examples,
    })),
    never_returned:
      dead === null
        ? null
        : { share: dead.share, ci_low: dead.low, ci_high: dead.high, n: dead.sampled, ids: dead.ids },
    why,
  };
}

const LISTED = 20;

function printHubs({ questions, documents, hubs: found, dead, why }: Told, k: number): void {
  printLine(`${questions} different questions brought ${documents} documents among the first ${k}.`);
  if (found.length === 0) printLine('No document comes back for far more of them than its share.');
  else {
    const rows = found.map(({ id, share, low, high, examples }) => [
      id,
      percent(share),
      `${percent(low)} to ${percent(high)}`,
      examples[0] ?? '',
    ]);
    printLine(formatTable(['hub', 'of the questions', 'bounds', 'such as'], rows, 1));
  }
  if (dead === null) return note(why ?? '');
  printLine(
    `${percent(dead.share)} of ${dead.sampled} chunks drawn from the store never came back (95 % bounds ${percent(dead.low)} to ${percent(dead.high)})${dead.ids.length === 0 ? '.' : ', such as:'}`,
  );
  for (const id of dead.ids.slice(0, LISTED)) printLine(`  ${JSON.stringify(id)}`);
}
