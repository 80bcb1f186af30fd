/** `recalld index`: what the store of a pipeline holds against what it should hold. */
import { type Command } from 'commander';
import { type CommandStore, commandSettings, withCommandStore, withPipeline } from '../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../app/pipelines.ts';
import { type ConfiguredOptions, configuredCommand, parseCount } from '../cli/configured-command.ts';
import { formatTable, printJson, printLine } from '../cli/output.ts';
import { durationMs } from '../config/duration.ts';
import { RecalldError } from '../errors.ts';
import { gapWords } from '../measures/rules/measure-table.ts';
import { shownMeasure } from '../measures/shown-measures.ts';
import { ALL_SEGMENT } from '../model.ts';
import { systemClock } from '../system-clock.ts';
import { checkIndex } from './check-index.ts';
import { hubsCommand } from './hubs-command.ts';
import { type IndexReads, type IndexStanding, readIndexStanding } from './index-reads.ts';
import { indexStandingJson } from './index-routes.ts';
import { createIndexPlans } from './plan.ts';
import { findingWords } from './rules/findings.ts';

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
  const { config, logger } = settings;
  assertConfiguredPipeline(config, options.pipeline);
  const index = config.pipelines.find(({ name }) => name === options.pipeline)?.index;
  if (index === undefined) {
    throw new RecalldError(
      'config_invalid',
      `Nobody says what the index of "${options.pipeline}" should hold; add \`index: {manifest: {kind: file, path: ...}}\` to the pipeline.`,
    );
  }
  await withCommandStore(settings, async (store) => {
    if (!options.stored) {
      const outcome = await withPipeline(settings, options.pipeline, async (pipeline) => {
        const [plan] = createIndexPlans(config, [pipeline], systemClock.now());
        return plan === undefined ? null : checkIndex({ ...store, clock: systemClock, logger }, plan, signal);
      });
      if (outcome === 'held') throw new RecalldError('store_unreachable', HELD);
      if (outcome === 'put_off') throw new RecalldError('store_unreachable', PUT_OFF);
    }
    await show(store, [{ pipeline: options.pipeline, lateAfterMs: durationMs(index.late_after) }], options);
  });
}

const HELD = 'Another process looks into this index; --stored shows what it last found.';
const PUT_OFF = 'The store failed or slowed down, and the round was put off; --stored shows what is known so far.';

async function show(
  store: CommandStore,
  indexPlans: IndexReads['indexPlans'],
  { pipeline, documents: most, json }: CheckOptions,
): Promise<void> {
  const now = systemClock.now();
  const standing = await readIndexStanding({ ...store, indexPlans }, pipeline, now, most);
  if (json === true) printJson(indexStandingJson(pipeline, standing, now));
  else printStanding(standing);
}

function printStanding({ checkedAt, documents, measures, found }: IndexStanding): void {
  if (checkedAt === null) return printLine('No round has come to its end yet.');
  printLine(`${documents ?? 0} documents should be in the store; last looked at ${checkedAt.toISOString()}.`);
  const whole = measures.filter(({ segment }) => segment === ALL_SEGMENT);
  printLine(
    formatTable(
      ['measure', 'value', '95 % bounds', 'n'],
      whole.map(({ measure, newest, gap }) => {
        const { title, show: write } = shownMeasure(measure);
        if (gap !== null || newest === null) return [title, `unknown: ${gapWords(gap?.reason ?? '')}`, '', ''];
        const { value, ciLow, ciHigh, n } = newest;
        const bounds = ciLow === null || ciHigh === null ? 'at least' : `${write(ciLow)} to ${write(ciHigh)}`;
        return [title, write(value), bounds, String(n)];
      }),
      1,
    ),
  );
  for (const { kind, count, documents: listed } of found) {
    if (count === 0) continue;
    printLine(`\n${count} ${findingWords[kind]}${count > listed.length ? `, of which ${listed.length}` : ''}:`);
    for (const { id, segment, foundAt } of listed) {
      printLine(`  ${JSON.stringify(id)}${segment === null ? '' : ` (${segment})`} since ${foundAt.toISOString()}`);
    }
  }
}
