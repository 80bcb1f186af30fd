/** `recalld golden promote`: live queries -> a review file. */
import { type Command, InvalidArgumentError } from 'commander';
import {
  type CommandSettings,
  type CommandStore,
  commandSettings,
  withCommandStore,
  withPipeline,
} from '../../app/commands/command-store.ts';
import { type ConfiguredOptions, configuredCommand, parseCount } from '../../cli/configured-command.ts';
import { printJson, printLine } from '../../cli/output.ts';
import { createProgressBar } from '../../cli/progress.ts';
import { RecalldError } from '../../errors.ts';
import { writeText } from '../../files/text-file.ts';
import { storedHashKey } from '../../privacy/personal-data.ts';
import { textHash } from '../../privacy/rules/keyed-hash.ts';
import { DAY_MS } from '../../time.ts';
import { originMismatch } from '../rules/golden-set.ts';
import { type Promoted, promoteLiveQueries } from '../sets/promote-live-queries.ts';
import { reviewLine } from '../sets/review-file.ts';
import { parseSetName } from './sets.ts';

interface PromoteRequest {
  readonly pipeline: string;
  readonly set: string;
  readonly since: Date;
  readonly out: string;
  readonly queries: number;
  readonly force: boolean;
}

interface PromotionReport {
  readonly candidates: number;
  readonly promoted: number;
  /** Judgments that feedback suggested a grade for. */
  readonly suggested: number;
  /** Documents without a suggestion. */
  readonly open: number;
  /** Questions that the retriever failed. */
  readonly failed: number;
}

/** A text of a document in a review file is cut to this. */
const SHOWN_TEXT = 600;

/** @throws RecalldError text_not_stored, pipeline_unknown, file_unwritable */
export async function promoteToFile(
  settings: CommandSettings,
  store: CommandStore,
  request: PromoteRequest,
  onProgress: (progress: { readonly answered: number; readonly total: number }) => void,
): Promise<PromotionReport> {
  const { config, signal } = settings;
  const hashKey = config.storage.hash_key ?? (await storedHashKey(store.storage.pool));
  return withPipeline(settings, request.pipeline, async (pipeline) => {
    const { privacy } = config.pipelines.find(({ name }) => name === request.pipeline) ?? {};
    if (privacy?.text === 'hash') throw noText(request.pipeline, 'keeps no texts of live queries (privacy.text: hash)');
    const latest = await store.sets.latest(request.set);
    if (latest !== null && latest.origin === 'generated') {
      throw originMismatch(request.set, latest.origin);
    }
    const golden = latest === null ? [] : await store.sets.queries(latest.name, latest.version);
    const deps = { candidates: store.candidates, samples: store.samples };
    const wanted = { since: request.since, most: request.queries, golden };
    const { candidates, promoted } = await promoteLiveQueries(deps, pipeline, wanted, signal, onProgress);
    if (candidates === 0) {
      throw noText(request.pipeline, `has no live query with a text since ${request.since.toISOString()}`);
    }
    const lines = promoted.map((one) => `${toLine(one, request.pipeline, hashKey)}\n`);
    await writeText(request.out, lines.join(''), request.force);
    const judgments = promoted.flatMap((one) => one.judgments);
    const suggested = judgments.filter(({ grade }) => grade !== null).length;
    return {
      candidates,
      promoted: promoted.length,
      suggested,
      open: judgments.length - suggested,
      failed: promoted.filter(({ gap }) => gap !== null).length,
    };
  });
}

function noText(pipeline: string, problem: string): RecalldError {
  return new RecalldError(
    'text_not_stored',
    `The pipeline "${pipeline}" ${problem}, so there is no question to promote; send queries with texts and keep them with privacy.text: redact.`,
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

export function promoteCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'promote',
    'Write live queries with feedback, or judged badly, to a file, for a person to judge; `golden import --format review` takes it in.',
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
  printLine(`Edit keep and grades, then: recalld golden import ${options.out} --set ${options.set} --format review`);
}

function parseSince(text: string): Date {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  const date = days === undefined ? new Date(text) : new Date(Date.now() - Number(days) * DAY_MS);
  if (Number.isNaN(date.getTime()))
    throw new InvalidArgumentError('Write a date such as 2026-11-01, or days such as 14d.');
  return date;
}
