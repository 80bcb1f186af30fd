import { type Command, type CommandUnknownOpts, InvalidArgumentError } from '@commander-js/extra-typings';
import {
  type CommandSettings,
  type CommandStore,
  commandSettings,
  withCommandStore,
  withPipeline,
} from '../../../app/commands/command-store.ts';
import type { Config } from '../../../app/config/schema.ts';
import { EXIT_CHECK_FAILED } from '../../../cli/exit.ts';
import {
  type ConfiguredOptions,
  configuredCommand,
  note,
  parseCount,
  printJson,
  printLine,
} from '../../../cli/output.ts';
import { createProgressBar } from '../../../cli/progress.ts';
import { createChatModel } from '../../../connectors/models/chat-model.ts';
import { RecalldError } from '../../../core/errors.ts';
import { count, dollars, plural } from '../../../core/format.ts';
import { DAY_MS } from '../../../core/time.ts';
import { probeTenantsCommand } from '../../../index/truth/edge/probe-tenants-command.ts';
import { storedHashKey } from '../../../live/privacy/personal-data.ts';
import { textHash } from '../../../live/privacy/rules/redactor.ts';
import { writeText } from '../../../platform/files/text-file.ts';
import { goldenSetVersionJson } from '../../golden-set-schema.ts';
import { originMismatch } from '../../rules/golden-set.ts';
import type { RunProgress } from '../../runs/run-golden-set.ts';
import {
  type CostEstimate,
  type GenerateOptions,
  type GenerationReport,
  generateGoldenSet,
} from '../../sets/generate-golden-set.ts';
import { type Promoted, promoteLiveQueries } from '../../sets/promote-live-queries.ts';
import { reviewLine } from '../../sets/review-file.ts';
import { checkCommand } from './check.ts';
import { cancelCommand, runCommand } from './run.ts';
import { exportCommand, importCommand, listCommand, parseSetName, showCommand } from './sets.ts';

function generateCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand(
    'generate',
    'Generate a separate golden set of queries that a chat model writes about stored chunks.',
    'recalld golden generate --pipeline support-docs --set support-generated --queries 300 --max-cost 2',
  )
    .requiredOption('--pipeline <name>', 'pipeline whose store provides the chunks')
    .requiredOption('--set <name>', 'golden set of generated queries, new or existing', parseSetName)
    .requiredOption('--queries <n>', 'number of queries to generate', parseCount)
    .option('--per-chunk <n>', 'queries per chunk, each in a different style', parseCount, 1)
    .option('--max-cost <usd>', 'stop before the model cost exceeds this amount in US dollars', parseCost)
    .option('--out <file>', 'write a review file instead of changing the set')
    .option('--resume', 'continue an interrupted generation', false)
    .option('--seed <n>', 'seed for the choice of chunks and styles', parseSeed, 1)
    .option('--force', 'overwrite the file if it exists', false)
    .addHelpText('after', '\nThe exit code is 1 if fewer queries were generated than requested.')
    .action((options: ConfiguredOptions & GenerateOptions) =>
      generate(commandSettings(options.config, signal), options),
    );
}

async function generate(settings: CommandSettings, options: ConfiguredOptions & GenerateOptions): Promise<void> {
  const bar = createProgressBar(options.set);
  const watcher = {
    onEstimate: (estimate: CostEstimate) => note(estimateLine(estimate, options.maxCost)),
    onProgress: (progress: RunProgress) => bar.show(progress),
  };
  const report = await withCommandStore(settings, async ({ db }) => {
    const language = languageModel(settings.config, options);
    return withPipeline(settings, options.pipeline, (pipeline) =>
      generateGoldenSet(db.golden.sets, pipeline, language, options, watcher, settings.signal),
    ).finally(() => bar.end());
  });
  if (options.json === true) printJson(reportJson(report));
  else for (const line of reportLines(report, options)) printLine(line);
  if (report.end.kind === 'failing') throw new RecalldError('llm_unreachable', failingLine(report, report.end.message));
  if (report.kept < options.queries) process.exitCode = EXIT_CHECK_FAILED;
}

function languageModel({ llm }: Config, { maxCost }: GenerateOptions) {
  const model = createChatModel(llm);
  const prices = llm?.price_per_million_tokens ?? null;
  if (maxCost === undefined || prices !== null) return { model, prices };
  throw new RecalldError(
    'usage',
    '--max-cost requires the model prices; add llm.price_per_million_tokens: {input, output}.',
  );
}

