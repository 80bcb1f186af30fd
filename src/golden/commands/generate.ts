/** `recalld golden generate`: questions of a chat model about the chunks of a store. */
import { type Command, InvalidArgumentError } from 'commander';
import {
  type CommandSettings,
  commandSettings,
  withCommandStore,
  withPipeline,
} from '../../app/commands/command-store.ts';
import type { Config } from '../../app/config/schema.ts';
import { type ConfiguredOptions, configuredCommand, parseCount } from '../../cli/configured-command.ts';
import { EXIT_CHECK_FAILED } from '../../cli/exit-code.ts';
import { note, printJson, printLine } from '../../cli/output.ts';
import { createProgressBar } from '../../cli/progress.ts';
import { RecalldError } from '../../errors.ts';
import { createChatModel } from '../../models/chat-model.ts';
import { goldenSetVersionJson } from '../golden-set-schema.ts';
import {
  type CostEstimate,
  type GenerateOptions,
  type GenerationReport,
  generateGoldenSet,
} from '../sets/generate-golden-set.ts';
import { parseSetName } from './sets.ts';

export function generateCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'generate',
    'Ask a chat model for questions about the chunks of the store, into a golden set of their own.',
    'recalld golden generate --pipeline support-docs --set support-generated --questions 300 --max-cost 2',
  )
    .requiredOption('--pipeline <name>', 'pipeline whose store the chunks are drawn from')
    .requiredOption('--set <name>', 'golden set of generated questions, new or not', parseSetName)
    .requiredOption('--questions <n>', 'how many questions to keep', parseCount)
    .option('--per-chunk <n>', 'how many questions to ask about each chunk, in other styles', parseCount, 1)
    .option('--max-cost <usd>', 'stop before the model costs more', parseCost)
    .option('--out <file>', 'write a review file for a person, in place of the set')
    .option('--resume', 'go on with what was interrupted', false)
    .option('--seed <n>', 'another seed draws other chunks and styles', parseSeed, 1)
    .option('--force', 'replace the file if it is there', false)
    .addHelpText('after', '\nExit code 1: fewer questions than were asked for.')
    .action((options: ConfiguredOptions & GenerateOptions) =>
      generate(commandSettings(options.config, signal), options),
    );
}

async function generate(settings: CommandSettings, options: ConfiguredOptions & GenerateOptions): Promise<void> {
  const bar = createProgressBar(options.set);
  const watcher = {
    onEstimate: (estimate: CostEstimate) => note(estimateLine(estimate, options.maxCost)),
    onProgress: (progress: { readonly answered: number; readonly total: number }) => bar.show(progress),
  };
  const report = await withCommandStore(settings, async ({ sets }) => {
    const language = languageModel(settings.config, options);
    return withPipeline(settings, options.pipeline, (pipeline) =>
      generateGoldenSet({ sets, pipeline, ...language }, options, watcher, settings.signal),
    ).finally(() => bar.end());
  });
  if (options.json === true) printJson(reportJson(report));
  else for (const line of reportLines(report, options)) printLine(line);
  if (report.end.kind === 'failing') throw new RecalldError('llm_unreachable', failingLine(report, report.end.message));
  if (report.kept < options.questions) process.exitCode = EXIT_CHECK_FAILED;
}

/** @throws RecalldError config_invalid, usage */
function languageModel({ llm }: Config, { maxCost }: GenerateOptions) {
  const model = createChatModel(llm);
  const prices = llm?.price_per_million_tokens ?? null;
  if (maxCost === undefined || prices !== null) return { model, prices };
  throw new RecalldError(
    'usage',
    '--max-cost needs to know what the model costs; add llm.price_per_million_tokens: {input, output}.',
  );
}

function failingLine({ kept }: GenerationReport, message: string): string {
  return `${message} ${kept} questions are kept; mend it, then add --resume to go on.`;
}

function estimateLine({ tokens, cost }: CostEstimate, maxCost: number | undefined): string {
  const money = cost === null ? 'at a price that the config does not tell' : `about ${dollars(cost)}`;
  const cap = maxCost === undefined ? '' : `, stopped at ${dollars(maxCost)}`;
  return `Estimate: ${tokens.input} tokens sent, ${tokens.output} answered, ${money}${cap}.`;
}

function reportLines(report: GenerationReport, options: GenerateOptions): string[] {
  const { outcomes, tokens, cost, set, out, state } = report;
  const dropped = Object.entries(outcomes)
    .filter(([outcome]) => outcome !== 'kept')
    .map(([outcome, count]) => `${count} ${outcome.replaceAll('_', ' ')}`);
  const spent = `${tokens.input} tokens sent, ${tokens.output} answered${cost === null ? '' : `, ${dollars(cost)}`}`;
  return [
    `${report.kept} of ${options.questions} questions kept; dropped: ${dropped.length === 0 ? 'none' : dropped.join(', ')}. ${spent}.`,
    ...(endLine(report) === null ? [] : [endLine(report) ?? '']),
    ...(set === null ? [] : [`${set.name} version ${set.version}: ${set.queries} queries.`]),
    ...(out === null ? [] : [`Review ${out}, then: recalld golden import ${out} --set ${options.set} --format review`]),
    ...(state === null ? [] : [`--resume goes on from ${state}.`]),
  ];
}

function endLine({ end }: GenerationReport): string | null {
  switch (end.kind) {
    case 'cost_cap':
      return 'Stopped: the next question could cost more than --max-cost.';
    case 'no_more_chunks':
      return 'Stopped: every chunk that was drawn has been asked about; another --seed draws others.';
    case 'never_retrieved':
      return 'Stopped: the retriever returned the chunk of none of the questions; check that it returns the ids of the store.';
    case 'complete':
    case 'failing':
      return null;
  }
}

function reportJson({ end, set, ...rest }: GenerationReport): unknown {
  return { ...rest, end: end.kind, set: set === null ? null : goldenSetVersionJson(set) };
}

function dollars(cost: number): string {
  return `$${cost.toFixed(cost < 0.1 ? 4 : 2)}`;
}

function parseCost(text: string): number {
  const cost = Number(text);
  if (text.trim() !== '' && Number.isFinite(cost) && cost > 0) return cost;
  throw new InvalidArgumentError('It must be an amount of US dollars above 0.');
}

function parseSeed(text: string): number {
  const seed = Number(text);
  if (Number.isInteger(seed) && seed >= 0 && seed <= 2 ** 31 - 1) return seed;
  throw new InvalidArgumentError('It must be a whole number from 0 to 2147483647.');
}
