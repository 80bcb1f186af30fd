/** `recalld init`: detects how to query a retriever URL, creates a config with checks, and pins a first run. */

import { existsSync } from 'node:fs';
import { type Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { stringify } from 'yaml';
import { commandSettings, withCommandStore } from '../app/commands/command-store.ts';
import { type FoundRequest, findRequest, type RequestSearch } from '../connectors/retrievers/find-request.ts';
import { type ErrorCode, RecalldError } from '../core/errors.ts';
import { runGoldenSetNow } from '../golden/edge/commands/run.ts';
import { importNamedSet } from '../golden/edge/commands/sets.ts';
import { pinRun } from '../golden/runs/pin-baseline.ts';
import { readGoldenSet } from '../golden/sets/import-golden-set.ts';
import { commandUser } from '../platform/access/audit-log.ts';
import { writeText } from '../platform/files/text-file.ts';
import { note, printJson, printLine } from './output.ts';

const SET = 'questions';
const CUTOFF = 10;
/**
 * Queries that are sent if --questions is not set: single words, because a keyword search finds nothing for a made-up
 * sentence.
 */
const probeWords = ['help', 'information'];

export function initCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return (
    command
      .argument('<url>', 'search URL of your RAG service; {{text}} is replaced by the query')
      .option(
        '--questions <file>',
        'queries to monitor: a text file with one query per line, or a golden set (CSV, JSONL)',
      )
      .option(
        '--header <name: value>',
        'request header; its value is not written to the config; repeatable',
        parseHeader,
        {} as Readonly<Record<string, string>>,
      )
      .option('--pipeline <name>', 'name of the pipeline', 'main')
      .option('--out <file>', 'config file to write', 'recalld.yaml')
      .option('--force', 'replace an existing config file', false)
      .option('--json', 'print one JSON document')
      .addHelpText('after', '\nExample:\n  recalld init http://localhost:8000/search --questions questions.txt')
      // Writes nothing until the request format of the retriever is known.
      .action(async (url, { questions: file, header, pipeline, out, force, json }) => {
        if (!force && existsSync(out))
          throw new RecalldError(
            'file_unwritable',
            `${out} already exists; set another file with --out, or add --force.`,
          );
        const questions = file === undefined ? null : await readSource(file);
        for (const warning of questions?.warnings ?? []) note(`Note: ${warning}`);
        const [first = '', second = ''] = questions === null ? probeWords : questions.samples;
        if (second === '')
          throw new RecalldError(
            'golden_set_empty',
            `${file} contains only one query; add at least one more, so that init can check that the results depend on the query. Nothing was sent or written.`,
          );
        const search = await findRequest(url, header, [first, second], signal);
        if (search.kind === 'not_found') throw notUnderstood(url, search, questions !== null);
        const { request } = search;
        const secrets = Object.entries(header).map(([name, value]) => ({ name, value, variable: variableOf(name) }));
        for (const { variable, value } of secrets) process.env[variable] = value;
        await writeText(out, configText(pipeline, request, secrets, questions), force);
        const assumed = assumptions(request, header);
        const pinned =
          file === undefined || questions === null
            ? null
            : await pinToday(out, pipeline, file, questions.format, signal);
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
            'Without --questions, recalld sends no queries on a schedule; provide a file with queries from your users, one per line, or send live queries (docs/how-to/ingest.md).',
          );
        else {
          printLine(
            `Sent ${pinned.queries} ${pinned.queries === 1 ? 'query' : 'queries'} (run ${pinned.runId}); later results are compared with this run.`,
          );
          if (pinned.queries < FEW_QUESTIONS)
            note(
              `With ${pinned.queries} queries, most changes cause only a warning; use ${FEW_QUESTIONS} or more to confirm small changes.`,
            );
        }
        for (const { variable, name } of secrets)
          note(`Set ${variable} to the value of the header ${name} before you start recalld.`);
        printLine(
          `\nNext: run npx recalld serve${out === 'recalld.yaml' ? '' : ` --config ${out}`}, and open the console at http://127.0.0.1:8321`,
        );
      })
  );
}

function parseHeader(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new RecalldError('usage', 'Write --header in the form "authorization: Bearer KEY".');
  return { ...before, [name.toLowerCase()]: value };
}

/**
 * Number of queries below which the confidence interval of the mean overlap is so wide that only large changes are
 * critical.
 */
const FEW_QUESTIONS = 50;

/** @throws RecalldError file_unreadable, file_malformed, golden_set_empty */
async function readSource(file: string) {
  const format = /\.(csv|tsv|jsonl|ndjson)$/i.test(file) ? 'auto' : 'questions';
  const set = await readGoldenSet(file, { format, rowsAsQueries: false });
  const samples = [...new Set(set.queries.map(({ text }) => text))].slice(0, 2);
  return {
    format,
    /** The first two queries with different texts. */
    samples,
    warnings: set.warnings,
    isJudged: set.queries.some(({ judgments }) => judgments.some(({ grade }) => grade > 0)),
    /** Number of queries in a text file; null if the file is a golden set. */
    count: format === 'questions' ? set.queries.length : null,
  } as const;
}

