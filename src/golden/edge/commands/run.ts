import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import {
  type CommandSettings,
  type CommandStore,
  commandSettings,
  withCommandStore,
  withPipeline,
} from '../../../app/commands/command-store.ts';
import { redactBody } from '../../../app/config/inspect.ts';
import { queueBackend, queueOwner } from '../../../app/database.ts';
import { jobCatalogue } from '../../../app/jobs.ts';
import { evaluateChecks } from '../../../checks/evaluate-checks.ts';
import { EXIT_CHECK_FAILED } from '../../../cli/exit.ts';
import { configuredCommand, formatTable, note, printJson, printLine } from '../../../cli/output.ts';
import { createProgressBar } from '../../../cli/progress.ts';
import { messageOf, RecalldError } from '../../../core/errors.ts';
import { decimal } from '../../../core/format.ts';
import type { GoldenQuery } from '../../../core/model.ts';
import { systemClock } from '../../../core/system-clock.ts';
import { type SeenExchange, watchExchanges } from '../../../platform/outbound/exchange.ts';
import { openJobQueue } from '../../../platform/queue/bullmq.ts';
import { terminalText } from '../../../report/terminal.ts';
import { runGoldenSetJob } from '../../golden-jobs.ts';
import type { GoldenRun, QueryAnswer, RunSettings } from '../../rules/run.ts';
import { misreadingOption } from '../../rules/run-failure.ts';
import { scoreQueries } from '../../rules/score-run.ts';
import { askUnlimited } from '../../runs/ask-retriever.ts';
import { cancelGoldenRun, endWithoutScores } from '../../runs/end-golden-run.ts';
import { latestVersion, type RunProgress, runGoldenSet, startGoldenRun } from '../../runs/run-golden-set.ts';
import { scoresOf, summarizeRun } from '../../runs/run-summary.ts';
import { scheduleOf, unwatchedSet } from '../../watched-pipeline.ts';
import { runReport } from '../pages/run-sections.ts';

export function runCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand(
    'run',
    'Run a golden set against the retriever of a pipeline now.',
    'recalld golden run --pipeline support-docs --set support-faq',
  )
    .requiredOption('--pipeline <name>', 'name of a pipeline in the config')
    .requiredOption('--set <name>', 'name of the golden set')
    .option('--wait', 'run the set in this process and wait until the run ends', true)
    .option('--no-wait', 'enqueue the run for a running daemon and return immediately')
    .option(
      '--debug <query-id>',
      'run only this query and show its request, response, ranks and scores, but store nothing',
    )
    .action(async ({ pipeline, set, wait, debug, json, config }) => {
      const settings = commandSettings(config, signal);
      if (debug !== undefined) {
        const debugged = await debugQuery(settings, pipeline, set, debug);
        if (json === true) printJson(debugged);
        else printLine(formatDebuggedQuery(debugged));
      } else if (wait) await run(settings, pipeline, set, json === true);
      else {
        const queued = await withCommandStore(settings, (store) => queueGoldenRun(settings, store, pipeline, set));
        if (json === true) printJson({ run_id: queued.id, status: queued.status });
        else printLine(`Run ${queued.id} is enqueued. Follow it with \`recalld runs show ${queued.id}\`.`);
      }
    });
}

async function run(settings: CommandSettings, name: string, set: string, isJson: boolean): Promise<void> {
  const pipeline = settings.config.pipelines.find((one) => one.name === name);
  if (pipeline?.golden.every((one) => one.set !== set) === true) note(`Note: ${unwatchedSet(set)}`);
  const bar = createProgressBar(set);
  const summary = await withCommandStore(settings, async (store) => {
    const ended = await runGoldenSetNow(settings, store, name, set, (progress) => bar.show(progress)).finally(() =>
      bar.end(),
    );
    return summarizeRun(store.db.golden.runs, ended);
  });
  if (isJson) printJson(summary);
  else printLine(terminalText(runReport(summary), systemClock.now()));
  const { failure } = summary;
  if (failure !== null && summary.queries.ok + summary.queries.empty === 0) {
    throw new RecalldError(
      'retriever_unreachable',
      `The retriever of pipeline "${summary.pipeline}" failed for every query: ${failure.explanation} ${fixOf(failure.code)}`,
    );
  }
  if (summary.verdict !== 'ok') process.exitCode = EXIT_CHECK_FAILED;
}

function fixOf(code: string): string {
  const option = misreadingOption(code);
  if (option !== null) return `Check ${option}.`;
  return /^(connection_|dns_|host_|timeout)/.test(code)
    ? 'Start the retriever, or correct its address under `retriever`.'
    : 'Check `retriever` in the config, and the service behind it.';
}

export function cancelCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand(
    'cancel',
    'Cancel a running golden run. The worker stops within seconds.',
    'recalld golden cancel 20261120T154500Z-3f9a1c2b',
  )
    .argument('<id>', 'id of the run')
    .action(async (id, { config, json }) => {
      const run = await withCommandStore(commandSettings(config, signal), (store) => cancelGoldenRun(store, id));
      if (json === true) printJson({ run_id: run.id, status: run.status });
      else printLine(`Run ${run.id} is cancelled.`);
    });
}

/**
 * Starts a run of a golden set, waits until the run has ended, and returns it. If the command is interrupted, marks the
 * run as cancelled.
 *
 * @throws RecalldError pipeline_unknown, golden_set_unknown or golden_set_empty; the abort reason of the signal
 */
