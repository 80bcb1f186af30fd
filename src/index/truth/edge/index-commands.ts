import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import {
  type CommandSettings,
  type CommandStore,
  commandSettings,
  withCommandStore,
  withPipeline,
} from '../../../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../../../app/pipelines.ts';
import { configuredCommand, parseCount, printJson, printLine } from '../../../cli/output.ts';
import { RecalldError } from '../../../core/errors.ts';
import { systemClock } from '../../../core/system-clock.ts';
import { DAY_MS } from '../../../core/time.ts';
import { terminalText } from '../../../report/terminal.ts';
import { checkIndex } from '../check-index.ts';
import { type HubsReport, readHubs, readIndexStatus } from '../index-reads.ts';
import { createIndexPlans } from '../plan.ts';
import { MIN_QUERIES } from '../rules/hubs.ts';
import { deadChunks, hubsSection, statusContent } from './index-page.ts';
import { indexStatusJson } from './index-routes.ts';

function hubsCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand(
    'hubs',
    'List hub documents, which are retrieved for far more queries than other documents, and chunks that are never retrieved.',
    'recalld index hubs --pipeline support-docs',
  )
    .requiredOption('--pipeline <name>', 'configured pipeline')
    .option('--days <n>', 'number of days of live queries to read', parseCount, 7)
    .option('-k <n>', 'number of top results to consider per query', parseCount, 10)
    .option(
      '--chunks <n>',
      'number of chunks sampled from the store to find chunks that are never retrieved',
      parseCount,
      1000,
    )
    .action(async ({ pipeline, days, k, chunks, config, json }) => {
      const settings = commandSettings(config, signal);
      assertConfiguredPipeline(settings.config, pipeline);
      const report = await withCommandStore(settings, ({ db }) =>
        withPipeline(settings, pipeline, async ({ store }) => {
          const since = new Date(systemClock.now().getTime() - days * DAY_MS);
          const window = { pipeline, since, k, limit: MAX_QUERIES, chunks };
          const { hubs, ...found } = await readHubs(db.index.returned, store, window, signal);
          if (hubs === null) throw new RecalldError('usage', tooFew(found.queries, days));
          return { ...found, hubs };
        }),
      );
      if (json === true) printJson(hubsJson(report, pipeline, k));
      else printLine(terminalText(hubsSection(report, { k, days }, deadChunks(report)), systemClock.now()));
    });
}

/** Maximum number of live queries that are read; if `--days` covers more queries, only the newest are read. */
const MAX_QUERIES = 20_000;

function tooFew(queries: number, days: number): string {
  return `Only ${queries} distinct queries returned documents in ${days} days; at least ${MIN_QUERIES} are required. Increase --days, or run a golden set.`;
}

function hubsJson({ queries, documents, hubs: found, dead, why }: HubsReport, pipeline: string, k: number) {
  return {
    pipeline,
    k,
    queries,
    documents,
    hubs: found?.map(({ id, share, low, high, examples, ...one }) => ({
      id,
      queries: one.queries,
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

export function indexCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  command.addCommand(
    configuredCommand(
      'check',
      'Check the index now, and list missing, orphaned and outdated documents.',
      'recalld index check --pipeline support-docs',
    )
      .requiredOption('--pipeline <name>', 'pipeline with a configured `index`')
      .option('--stored', 'show the result of the last round without starting a new check', false)
      .option('--documents <n>', 'maximum number of documents to list per kind of finding', parseCount, 20)
      .action(async ({ pipeline, stored, documents, config, json }) => {
        const settings = commandSettings(config, signal);
        assertConfiguredPipeline(settings.config, pipeline);
        if (settings.config.pipelines.find(({ name }) => name === pipeline)?.index === undefined) {
          throw new RecalldError(
            'config_invalid',
            `No manifest is configured for "${pipeline}". Add \`index: {manifest: {kind: file, path: ...}}\` to the pipeline.`,
          );
        }
        await withCommandStore(settings, async (store) => {
          if (!stored) await checkNow(settings, store, pipeline);
          const now = systemClock.now();
          // Reads from the primary, because the replica may not yet have the round that just ended.
          const status = await readIndexStatus({ ...store, reads: store.db }, pipeline, now, documents);
          if (json === true) printJson(indexStatusJson(pipeline, status, now));
          else printLine(terminalText(statusContent({ ...status, isIndexed: true, now }), now));
        });
      }),
  );
  return command.addCommand(hubsCommand(signal));
}

async function checkNow(settings: CommandSettings, store: CommandStore, name: string): Promise<void> {
  const outcome = await withPipeline(settings, name, async (pipeline) => {
    const [plan] = createIndexPlans(settings.config, [pipeline], systemClock.now());
    return plan === undefined ? null : checkIndex(store, plan, settings.signal);
  });
  if (outcome === 'busy') throw new RecalldError('store_unreachable', BUSY);
  if (outcome === 'deferred') throw new RecalldError('store_unreachable', DEFERRED);
}

const BUSY = 'Another process is checking this index. Use --stored to show the last result.';
const DEFERRED =
  'The check was deferred because the store failed or slowed down. Use --stored to show the results so far.';