function failingLine({ kept }: GenerationReport, message: string): string {
  return `${message} ${plural(kept, 'query', 'queries')} generated so far. Fix the problem, then rerun with --resume.`;
}

function estimateLine({ tokens, cost }: CostEstimate, maxCost: number | undefined): string {
  const money = cost === null ? 'unknown cost (no prices in the config)' : `about ${dollars(cost)}`;
  const cap = maxCost === undefined ? '' : `, limit ${dollars(maxCost)}`;
  return `Estimate: ${count(tokens.input)} input tokens, ${count(tokens.output)} output tokens, ${money}${cap}.`;
}

function reportLines(report: GenerationReport, options: GenerateOptions): string[] {
  const { outcomes, tokens, cost, set, out, state, end } = report;
  const dropped = Object.entries(outcomes)
    .filter(([outcome]) => outcome !== 'kept')
    .map(([outcome, n]) => `${n} ${outcome.replaceAll('_', ' ')}`);
  const spent = `${count(tokens.input)} input tokens, ${count(tokens.output)} output tokens${cost === null ? '' : `, ${dollars(cost)}`}`;
  const ended = endLines[end.kind];
  return [
    `${report.kept} of ${plural(options.queries, 'query', 'queries')} generated. Dropped: ${dropped.length === 0 ? 'none' : dropped.join(', ')}. ${spent}.`,
    ended !== undefined && ended,
    set !== null && `${set.name} version ${set.version}: ${plural(set.queries, 'query', 'queries')}.`,
    out !== null && `Review ${out}, then run: recalld golden import ${out} --set ${options.set} --format review`,
    state !== null && `Use --resume to continue from ${state}.`,
  ].filter((line) => line !== false);
}

const endLines: Readonly<Partial<Record<GenerationReport['end']['kind'], string>>> = {
  cost_cap: 'Stopped: the next query could exceed --max-cost.',
  no_more_chunks: 'Stopped: all sampled chunks have been used. Use another --seed to sample other chunks.',
  never_retrieved:
    'Stopped: the retriever never returned the source chunk of any query. Check that the retriever returns the same document ids as the store.',
};

function reportJson({ end, set, ...rest }: GenerationReport): unknown {
  return { ...rest, end: end.kind, set: set === null ? null : goldenSetVersionJson(set) };
}

function parseCost(text: string): number {
  const cost = Number(text);
  if (text.trim() !== '' && Number.isFinite(cost) && cost > 0) return cost;
  throw new InvalidArgumentError('The value must be an amount of US dollars above 0.');
}

function parseSeed(text: string): number {
  const seed = Number(text);
  if (Number.isInteger(seed) && seed >= 0 && seed <= 2 ** 31 - 1) return seed;
  throw new InvalidArgumentError('The value must be a whole number from 0 to 2147483647.');
}

interface PromoteRequest {
  readonly pipeline: string;
  readonly set: string;
  readonly since: Date;
  readonly out: string;
  readonly queries: number;
  readonly force: boolean;
}

/** Maximum length of a document text in a review file, in UTF-16 code units. */
const SHOWN_TEXT = 600;

/** @throws RecalldError text_not_stored, pipeline_unknown, file_unwritable */
export async function promoteToFile(
  settings: CommandSettings,
  store: CommandStore,
  request: PromoteRequest,
  onProgress: (progress: RunProgress) => void,
) {
  const { config, signal } = settings;
  const hashKey = config.storage.hash_key ?? (await storedHashKey(store.storage.pool));
  return withPipeline(settings, request.pipeline, async (pipeline) => {
    const { privacy } = config.pipelines.find(({ name }) => name === request.pipeline) ?? {};
    if (privacy?.text === 'hash')
      throw noText(request.pipeline, 'does not store texts of live queries (privacy.text: hash)');
    const latest = await store.db.golden.sets.latest(request.set);
    if (latest !== null && latest.origin === 'generated') {
      throw originMismatch(request.set, latest.origin);
    }
    const golden = latest === null ? [] : await store.db.golden.sets.queries(latest.name, latest.version);
    const { since, queries: max } = request;
    const { candidates, promoted } = await promoteLiveQueries(store, pipeline, golden, since, max, signal, onProgress);
    if (candidates === 0) {
      throw noText(request.pipeline, `has received no live query with a text since ${request.since.toISOString()}`);
    }
    const lines = promoted.map((one) => `${toLine(one, request.pipeline, hashKey)}\n`);
    await writeText(request.out, lines.join(''), request.force);
    const judgments = promoted.flatMap((one) => one.judgments);
    const suggested = judgments.filter(({ grade }) => grade !== null).length;
    return {
      candidates,
      promoted: promoted.length,
      /** Number of judgments with a grade suggested by feedback. */
      suggested,
      /** Number of judgments without a suggested grade. */
      open: judgments.length - suggested,
      /** Number of queries that the retriever failed to answer. */
      failed: promoted.filter(({ gap }) => gap !== null).length,
    };
  });
}

