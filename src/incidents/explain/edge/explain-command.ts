/** `recalld explain`: explains why the retriever did not return a document, or why a golden run missed documents. */
import { type Command, type CommandUnknownOpts, InvalidArgumentError } from '@commander-js/extra-typings';
import { commandStores } from '../../../app/commands/command-store.ts';
import { parseCount, printJson, printLine, withConfig } from '../../../cli/output.ts';
import { plural } from '../../../core/format.ts';
import { systemClock } from '../../../core/system-clock.ts';
import type { Content } from '../../../report/model/content.ts';
import { fact, facts, list, paragraph, strong, table, verbatim } from '../../../report/model/show.ts';
import { terminalText } from '../../../report/terminal.ts';
import {
  answerRequest,
  countsOf,
  type ExplainAnswer,
  type Explained,
  explainAnswerJson,
  onlyExplained,
  verdictWords,
} from '../answers.ts';

export function explainCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return withConfig(
    command,
    [
      'recalld explain --pipeline support-docs --query "how do I reset my password" --document kb-17',
      'recalld explain --run 20261120T154500Z-3f9a1c2b --query-id q12',
      'recalld explain --run 20261120T154500Z-3f9a1c2b --limit 200',
    ].join('\n  '),
  )
    .option('--pipeline <name>', 'pipeline (default: the pipeline of the run)')
    .option('--query <text>', 'query text; requires --document')
    .option('--tag <name=value>', 'query tag, such as course=intro; repeatable', parseTag, {})
    .option('--k <n>', 'number of documents that users get; requires --query', parseCount, 10)
    .option('--run <id>', 'golden run whose missed documents are explained')
    .option('--query-id <id>', 'only this query of the run')
    .option('--document <id>', 'only this document')
    .option(
      '--limit <n>',
      'maximum number of queries of the run; each is sent to the retriever two or three times',
      parseCount,
      50,
    )
    .action(async ({ config, json, ...request }) => {
      const answer = await commandStores(signal)(config, (store) => answerRequest(store, request, signal));
      if (json === true) return printJson(explainAnswerJson(answer, request));
      const only = onlyExplained(answer, request);
      printLine(terminalText(only === null ? summary(answer) : explanation(only), systemClock.now()));
    });
}

function parseTag(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('Use the form name=value, such as course=intro.');
  return { ...before, [name]: value };
}

function explanation(one: Explained): Content {
  const { question, document, evidence, action, stages } = one;
  const ranks = stages.map(({ name, rank }) => `${name} ${rank === null ? 'missing' : `rank ${rank}`}`).join(', ');
  return [
    facts(
      fact('query', verbatim(question.text)),
      fact('document', document),
      fact('verdict', strong(verdictWords(one))),
      ranks === '' ? null : fact('stages', ranks),
      fact('fix', action),
    ),
    list('plain', evidence),
  ];
}

function summary({ wanted: { runId, misses }, explained }: ExplainAnswer): Content {
  if (explained.length === 0) return `The run ${runId ?? ''} missed none of the requested relevant documents.`;
  const counts = countsOf(explained).map(([words, count]) => `${count} ${words}`);
  const rest =
    misses === null || misses === explained.length ? '' : ` (of ${misses} in total; raise --limit to see more)`;
  return [
    paragraph(`${plural(explained.length, 'missed document')}${rest}: ${counts.join(', ')}.`),
    table('Missed documents', explained, [
      ['Query', ({ queryId, question: { step } }) => (step === undefined ? queryId : `${queryId ?? ''} step ${step}`)],
      ['Document', ({ document }) => document],
      ['Verdict', verdictWords],
      ['Reason', ({ evidence: [reason] }) => reason],
    ]),
  ];
}
