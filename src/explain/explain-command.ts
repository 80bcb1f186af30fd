/** `recalld explain`: why a document did not come back for a question, or those that a golden run missed. */
import { type Command, InvalidArgumentError } from 'commander';
import {
  type CommandSettings,
  commandSettings,
  withCommandStore,
  withPipeline,
} from '../app/commands/command-store.ts';
import { type ConfiguredOptions, configuredCommand, parseCount } from '../cli/configured-command.ts';
import { formatTable, printJson, printLine, styled } from '../cli/output.ts';
import { RecalldError } from '../errors.ts';
import type { AskedQuestion } from './look-for.ts';
import { type ExplainDeps, type Explained, explainAll, filtersOf, type MissedQuestion, missesOfRun } from './misses.ts';
import { verdicts } from './rules/verdict.ts';

interface ExplainOptions extends ConfiguredOptions {
  readonly pipeline?: string;
  readonly query?: string;
  readonly tag: Readonly<Record<string, string>>;
  readonly k: number;
  readonly run?: string;
  readonly queryId?: string;
  readonly document?: string;
  readonly limit: number;
}

export function explainCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'explain',
    'Say why a document did not come back for a question, or why those that a golden run missed did not.',
    [
      'recalld explain --pipeline support-docs --query "how do I reset my password" --document kb-17',
      'recalld explain --run 20261120T154500Z-3f9a1c2b --query-id q12',
      'recalld explain --run 20261120T154500Z-3f9a1c2b --limit 200',
    ].join('\n  '),
  )
    .option('--pipeline <name>', 'pipeline of the config; that of the run when there is one')
    .option('--query <text>', 'a question, with --document')
    .option('--tag <name=value>', 'tag of the question, such as course=intro; may be given again', parseTag, {})
    .option('--k <n>', 'documents that a user gets, with --query', parseCount, 10)
    .option('--run <id>', 'golden run whose misses are explained')
    .option('--query-id <id>', 'only this question of the run')
    .option('--document <id>', 'only this document')
    .option('--limit <n>', 'at most so many questions of the run, each asked about five times', parseCount, 50)
    .action((options: ExplainOptions) => run(commandSettings(options.config, signal), options));
}

function parseTag(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Write it like course=intro.');
  return { ...before, [name]: value };
}

async function run(settings: CommandSettings, options: ExplainOptions): Promise<void> {
  await withCommandStore(settings, async (store) => {
    const wanted = await wantedOf(store, options);
    const explained = await withPipeline(settings, wanted.pipeline, (pipeline) => {
      const filters = filtersOf(settings.config, wanted.pipeline);
      return explainAll(store, pipeline, wanted.questions, filters, settings.signal);
    });
    const [only] = explained;
    const isOne = options.document !== undefined && explained.length === 1 && only !== undefined;
    if (options.json === true) printJson(isOne ? explainedJson(wanted.pipeline, only) : sumJson(wanted, explained));
    else printLine(isOne ? formatOne(only) : formatSum(wanted, explained));
  });
}

interface Wanted {
  readonly pipeline: string;
  readonly runId: string | null;
  /** Relevant documents that the run missed, in all of its questions. */
  readonly misses: number | null;
  readonly questions: readonly MissedQuestion[];
}

async function wantedOf(store: ExplainDeps, options: ExplainOptions): Promise<Wanted> {
  const { pipeline, query, run: runId, queryId = null, document = null } = options;
  if (runId !== undefined && query === undefined) {
    const { run, questions, misses } = await missesOfRun(store, runId, { queryId, document, limit: options.limit });
    if (pipeline !== undefined && pipeline !== run.pipeline)
      throw usage(`The run ${runId} is of the pipeline ${run.pipeline}, not of ${pipeline}; leave --pipeline out.`);
    return { pipeline: run.pipeline, runId, misses, questions };
  }
  if (query === undefined || runId !== undefined)
    throw usage('Give either --query TEXT with --document ID, or --run ID with or without --query-id.');
  if (pipeline === undefined) throw usage('Give --pipeline NAME with --query.');
  if (document === null) throw usage('Give --document ID: the document that should have come back.');
  const question: AskedQuestion = { text: query, tags: options.tag, k: options.k };
  return { pipeline, runId: null, misses: null, questions: [{ id: null, question, documents: [document] }] };
}

const usage = (message: string) => new RecalldError('usage', message);

function explainedJson(pipeline: string, { queryId, question, document, ...explanation }: Explained) {
  return { pipeline, query_id: queryId, query: question.text, document, ...explanation };
}

function sumJson({ pipeline, runId, misses }: Wanted, explained: readonly Explained[]) {
  return {
    pipeline,
    run_id: runId,
    misses,
    explained: explained.length,
    verdicts: Object.fromEntries(countsOf(explained)),
    documents: explained.map((one) => explainedJson(pipeline, one)),
  };
}

function countsOf(explained: readonly Explained[]): [verdict: string, count: number][] {
  return verdicts
    .map((verdict): [string, number] => [verdict, explained.filter((one) => one.verdict === verdict).length])
    .filter(([, count]) => count > 0)
    .toSorted((a, b) => b[1] - a[1]);
}

function formatOne({ question, document, verdict, evidence, action, stages }: Explained): string {
  return [
    `question  ${question.text}`,
    `document  ${document}`,
    `verdict   ${styled('bold', verdict.replaceAll('_', ' '))}`,
    ...evidence.map((sentence) => `  ${sentence}`),
    ...(stages.length === 0
      ? []
      : [
          `stages    ${stages.map(({ name, rank }) => `${name} ${rank === null ? 'not there' : `at ${rank}`}`).join(', ')}`,
        ]),
    `to do     ${action}`,
  ].join('\n');
}

function formatSum({ runId, misses }: Wanted, explained: readonly Explained[]): string {
  if (explained.length === 0) return `The run ${runId ?? ''} missed no relevant document that was asked for.`;
  const counts = countsOf(explained).map(([verdict, count]) => `${count} ${verdict.replaceAll('_', ' ')}`);
  const of = misses === null || misses === explained.length ? '' : ` (of ${misses}; --limit takes more)`;
  return [
    `${explained.length} missed documents${of}: ${counts.join(', ')}.`,
    '',
    formatTable(
      ['query', 'document', 'verdict', 'why'],
      explained.map(({ queryId, document, verdict, evidence }) => [
        queryId ?? '',
        document,
        verdict.replaceAll('_', ' '),
        evidence[0] ?? '',
      ]),
      4,
    ),
  ].join('\n');
}
