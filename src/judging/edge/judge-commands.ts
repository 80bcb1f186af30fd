import { type Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { z } from 'zod';
import {
  type CommandSettings,
  type CommandStore,
  commandSettings,
  withCommandStore,
  withPipeline,
} from '../../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../../app/pipelines.ts';
import { configuredCommand, parseCount, printJson, printLine } from '../../cli/output.ts';
import { RecalldError } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import { systemClock } from '../../core/system-clock.ts';
import { parseBoundedJson } from '../../core/text/json.ts';
import { storedHashKey } from '../../live/privacy/personal-data.ts';
import { commandPerson, commandUser } from '../../platform/access/audit-log.ts';
import { readText, writeText } from '../../platform/files/text-file.ts';
import { terminalText } from '../../report/terminal.ts';
import type { HumanJudgment } from '../human-judgments.ts';
import { judgePipeline } from '../judge-live-traffic.ts';
import { createJudgingPlans } from '../plan.ts';
import type { ReviewedQuery } from '../review-queue.ts';
import { MAX_GRADE } from '../rules/judged-scores.ts';
import { judgeReport, judgeStatusJson, readJudgeStatus } from './judge-status.ts';

type JudgeOptions = ReturnType<ReturnType<typeof judgeSubcommand>['opts']>;

function judgeSubcommand(name: string, description: string, example: string) {
  return configuredCommand(name, description, example).requiredOption(
    '--pipeline <name>',
    'pipeline whose config has `judged`',
  );
}

export function judgeCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  command.addCommand(
    judgeSubcommand(
      'status',
      'Show the scores of all live traffic, estimated from the graded queries in the trailing window.',
      'recalld judge status --pipeline support-docs',
    ).action((options) => withJudged(options, signal, showStatus)),
  );
  command.addCommand(
    judgeSubcommand(
      'run',
      'Select, grade and measure live queries now instead of waiting for the next hourly round.',
      'recalld judge run --pipeline support-docs',
    ).action((options) => withJudged(options, signal, runRound)),
  );
  command.addCommand(
    judgeSubcommand(
      'review',
      'Write a file with the next queries for people to grade. The file does not show model grades.',
      'recalld judge review --pipeline support-docs --out review.jsonl',
    )
      .requiredOption('--out <file>', 'file to write, one JSON line per query')
      .option('--queries <n>', 'maximum number of queries', parseCount, 20)
      .option('--force', 'overwrite an existing file', false)
      .action((options) =>
        withJudged(options, signal, async (_settings, store) => {
          const { pipeline, out, queries, force } = options;
          const review = { pipeline, person: commandPerson(), now: systemClock.now() };
          const next = await store.db.judging.reviews.next(review, queries);
          await writeText(out, next.map((one) => `${reviewLine(one)}\n`).join(''), force);
          if (options.json === true) printJson({ file: out, queries: next.length });
          else if (next.length === 0) printLine('No queries to grade.');
          else
            printLine(
              `Wrote ${plural(next.length, 'query', 'queries')} to ${out}. Set each grade from 0 to 3, then run: recalld judge import ${out} --pipeline ${pipeline}`,
            );
        }),
      ),
  );
  command.addCommand(
    judgeSubcommand(
      'import',
      'Store the grades from a file written by `judge review`.',
      'recalld judge import review.jsonl --pipeline support-docs',
    )
      .argument('<file>', 'file with grades')
      .action((file, options) =>
        withJudged(options, signal, async (_settings, store) => {
          const grades = readGrades(await readText(file), file);
          const grader = { by: commandUser(), person: commandPerson() };
          const known = await store.db.judging.judged.recordHumanJudgments(
            options.pipeline,
            grades,
            grader,
            systemClock.now(),
          );
          const accepted = known.filter(Boolean).length;
          const rejected = known.length - accepted;
          if (options.json === true) printJson({ accepted, rejected });
          else
            printLine(
              `${plural(accepted, 'grade')} stored${rejected === 0 ? '' : `, ${rejected} rejected because the query was not selected for judging, or was selected without the document`}.`,
            );
          if (known.length > 0 && accepted === 0)
            throw new RecalldError(
              'judgment_unknown',
              `No query in ${file} was selected for judging in ${options.pipeline}.`,
            );
        }),
      ),
  );
  return command;
}

