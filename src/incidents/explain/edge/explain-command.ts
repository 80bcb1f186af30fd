/** `recalld explain`: why a document did not come back for a question, or those that a golden run missed. */
import { type Command, InvalidArgumentError } from 'commander';
import { type CommandSettings, commandSettings, withCommandStore } from '../../../app/commands/command-store.ts';
import {
  type ConfiguredOptions,
  formatTable,
  parseCount,
  printJson,
  printLine,
  styled,
  withConfig,
} from '../../../cli/output.ts';
import {
  answerRequest,
  countsOf,
  type Explained,
  type ExplainRequest,
  explainAnswerJson,
  verdictWords,
  type Wanted,
} from '../answers.ts';

type ExplainOptions = ConfiguredOptions & ExplainRequest;

export function explainCommand(command: Command, signal: AbortSignal): Command {
  return withConfig(
    command,
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

async function run(settings: CommandSettings, { json, ...request }: ExplainOptions): Promise<void> {
  const answer = await withCommandStore(settings, (store) => answerRequest(store, request, settings.signal));
  const { wanted, explained } = answer;
  const told = explainAnswerJson(answer, request);
  const [only] = explained;
  if (json === true) printJson(told);
  else printLine('verdict' in told && only !== undefined ? formatOne(only) : formatSum(wanted, explained));
}

function formatOne(one: Explained): string {
  const { question, document, evidence, action, stages } = one;
  return [
    `question  ${question.text}`,
    `document  ${document}`,
    `verdict   ${styled('bold', verdictWords(one))}`,
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
  const counts = countsOf(explained).map(([words, count]) => `${count} ${words}`);
  const of = misses === null || misses === explained.length ? '' : ` (of ${misses}; --limit takes more)`;
  return [
    `${explained.length} missed documents${of}: ${counts.join(', ')}.`,
    '',
    formatTable(
      ['query', 'document', 'verdict', 'why'],
      explained.map((one) => [one.queryId ?? '', one.document, verdictWords(one), one.evidence[0] ?? '']),
      4,
    ),
  ].join('\n');
}