function noText(pipeline: string, problem: string): RecalldError {
  return new RecalldError(
    'text_not_stored',
    `The pipeline "${pipeline}" ${problem}, so there are no queries to promote. Send queries with their text, and set privacy.text to redact or keep so that recalld stores the text.`,
  );
}

function toLine(
  { source, reasons, asked, tally, judgments, texts }: Promoted,
  pipeline: string,
  hashKey: string,
): string {
  const hash = textHash(source.id, hashKey);
  const byId = new Map(judgments.map((judgment) => [judgment.documentId, judgment]));
  return reviewLine(
    {
      keep: judgments.some(({ grade }) => grade !== null && grade > 0),
      id: `live-${hash.slice(0, 16)}`,
      text: source.text,
      tags: source.tags,
      judgments,
      noAnswer: false,
      origin: {
        kind: 'live',
        pipeline,
        liveQueryHash: hash,
        userHash: source.userHash,
        askedAt: source.askedAt,
        details: {
          reasons,
          asked,
          probability: source.probability,
          ...tally,
          promoted_at: new Date().toISOString(),
        },
      },
    },
    { reasons, asked: Math.round(asked), feedback: tally },
    (documentId) => {
      const judgment = byId.get(documentId);
      const text = texts.get(documentId);
      return {
        rank: judgment?.rank ?? null,
        shown_rank: judgment?.shownRank ?? null,
        clicks: judgment?.clicks ?? 0,
        ...(text === undefined ? {} : { document_text: text.slice(0, SHOWN_TEXT) }),
      };
    },
  );
}

type PromoteOptions = ConfiguredOptions & PromoteRequest;

function promoteCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand(
    'promote',
    'Write live queries with feedback or poor grades to a review file for human judgment. Import the file with `golden import --format review`.',
    'recalld golden promote --pipeline support-docs --since 14d --set support-faq --out review.jsonl',
  )
    .requiredOption('--pipeline <name>', 'name of a pipeline in the config')
    .requiredOption('--since <when>', 'a date such as 2026-11-01, or a number of days such as 14d', parseSince)
    .requiredOption('--set <name>', 'golden set that will contain the queries', parseSetName)
    .requiredOption('--out <file>', 'review file to write')
    .option('--queries <n>', 'maximum number of queries', parseCount, 50)
    .option('--force', 'overwrite the file if it exists', false)
    .action((options: PromoteOptions) => promote(commandSettings(options.config, signal), options));
}

async function promote(settings: CommandSettings, options: PromoteOptions): Promise<void> {
  const bar = createProgressBar(options.set);
  const report = await withCommandStore(settings, (store) =>
    promoteToFile(settings, store, options, (progress) => bar.show(progress)).finally(() => bar.end()),
  );
  if (options.json === true) return printJson({ ...report, file: options.out });
  printLine(
    `Wrote ${report.promoted} of ${plural(report.candidates, 'candidate query', 'candidate queries')} to ${options.out}: ` +
      `${plural(report.suggested, 'document')} with a suggested grade, ${report.open} without one.`,
  );
  if (report.failed > 0)
    printLine(
      `The retriever failed for ${report.failed} of these queries. For the failed queries, the file lists only documents that users saw.`,
    );
  printLine(
    `Edit \`keep\` and the grades, then run: recalld golden import ${options.out} --set ${options.set} --format review`,
  );
}

function parseSince(text: string): Date {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  const date = days === undefined ? new Date(text) : new Date(Date.now() - Number(days) * DAY_MS);
  if (Number.isNaN(date.getTime()))
    throw new InvalidArgumentError('Write a date such as 2026-11-01, or a number of days such as 14d.');
  return date;
}

export function goldenCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  const create = [
    importCommand,
    exportCommand,
    listCommand,
    showCommand,
    checkCommand,
    promoteCommand,
    generateCommand,
    probeTenantsCommand,
    runCommand,
    cancelCommand,
  ];
  for (const one of create) command.addCommand(one(signal));
  return command;
}
