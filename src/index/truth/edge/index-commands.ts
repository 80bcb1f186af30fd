/**
 * `recalld index`: what the store of a pipeline holds against what it should hold. `recalld index hubs`: chunks that
 * come back for far more questions than their share, and chunks that never do.
 */

import type { Command } from 'commander';
import {
  type CommandStore,
  commandSettings,
  withCommandStore,
  withPipeline,
} from '../../../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../../../app/pipelines.ts';
import { type ConfiguredOptions, configuredCommand, parseCount, printJson, printLine } from '../../../cli/output.ts';
import { RecalldError } from '../../../core/errors.ts';
import { systemClock } from '../../../core/system-clock.ts';
import { DAY_MS } from '../../../core/time.ts';
import { terminalText } from '../../../report/terminal.ts';
import { checkIndex } from '../check-index.ts';
import { type HubsReport, readHubs, readIndexStatus } from '../index-reads.ts';
import { createIndexPlans } from '../plan.ts';
import { type Hub, MIN_QUESTIONS } from '../rules/hubs.ts';
import { deadChunks, hubsSection, statusContent } from './index-page.ts';
import { indexStatusJson } from './index-routes.ts';

interface HubsOptions extends ConfiguredOptions {
  readonly pipeline: string;
  readonly days: number;
  readonly k: number;
  readonly chunks: number;
}

function hubsCommand(signal: AbortSignal): Command {
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
  const report = await withCommandStore(settings, ({ db }) =>
    withPipeline(settings, pipeline, async ({ store }): Promise<Told> => {
      const since = new Date(systemClock.now().getTime() - days * DAY_MS);
      const window = { pipeline, since, k, most: MAX_QUERIES, chunks: options.chunks };
      const { hubs: certain, ...found } = await readHubs(db.index.returned, store, window, signal);
      if (certain === null) throw new RecalldError('usage', tooFew(found.questions, days));
      return { ...found, hubs: certain };
    }),
  );
  if (options.json === true) printJson(hubsJson(report, options));
  else printLine(terminalText(hubsSection(report, options, deadChunks(report)), systemClock.now()));
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

interface CheckOptions extends ConfiguredOptions {
  readonly pipeline: string;
  readonly stored: boolean;
  readonly documents: number;
}

export function indexCommand(command: Command, signal: AbortSignal): Command {
  command.addCommand(
    configuredCommand(
      'check',
      'Look now, in place of waiting for the schedule, and list what is missing, left behind or mixed.',
      'recalld index check --pipeline support-docs',
    )
      .requiredOption('--pipeline <name>', 'pipeline whose config has `index`')
      .option('--stored', 'show what the last round found, without looking', false)
      .option('--documents <n>', 'list at most so many documents of a kind', parseCount, 20)
      .action((options: CheckOptions) => check(options, signal)),
  );
  return command.addCommand(hubsCommand(signal));
}

async function check(options: CheckOptions, signal: AbortSignal): Promise<void> {
  const settings = commandSettings(options.config, signal);
  const { config } = settings;
  assertConfiguredPipeline(config, options.pipeline);
  if (config.pipelines.find(({ name }) => name === options.pipeline)?.index === undefined) {
    throw new RecalldError(
      'config_invalid',
      `Nobody says what the index of "${options.pipeline}" should hold; add \`index: {manifest: {kind: file, path: ...}}\` to the pipeline.`,
    );
  }
  await withCommandStore(settings, async (store) => {
    if (!options.stored) {
      const outcome = await withPipeline(settings, options.pipeline, async (pipeline) => {
        const [plan] = createIndexPlans(config, [pipeline], systemClock.now());
        return plan === undefined ? null : checkIndex(store, plan, signal);
      });
      if (outcome === 'held') throw new RecalldError('store_unreachable', HELD);
      if (outcome === 'put_off') throw new RecalldError('store_unreachable', PUT_OFF);
    }
    await show(store, options);
  });
}

const HELD = 'Another process looks into this index; --stored shows what it last found.';
const PUT_OFF = 'The store failed or slowed down, and the round was put off; --stored shows what is known so far.';

async function show(store: CommandStore, { pipeline, documents: most, json }: CheckOptions): Promise<void> {
  const now = systemClock.now();
  // The replica may lag behind the round that has just ended.
  const status = await readIndexStatus({ ...store, reads: store.db }, pipeline, now, most);
  if (json === true) printJson(indexStatusJson(pipeline, status, now));
  else printLine(terminalText(statusContent({ ...status, isIndexed: true, now }), now));
}
