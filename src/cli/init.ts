/** `recalld init`: from the address of a retriever to a config, a pinned run and checks that watch it. */

import { existsSync } from 'node:fs';
import { type Command } from 'commander';
import { stringify } from 'yaml';
import { commandSettings, withCommandStore } from '../app/commands/command-store.ts';
import { type FoundRequest, findRequest, type RequestSearch } from '../connectors/retrievers/find-request.ts';
import { RecalldError } from '../core/errors.ts';
import { runGoldenSetNow } from '../golden/edge/commands/run.ts';
import { importNamedSet } from '../golden/edge/commands/sets.ts';
import type { GoldenFormat } from '../golden/rules/golden-set.ts';
import { pinRun } from '../golden/runs/pin-baseline.ts';
import { readGoldenSet } from '../golden/sets/import-golden-set.ts';
import { commandUser } from '../platform/access/audit-log.ts';
import { writeText } from '../platform/files/text-file.ts';
import { note, printJson, printLine } from './output.ts';

interface InitOptions {
  readonly questions?: string;
  readonly header: Readonly<Record<string, string>>;
  readonly pipeline: string;
  readonly out: string;
  readonly force: boolean;
  readonly json?: boolean;
}

const SET = 'questions';
const CUTOFF = 10;
/** Asked where no questions are given: single words, since a search by words finds nothing for a sentence of ours. */
const probeWords = ['help', 'information'];

export function initCommand(command: Command, signal: AbortSignal): Command {
  return command
    .argument('<url>', 'address of the search of your RAG service; {{text}} in it stands for the question')
    .option('--questions <file>', 'questions to watch: a text file with one a line, or a golden set (CSV, JSONL)')
    .option(
      '--header <name: value>',
      'header to send; its value stays out of the file; may be given again',
      parseHeader,
      {},
    )
    .option('--pipeline <name>', 'name of the pipeline', 'main')
    .option('--out <file>', 'config file to write', 'recalld.yaml')
    .option('--force', 'replace a config file that is there', false)
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExample:\n  recalld init http://localhost:8000/search --questions questions.txt')
    .action((url: string, options: InitOptions) => init(url, options, signal));
}

function parseHeader(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new RecalldError('usage', 'Write --header like "authorization: Bearer KEY".');
  return { ...before, [name.toLowerCase()]: value };
}

/** Nothing is written before the retriever was understood. */
async function init(url: string, options: InitOptions, signal: AbortSignal): Promise<void> {
  const { questions: file, header, pipeline, out, force, json } = options;
  if (!force && existsSync(out))
    throw new RecalldError('file_unwritable', `${out} is there already; name another file with --out, or add --force.`);
  const questions = file === undefined ? null : await readSource(file);
  for (const warning of questions?.warnings ?? []) note(`Note: ${warning}`);
  const [first = '', second = ''] = questions === null ? probeWords : questions.samples;
  if (second === '')
    throw new RecalldError(
      'golden_set_empty',
      `${file} holds only one query; give at least two different ones, by whose answers init sees that the service reads the query. Nothing was asked or written.`,
    );
  const search = await findRequest(url, header, [first, second], signal);
  if (search.kind === 'not_found') throw notUnderstood(url, search, questions !== null);
  const { request } = search;
  const secrets = Object.entries(header).map(([name, value]) => ({ name, value, variable: variableOf(name) }));
  for (const { variable, value } of secrets) process.env[variable] = value;
  await writeText(out, configText(pipeline, request, secrets, questions), force);
  const assumed = assumptions(request, header);
  const pinned =
    file === undefined || questions === null ? null : await pinToday(out, pipeline, file, questions.format, signal);
  if (json === true)
    return printJson({
      config: out,
      pipeline,
      request: requestJson(request),
      assumed,
      pinned_run: pinned?.runId ?? null,
    });
  printLine(`Wrote ${out} for the pipeline ${pipeline}.`);
  for (const sentence of assumed) printLine(`  ${sentence}`);
  if (pinned === null)
    note(
      'Without --questions nothing is asked by itself: give a file of queries of your users, one a line, or send live queries (docs/how-to/ingest.md).',
    );
  else {
    printLine(
      `Asked ${pinned.queries} ${pinned.queries === 1 ? 'question' : 'questions'} (run ${pinned.runId}); later answers are held against these.`,
    );
    if (pinned.queries < FEW_QUESTIONS)
      note(
        `${pinned.queries} questions show a change, and make it a warning; to be sure of one that is not large takes ${FEW_QUESTIONS} or more.`,
      );
  }
  for (const { variable, name } of secrets)
    note(`Set ${variable} to the value of the header ${name} before you start recalld.`);
  printLine(
    `\nNext: npx recalld serve${out === 'recalld.yaml' ? '' : ` --config ${out}`}, and its console at http://127.0.0.1:8321`,
  );
}

