import { type Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { type CommandSettings, commandSettings, withCommandStore } from '../../../app/commands/command-store.ts';
import { EXIT_CHECK_FAILED } from '../../../cli/exit.ts';
import { configuredCommand, formatTable, parseCount, printJson, printLine, verdictText } from '../../../cli/output.ts';
import { decimal } from '../../../core/format.ts';
import { systemClock } from '../../../core/system-clock.ts';
import { toDocument } from '../../../core/text/names.ts';
import { readTrend } from '../../../report/status/read-status.ts';
import { terminalText } from '../../../report/terminal.ts';
import { changedQueries } from '../../endpoints.ts';
import { segmentOf } from '../../rules/compare-golden-runs.ts';
import { isWorseThanFirst } from '../../rules/compare-runs.ts';
import { storedComparison } from '../../rules/verdict.ts';
import type { RunSummaryJson } from '../../run-summary-schema.ts';
import { comparedJson } from '../../runs/comparison-json.ts';
import { summarizeRun, summarizeRunSoFar } from '../../runs/run-summary.ts';
import { assertAnswers, compareManyRuns, compareRunsById, findRun } from '../../runs/stored-runs.ts';
import { runReport } from '../pages/run-sections.ts';
import { formatMany, manyJson } from './compare.ts';
import { formatRunComparison, nameOfRun } from './run-reports.ts';

export function runsCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  command.addCommand(
    configuredCommand('list', 'List golden runs, newest first.', 'recalld runs list --pipeline support-docs --limit 5')
      .option('--pipeline <name>', 'only runs of this pipeline')
      .option('--set <name>', 'only runs of this golden set')
      .option('--sentinels', 'list sentinel runs instead of full runs', false)
      .option('--limit <n>', 'maximum number of runs', parseCount, 20)
      .action(async ({ config, pipeline, set, sentinels, limit, json }) => {
        const filter = { limit, purpose: sentinels ? 'sentinel' : 'full', pipeline, goldenSet: set } as const;
        const summaries = await withCommandStore(commandSettings(config, signal), async ({ db }) => {
          const found = await db.golden.runs.list(filter);
          return Promise.all(found.map((run) => summarizeRun(db.golden.runs, run)));
        });
        if (json === true) printJson(summaries);
        else printRuns(summaries);
      }),
  );
  command.addCommand(
    configuredCommand('show', 'Show one golden run.', 'recalld runs show 20261120T154500Z-3f9a1c2b --per-query')
      .argument('<id>', 'id of the run')
      .option('--per-query', 'show the outcome of each query', false)
      .action((id, { config, perQuery, json }) => show(commandSettings(config, signal), id, perQuery, json === true)),
  );
  command.addCommand(
    configuredCommand(
      'compare',
      "Compare golden runs query by query. With more than two runs, compare every pair and adjust the p-values with Holm's method.",
      'recalld runs compare 20261119T154500Z-1b7c0d9e 20261120T154500Z-3f9a1c2b',
    )
      .argument('<baseline>', 'id of the baseline run')
      .argument('<candidates...>', 'ids of the runs to compare with the baseline run')
      .option('--by <measure>', 'measure by which the queries are sorted (default: ndcg at the largest cutoff)')
      .option('--limit <n>', 'maximum number of queries listed', parseCount, 20)
      .action((baseline, candidates, { config, by, limit, json }) => {
        const settings = commandSettings(config, signal);
        const [candidate, ...more] = candidates;
        return candidate === undefined || more.length > 0
          ? compareAll(settings, [baseline, ...candidates], json === true)
          : compare(settings, baseline, candidate, by ?? null, limit, json === true);
      }),
  );
  return command;
}

function printRuns(summaries: readonly RunSummaryJson[]): void {
  if (summaries.length === 0)
    printLine('No golden runs yet. Start a run with `recalld golden run --pipeline P --set S`.');
  else {
    const rows = summaries.map((run) => [
      run.run_id,
      run.pipeline,
      `${run.golden_set} v${run.golden_set_version}`,
      run.status,
      verdictText(run.verdict),
      ...['hit_rate', 'mrr', 'ndcg'].map((measure) => atLargestCutoff(run, measure)),
      `${run.queries.error + run.queries.timeout}`,
    ]);
    printLine(
      formatTable(['run', 'pipeline', 'golden set', 'status', 'verdict', 'hit rate', 'MRR', 'nDCG', 'failed'], rows, 5),
    );
  }
}

function atLargestCutoff(run: RunSummaryJson, measure: string): string {
  const cutoffs = Object.keys(run.metrics).flatMap((key) =>
    key.startsWith(`${measure}@`) ? [Number(key.split('@')[1])] : [],
  );
  const score = run.metrics[`${measure}@${Math.max(...cutoffs)}`];
  return score === undefined ? '-' : decimal(score.mean);
}

async function show(settings: CommandSettings, id: string, perQuery: boolean, isJson: boolean): Promise<void> {
  const { summary, answers } = await withCommandStore(settings, async (store) => {
    const { db } = store;
    const run = await findRun(db.golden.runs, id);
    if (perQuery) assertAnswers(run);
    return {
      summary: await summarizeRunSoFar(store, run, settings.signal),
      answers: perQuery ? await db.golden.runs.answers(id) : [],
    };
  });
  if (isJson) {
    printJson(perQuery ? { ...summary, answers: toDocument(answers) } : summary);
    return;
  }
  printLine(terminalText(runReport(summary), systemClock.now()));
  if (perQuery) {
    const rows = answers.map((a) => [
      a.queryId,
      a.outcome,
      a.errorCode ?? a.documents.map((document) => document.id).join(' '),
      a.latencyMs === null ? '-' : decimal(a.latencyMs),
      `${a.attempts}`,
    ]);
    printLine(`\n${formatTable(['query', 'outcome', 'documents or error', 'ms', 'attempts'], rows, 3)}`);
  }
}

async function compareAll(settings: CommandSettings, ids: readonly string[], isJson: boolean): Promise<void> {
  const { runs, compared } = await withCommandStore(settings, (store) => compareManyRuns(store, ids, storedComparison));
  if (isJson) printJson(manyJson(ids, compared));
  else {
    printLine(formatMany(runs.map(nameOfRun), compared));
  }
  if (isWorseThanFirst(compared)) process.exitCode = EXIT_CHECK_FAILED;
}

async function compare(
  settings: CommandSettings,
  baselineId: string,
  candidateId: string,
  by: string | null,
  limit: number,
  isJson: boolean,
): Promise<void> {
  const { trend, ...compared } = await withCommandStore(settings, async (store) => {
    const found = await compareRunsById(store, baselineId, candidateId, by, 'computed', settings.signal);
    const { pipeline, goldenSet, settings: asked } = found.candidate;
    const k = Math.max(...asked.cutoffs);
    const values = await readTrend(store.db.golden.runs, pipeline, goldenSet, k);
    return { ...found, trend: { measure: `ndcg@${k}`, values } };
  });
  if (isJson) {
    printJson({
      baseline_run_id: baselineId,
      candidate_run_id: candidateId,
      ...comparedJson(compared),
      trend,
      ordered_by: compared.measure,
      queries: changedQueries(compared.queries.slice(0, limit)),
    });
  } else printLine(formatRunComparison(compared, trend.measure, trend.values, limit));
  if (segmentOf(compared.differences).verdict === 'regression') process.exitCode = EXIT_CHECK_FAILED;
}
