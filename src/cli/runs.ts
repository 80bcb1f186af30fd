/** `recalld runs`: the history of golden runs. */
import { Command, InvalidArgumentError } from 'commander';
import { commandSettings } from '../app/command-settings.ts';
import { type CommandSettings, withCommandStore } from '../app/command-store.ts';
import { summarizeRun } from '../app/run-summary.ts';
import type { RunSummaryJson } from '../contracts/run-summary.ts';
import { RecalldError } from '../core/errors.ts';
import type { QueryAnswer } from '../core/golden/run.ts';
import { type ConfiguredOptions, configuredCommand } from './configured-command.ts';
import { formatTable, printJson, printLine } from './output.ts';
import { formatRunSummary } from './run-report.ts';

interface ListOptions extends ConfiguredOptions {
  readonly pipeline?: string;
  readonly set?: string;
  readonly limit: number;
}

interface ShowOptions extends ConfiguredOptions {
  readonly perQuery: boolean;
}

export function runsCommand(signal: AbortSignal): Command {
  const command = new Command('runs').description('The history of golden runs.');
  command.addCommand(
    configuredCommand(
      'list',
      'List golden runs, newest first.',
      'recalld runs list --pipeline support-docs --limit 5',
    )
      .option('--pipeline <name>', 'only runs of this pipeline')
      .option('--set <name>', 'only runs of this golden set')
      .option('--limit <n>', 'at most so many', parseLimit, 20)
      .action((options: ListOptions) => list(commandSettings(options.config, signal), options)),
  );
  command.addCommand(
    configuredCommand(
      'show',
      'Show one golden run.',
      'recalld runs show 20261120T154500Z-3f9a1c2b --per-query',
    )
      .argument('<id>', 'id of the run')
      .option('--per-query', 'what became of each query', false)
      .action((id: string, options: ShowOptions) =>
        show(commandSettings(options.config, signal), id, options),
      ),
  );
  return command;
}

async function list(settings: CommandSettings, options: ListOptions): Promise<void> {
  const { limit, pipeline, set } = options;
  const filter = {
    limit,
    ...(pipeline === undefined ? {} : { pipeline }),
    ...(set === undefined ? {} : { goldenSet: set }),
  };
  const summaries = await withCommandStore(settings, async ({ runs }) => {
    const found = await runs.list(filter);
    return Promise.all(found.map((run) => summarizeRun(runs, run)));
  });
  if (options.json === true) printJson(summaries);
  else if (summaries.length === 0)
    printLine('No golden run yet; `recalld golden run --pipeline P --set S` makes one.');
  else {
    const rows = summaries.map((run) => [
      run.run_id,
      run.pipeline,
      `${run.golden_set} v${run.golden_set_version}`,
      run.status,
      run.verdict,
      ...['hit_rate', 'mrr', 'ndcg'].map((measure) => atLargestCutoff(run, measure)),
      `${run.queries.error + run.queries.timeout}`,
    ]);
    printLine(
      formatTable(
        ['run', 'pipeline', 'golden set', 'status', 'verdict', 'hit rate', 'MRR', 'nDCG', 'failed'],
        rows,
        5,
      ),
    );
  }
}

function atLargestCutoff(run: RunSummaryJson, measure: string): string {
  const cutoffs = Object.keys(run.metrics).flatMap((key) =>
    key.startsWith(`${measure}@`) ? [Number(key.split('@')[1])] : [],
  );
  return run.metrics[`${measure}@${Math.max(...cutoffs)}`]?.mean.toFixed(4) ?? '-';
}

async function show(settings: CommandSettings, id: string, options: ShowOptions): Promise<void> {
  const { summary, answers } = await withCommandStore(settings, async ({ runs }) => {
    const run = await runs.find(id);
    if (run === null)
      throw new RecalldError(
        'run_unknown',
        `There is no golden run ${id}; \`recalld runs list\` shows those that exist.`,
      );
    return { summary: await summarizeRun(runs, run), answers: await runs.answers(id) };
  });
  if (options.json === true) {
    printJson(options.perQuery ? { ...summary, answers: answers.map(answerJson) } : summary);
    return;
  }
  printLine(
    formatRunSummary(summary, answers.find((answer) => answer.errorMessage !== null)?.errorMessage ?? null),
  );
  if (options.perQuery) {
    const rows = answers.map((a) => [
      a.queryId,
      a.outcome,
      a.errorCode ?? a.documents.map((document) => document.id).join(' '),
      a.latencyMs === null ? '-' : a.latencyMs.toFixed(1),
      `${a.attempts}`,
    ]);
    printLine(`\n${formatTable(['query', 'outcome', 'documents or error', 'ms', 'attempts'], rows, 3)}`);
  }
}

function answerJson(answer: QueryAnswer) {
  return {
    query_id: answer.queryId,
    outcome: answer.outcome,
    documents: answer.documents,
    latency_ms: answer.latencyMs,
    attempts: answer.attempts,
    error_code: answer.errorCode,
    error_message: answer.errorMessage,
  };
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 10_000) return limit;
  throw new InvalidArgumentError('It must be a whole number from 1 to 10000.');
}