function notUnderstood(
  url: string,
  { problem, reason }: Extract<RequestSearch, { readonly kind: 'not_found' }>,
  hasQuestions: boolean,
): RecalldError {
  const place = url.split('?')[0];
  const problems: Record<typeof problem, readonly [code: ErrorCode, what: string, fix: string]> = {
    unreachable: [
      'retriever_unreachable',
      `${place} does not respond: ${reason}`,
      'Start the service, or correct the scheme, host and port of the URL.',
    ],
    timeout: [
      'retriever_unreachable',
      `${place} took too long: ${reason}`,
      'Check that the service responds to a query, and run init again.',
    ],
    missing: [
      'retriever_not_understood',
      `${place} returned 404 for every common request format: the path does not exist.`,
      'Use the complete search URL with its path, such as http://localhost:8000/search.',
    ],
    unauthorized: [
      'retriever_not_understood',
      `${place} refused the request: ${reason}`,
      'Set its API key with --header "authorization: Bearer KEY", or correct the key.',
    ],
    limited: [
      'retriever_unreachable',
      `${place} has a rate limit (429), and init sends up to 44 requests.`,
      'Wait a minute and run init again, raise the limit for this machine, or write recalld.yaml by hand (docs/how-to/retrievers.md).',
    ],
    redirect: ['retriever_not_understood', reason, 'Run init with the URL to which the service redirects.'],
    html: [
      'retriever_not_understood',
      `${place} returned an HTML page instead of JSON: it is a website, a sign-in page or a proxy.`,
      "Use the URL of the service's search API.",
    ],
    empty: [
      'retriever_not_understood',
      hasQuestions
        ? `${place} returned an empty list for the first queries in the file.`
        : `${place} returned an empty list for the queries ${probeWords.map((word) => `"${word}"`).join(' and ')}.`,
      hasQuestions
        ? 'Start the file with queries that have results, or check that the index is not empty.'
        : 'Set --questions FILE with queries that have results, one per line, or check that the index is not empty.',
    ],
    other: [
      'retriever_not_understood',
      `${place} accepted no common request format. Most specific error: ${reason}`,
      'Write recalld.yaml by hand (docs/how-to/retrievers.md).',
    ],
  };
  const [code, what, fix] = problems[problem];
  return new RecalldError(code, `${what} ${fix} Nothing was written.`);
}

const variableOf = (header: string): string => `RETRIEVER_${header.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;

/** Returns a config with checks that need no judgments. If queries have judgments, adds a regression check on nDCG. */
function configText(
  pipeline: string,
  { url, method, body, results }: FoundRequest,
  secrets: readonly { readonly name: string; readonly variable: string }[],
  questions: Awaited<ReturnType<typeof readSource>> | null,
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
    // The set runs every two minutes, so that a first trial soon shows results. In production, hourly runs are common.
    golden: [{ set: SET, cron: '*/2 * * * *', max_per_second: 5 }],
    checks: [
      {
        name: 'results unchanged',
        measure: `rbo@${CUTOFF}`,
        below: 0.8,
        severity: 'critical',
        min_n: Math.min(5, minN),
      },
      {
        name: 'retriever responds',
        measure: 'retriever_error_ratio',
        above: 0.1,
        severity: 'critical',
        min_n: minN,
      },
      ...(questions?.isJudged === true
        ? [
            {
              name: `nDCG@${CUTOFF} not below baseline`,
              regression: `ndcg@${CUTOFF}`,
              drop: 0.05,
              severity: 'critical',
            },
          ]
        : []),
    ],
  };
  const config = { pipelines: [{ name: pipeline, retriever, ...(questions === null ? {} : watched) }] };
  return `# Created by recalld init. docs/reference/config.md describes every key; \`recalld doctor\` checks the services.\n${stringify(config)}`;
}

function assumptions({ url, method, body, results, knowsK, knowsText }: FoundRequest, headers: object): string[] {
  const { list, id, score, text, ids, isUnique } = results;
  const called = id === null ? `no ids, so documents are identified by the hash of their ${text}` : `ids in ${id}`;
  const sent = body === null ? url : JSON.stringify(body);
  return [
    `Request: ${method} with ${sent}${Object.keys(headers).length === 0 ? '' : ' and your headers'}.`,
    `${ids.length}${ids.length === 100 ? ' or more' : ''} ${ids.length === 1 ? 'result is' : 'results are'} ${list === '@' ? 'at the top level of the response' : `in ${list}`}; ${called}, ${score === null ? 'no scores' : `scores in ${score}`}.`,
    ...(isUnique
      ? []
      : [
          `Several results have the same ${id === null ? 'text' : `id in ${id}`}: they count as one document, at the rank of the first result.`,
        ]),
    ...(knowsK
      ? []
      : [
          'The service returns the same number of results for every k. If it has a parameter for this number, set that parameter to {{k}} in the request.',
        ]),
    ...(knowsText
      ? []
      : [
          'Two different queries returned the same results: check that the request puts the query where the service reads it.',
        ]),
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

/** Imports the queries, runs them once and pins the results. @throws RecalldError retriever_unreachable */
async function pinToday(
  configFile: string,
  pipeline: string,
  file: string,
  format: 'auto' | 'questions',
  signal: AbortSignal,
): Promise<{ readonly runId: string; readonly queries: number }> {
  const settings = commandSettings(configFile, signal);
  const { set } = await importNamedSet(settings, file, { set: SET, format, rowsAsQueries: false });
  return withCommandStore(settings, async (store) => {
    const run = await runGoldenSetNow(settings, store, pipeline, SET, () => undefined);
    if (run.status !== 'completed')
      throw new RecalldError('retriever_unreachable', `The queries could not be run: ${run.reason ?? run.status}`);
    const by = commandUser();
    // Pins the run even if queries fail, so that checks show these failures from the start.
    const pin = { note: 'By recalld init.', reruns: null, by, now: new Date(), withFailures: true };
    await pinRun(store, run, pin, signal);
    return { runId: run.id, queries: set.queries };
  });
}