/** Below it the bounds of a mean of overlaps are so wide that only a large change is critical. */
const FEW_QUESTIONS = 50;

interface Questions {
  readonly format: 'auto' | GoldenFormat;
  /** Its first two different queries. */
  readonly samples: readonly string[];
  /** What was noticed while it was read, such as queries that stand there twice. */
  readonly warnings: readonly string[];
  /** Null: it is a golden set, which tells more. */
  readonly count: number | null;
}

/** @throws RecalldError file_unreadable, file_malformed, golden_set_empty */
async function readSource(file: string): Promise<Questions> {
  const format = /\.(csv|tsv|jsonl|ndjson)$/i.test(file) ? 'auto' : 'questions';
  const set = await readGoldenSet(file, { format, rowsAsQueries: false });
  const samples = [...new Set(set.queries.map(({ text }) => text))].slice(0, 2);
  return { format, samples, warnings: set.warnings, count: format === 'questions' ? set.queries.length : null };
}

function say(code: 'retriever_not_understood' | 'retriever_unreachable', what: string, fix: string): RecalldError {
  return new RecalldError(code, `${what} ${fix} Nothing was written.`);
}

/** What to do about each way in which a service gives no list of results. */
function notUnderstood(
  url: string,
  { problem, reason }: Extract<RequestSearch, { readonly kind: 'not_found' }>,
  hasQuestions: boolean,
): RecalldError {
  const place = url.split('?')[0];
  switch (problem) {
    case 'unreachable':
      return say(
        'retriever_unreachable',
        `${place} does not answer: ${reason}`,
        'Start it, or correct the address: scheme, host and port.',
      );
    case 'timeout':
      return say(
        'retriever_unreachable',
        `${place} took too long: ${reason}`,
        'See that it answers a query of yours, and run init again.',
      );
    case 'missing':
      return say(
        'retriever_not_understood',
        `${place} answers 404 to every usual request: there is nothing at this path.`,
        'Give the whole address of the search, with its path, such as http://localhost:8000/search.',
      );
    case 'unauthorized':
      return say(
        'retriever_not_understood',
        `${place} refuses the request: ${reason}`,
        'Give its key with --header "authorization: Bearer KEY", or correct the one that you gave.',
      );
    case 'limited':
      return say(
        'retriever_unreachable',
        `${place} limits how often it is asked (429), and init asks up to 44 times.`,
        'Wait a minute and run init again, raise the limit for this machine, or write recalld.yaml by hand, as docs/how-to/retrievers.md shows.',
      );
    case 'redirect':
      return say('retriever_not_understood', reason, 'Give init the address that it leads to.');
    case 'html':
      return say(
        'retriever_not_understood',
        `${place} answers a page of HTML and no JSON: it is the address of a site, of a sign-in or of a proxy.`,
        'Give the address of the search API of the service.',
      );
    case 'empty':
      return say(
        'retriever_not_understood',
        hasQuestions
          ? `${place} answers with an empty list to the first queries of the file.`
          : `${place} answers with an empty list to the words ${probeWords.map((word) => `"${word}"`).join(' and ')}.`,
        hasQuestions
          ? 'Put queries first that it has results for, or see that its index is filled.'
          : 'Give --questions FILE with queries, one a line, that it has results for, or see that its index is filled.',
      );
    case 'other':
      return say(
        'retriever_not_understood',
        `${place} could not be asked in any usual form (the most telling answer: ${reason})`,
        'Write recalld.yaml by hand, as docs/how-to/retrievers.md shows.',
      );
  }
}