export async function runGoldenSetNow(
  settings: CommandSettings,
  store: CommandStore,
  name: string,
  set: string,
  onProgress: (progress: RunProgress) => void,
): Promise<GoldenRun> {
  const { signal } = settings;
  return withPipeline(settings, name, async (pipeline) => {
    const run = await startGoldenRun(store, pipeline, set);
    try {
      await runGoldenSet(
        store,
        run,
        pipeline,
        AbortSignal.any([signal, AbortSignal.timeout(run.deadlineAt.getTime() - Date.now())]),
        onProgress,
      );
    } catch (error) {
      const status = signal.aborted ? 'cancelled' : 'failed';
      const reason = signal.aborted ? 'The run was interrupted.' : messageOf(error);
      await store.db.golden.runs.finish(run.id, endWithoutScores(status, reason, store.clock.now()));
      throw error;
    } finally {
      await evaluateChecks(store, [name]);
    }
    return (await store.db.golden.runs.find(run.id)) ?? run;
  });
}

async function queueGoldenRun(
  settings: CommandSettings,
  store: CommandStore,
  name: string,
  set: string,
): Promise<GoldenRun> {
  if (store.storage.startedHere) {
    throw new RecalldError(
      'usage',
      'No daemon is running with this data folder. Start `recalld serve`, or run without --no-wait.',
    );
  }
  const run = await withPipeline(settings, name, (pipeline) => startGoldenRun(store, pipeline, set));
  const queue = await openJobQueue({
    backend: queueBackend(settings.config, store.storage),
    jobs: jobCatalogue,
    logger: settings.logger,
    owner: await queueOwner(store.storage),
  });
  try {
    await queue.enqueue(runGoldenSetJob.name, { run_id: run.id }, run.id);
  } finally {
    await queue.close();
  }
  return run;
}

/** Maximum number of characters shown of a request or response; longer texts are truncated. */
const MAX_TEXT = 2000;

function debugQuery(settings: CommandSettings, name: string, set: string, id: string) {
  return withCommandStore(settings, async ({ db }) => {
    const latest = await latestVersion(db.golden.sets, set);
    const query = (await db.golden.sets.queries(set, latest.version)).find((one) => one.id === id);
    if (query === undefined)
      throw new RecalldError(
        'query_unknown',
        `The golden set "${set}" has no query "${id}". \`recalld golden show ${set}\` lists its queries.`,
      );
    return withPipeline(settings, name, async (pipeline) => {
      const run = scheduleOf(pipeline, set).settings;
      const exchanges: ReturnType<typeof describeExchange>[] = [];
      const k = Math.max(...run.cutoffs);
      const answer = await watchExchanges(
        (seen) => exchanges.push(describeExchange(seen)),
        () => askUnlimited(pipeline, query, k, settings.signal),
      );
      return {
        /** Requests to services and their responses, without secrets, in the order of the responses. */
        exchanges,
        ...scoreAnswer(query, answer, run),
      };
    });
  });
}

function scoreAnswer(query: GoldenQuery, answer: QueryAnswer, run: RunSettings) {
  const grades = new Map(query.judgments.map(({ documentId, grade }) => [documentId, grade]));
  const found = new Set(answer.documents.map(({ id }) => id));
  const { keys, columns } = scoreQueries([query], [answer], run);
  return {
    query,
    outcome: answer.outcome,
    error: answer.errorMessage,
    latency_ms: answer.latencyMs,
    documents: answer.documents.map(({ id, score, step }, index) => ({
      rank: index + 1,
      /** Step that returned the document; null for a query without steps. */
      step: step ?? null,
      id,
      score: score ?? null,
      grade: grades.get(id) ?? null,
    })),
    missed: [...grades].flatMap(([id, grade]) => (grade >= run.relevanceLevel && !found.has(id) ? [id] : [])),
    scores: scoresOf(keys, columns, 0),
  };
}

function describeExchange({ method, label, body, result }: SeenExchange) {
  return {
    request: `${method} ${label}${body === null ? '' : ` ${short(withoutSecrets(body))}`}`,
    answer:
      result.kind === 'body' ? short(result.text) : result.kind === 'timeout' ? 'no response in time' : result.message,
  };
}

function withoutSecrets(body: string): string {
  try {
    return JSON.stringify(redactBody(JSON.parse(body)));
  } catch {
    return body;
  }
}

function short(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}… (${text.length} characters)`;
}

function formatDebuggedQuery(debugged: Awaited<ReturnType<typeof debugQuery>>): string {
  const { query, exchanges, outcome, error, latency_ms: latencyMs, documents, missed, scores } = debugged;
  const judgments = query.judgments.map(({ documentId, grade }) => `${documentId} (${grade})`).join(', ');
  return [
    `query      ${query.id}: ${query.text}`,
    ...(query.steps ?? []).map((text, index) => `step ${index + 1}     ${text}`),
    `judged     ${judgments}`,
    ...(exchanges.length === 0
      ? ['request    none over HTTP: the retriever is a command or searches the store directly']
      : exchanges.flatMap(({ request, answer }) => [`request    ${request}`, `response   ${answer}`])),
    `outcome    ${outcome}${latencyMs === null ? '' : `, ${Math.round(latencyMs)} ms`}${error === null ? '' : `: ${error}`}`,
    '',
    documents.length === 0
      ? 'The response has no documents.'
      : formatTable(
          ['rank', ...(query.steps === undefined ? [] : ['step']), 'document', 'score', 'grade'],
          documents.map(({ rank, step, id, score, grade }) => [
            String(rank),
            ...(query.steps === undefined ? [] : [String(step)]),
            id,
            score === null ? '' : String(score),
            grade === null ? 'unjudged' : String(grade),
          ]),
          query.steps === undefined ? 2 : 3,
        ),
    ...(missed.length === 0 ? [] : [`\nNot found: ${missed.join(', ')}.`]),
    '',
    formatTable(
      ['measure', 'score'],
      Object.entries(scores).map(([key, score]) => [key, decimal(score)]),
      1,
    ),
  ].join('\n');
}