/** @throws RecalldError pipeline_unknown, config_invalid for a pipeline that is not judged */
async function withJudged(
  options: JudgeOptions,
  signal: AbortSignal,
  work: (settings: CommandSettings, store: CommandStore, options: JudgeOptions) => Promise<void>,
): Promise<void> {
  const settings = commandSettings(options.config, signal);
  assertConfiguredPipeline(settings.config, options.pipeline);
  const pipeline = settings.config.pipelines.find(({ name }) => name === options.pipeline);
  if (pipeline?.judged === undefined) {
    throw new RecalldError(
      'config_invalid',
      `The config of the pipeline "${options.pipeline}" has no \`judged\` section. Add \`judged: {judge: {kind: llm}}\`, or {kind: none} to use only human judgments.`,
    );
  }
  await withCommandStore(settings, (store) => work(settings, store, options));
}

async function runRound(settings: CommandSettings, store: CommandStore, options: JudgeOptions): Promise<void> {
  const { config, signal } = settings;
  const hashKey = config.storage.hash_key ?? (await storedHashKey(store.storage.pool));
  const drawn = await withPipeline(settings, options.pipeline, async (pipeline) => {
    const [plan] = createJudgingPlans(config, [pipeline]);
    if (plan === undefined) return null;
    // Prometheus never scrapes a command, so its metrics are discarded.
    const meter = { increment: () => undefined, set: () => undefined, observe: () => undefined };
    try {
      // The daemon sends the scores to the tracing platform in its next round.
      return await judgePipeline({ ...store, otlp: null, meter, hashKey }, plan, signal, 0);
    } finally {
      plan.judge?.close?.();
    }
  });
  if (options.json !== true) printLine(`${plural(drawn ?? 0, 'query', 'queries')} selected.`);
  await showStatus(settings, store, options);
}

async function showStatus(_settings: CommandSettings, store: CommandStore, options: JudgeOptions): Promise<void> {
  const status = await readJudgeStatus(store, options.pipeline, null);
  if (options.json === true) printJson(judgeStatusJson(status));
  else printLine(terminalText(judgeReport(status), systemClock.now()));
}

const grade = z.int().min(0).max(MAX_GRADE).nullable();

const reviewed = z.looseObject({
  query_id: z.string().min(1),
  documents: z.array(z.looseObject({ id: z.string().min(1), grade })).min(1),
});

const single = z.looseObject({ query_id: z.string().min(1), document_id: z.string().min(1), grade });

export function reviewLine({ id, askedAt, text, documents }: ReviewedQuery): string {
  return JSON.stringify({
    query_id: id,
    asked_at: askedAt.toISOString(),
    query: text,
    documents: documents.map((document) => ({ id: document.id, text: document.text, grade: document.grade })),
  });
}

/**
 * Reads judgments from a file in which each line has the format of `reviewLine` or is `{"query_id", "document_id",
 * "grade"}`. Skips null grades.
 *
 * @throws RecalldError file_malformed with the line and the problem
 */
export function readGrades(text: string, file: string): HumanJudgment[] {
  const refuse = (line: number, problem: string): RecalldError =>
    new RecalldError(
      'file_malformed',
      `${file}, line ${line}: ${problem}. Expected {"query_id", "documents": [{"id", "grade"}]} with grades from 0 to ${MAX_GRADE}.`,
    );
  return text.split('\n').flatMap((line, index): HumanJudgment[] => {
    if (line.trim() === '') return [];
    let value: unknown;
    try {
      value = parseBoundedJson(line);
    } catch {
      throw refuse(index + 1, 'invalid JSON');
    }
    const one = single.safeParse(value);
    if (one.success) return given(one.data.query_id, [{ id: one.data.document_id, grade: one.data.grade }]);
    const query = reviewed.safeParse(value);
    if (query.success) return given(query.data.query_id, query.data.documents);
    const path = query.error.issues[0]?.path.join('.') ?? '';
    throw refuse(index + 1, path === '' ? 'not a judgment' : `${path} is missing or invalid`);
  });
}

function given(queryId: string, documents: readonly { readonly id: string; readonly grade: number | null }[]) {
  return documents.flatMap(({ id: documentId, grade: of }) =>
    of === null ? [] : [{ queryId, documentId, grade: of }],
  );
}