const variableOf = (header: string): string => `RETRIEVER_${header.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;

/** Checks need no judgment; a golden set with judgments gets one more. */
function configText(
  pipeline: string,
  { url, method, body, results }: FoundRequest,
  secrets: readonly { readonly name: string; readonly variable: string }[],
  questions: Questions | null,
): string {
  const { list, id, score, text } = results;
  const headers = Object.fromEntries(secrets.map(({ name, variable }) => [name, `\${${variable}}`]));
  const minN = Math.max(1, Math.min(20, questions?.count ?? 20));
  const retriever = {
    kind: 'http',
    url,
    ...(method === 'GET' ? { method } : {}),
    ...(secrets.length === 0 ? {} : { headers }),
    ...(body === null ? {} : { body }),
    results: { list, id, score, ...(id === null ? { text } : {}) },
  };
  const watched = {
    // So often that a first trial shows something; hourly is usual later.
    golden: [{ set: SET, cron: '*/2 * * * *', max_per_second: 5 }],
    checks: [
      {
        name: 'answers stay as they were',
        measure: `rbo@${CUTOFF}`,
        below: 0.8,
        severity: 'critical',
        min_n: Math.min(5, minN),
      },
      {
        name: 'the retriever answers',
        measure: 'retriever_error_ratio',
        above: 0.1,
        severity: 'critical',
        min_n: minN,
      },
      ...(questions?.count === null
        ? [{ name: 'answers are as good as they were', regression: `ndcg@${CUTOFF}`, drop: 0.05, severity: 'critical' }]
        : []),
    ],
  };
  const config = { pipelines: [{ name: pipeline, retriever, ...(questions === null ? {} : watched) }] };
  return `# Made by recalld init. docs/reference/config.md tells of every key; \`recalld doctor\` looks at what it names.\n${stringify(config)}`;
}

function assumptions({ url, method, body, results, knowsK, knowsText }: FoundRequest, headers: object): string[] {
  const { list, id, score, text, ids, isUnique } = results;
  const called = id === null ? `no ids, so that documents are called by the hash of their ${text}` : `ids in ${id}`;
  const sent = body === null ? url : JSON.stringify(body);
  return [
    `It is asked by ${method} with ${sent}${Object.keys(headers).length === 0 ? '' : ' and your headers'}.`,
    `${ids.length}${ids.length === 100 ? ' or more' : ''} ${ids.length === 1 ? 'result is' : 'results are'} in ${list === '@' ? 'the answer itself' : list}; ${called}, scores ${score === null ? 'nowhere' : `in ${score}`}.`,
    ...(isUnique
      ? []
      : [
          `Several results have the same ${id === null ? 'text' : `id in ${id}`}: then a document counts once, at its first rank.`,
        ]),
    ...(knowsK
      ? []
      : [
          'It gives as many results as it likes, however many are asked for; put its own name for {{k}} into the request if it has one.',
        ]),
    ...(knowsText ? [] : ['Two different questions got the same answer: see that the question is where it reads it.']),
  ];
}

function requestJson({ url, method, body, results, knowsK, knowsText }: FoundRequest) {
  const { list, id, score, text } = results;
  return {
    url,
    method,
    body,
    results: { list, id, score, ...(id === null ? { text } : {}) },
    knows_k: knowsK,
    knows_text: knowsText,
  };
}

/** Imports the questions, asks them once and pins what was answered. @throws RecalldError retriever_unreachable */
async function pinToday(
  configFile: string,
  pipeline: string,
  file: string,
  format: Questions['format'],
  signal: AbortSignal,
): Promise<{ readonly runId: string; readonly queries: number }> {
  const settings = commandSettings(configFile, signal);
  const { set } = await importNamedSet(settings, file, { set: SET, format, rowsAsQueries: false });
  return withCommandStore(settings, async (store) => {
    const run = await runGoldenSetNow(settings, store, { pipeline, set: SET }, () => undefined);
    if (run.status !== 'completed')
      throw new RecalldError('retriever_unreachable', `The questions could not be asked: ${run.reason ?? run.status}`);
    const by = commandUser();
    // A question that fails today is shown as failing from the first run on.
    const pin = { note: 'By recalld init.', reruns: null, by, now: new Date(), withFailures: true };
    await pinRun(store, run, pin, signal);
    return { runId: run.id, queries: set.queries };
  });
}
