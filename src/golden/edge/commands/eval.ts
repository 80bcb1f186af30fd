import type { Writable } from 'node:stream';
import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { range } from '../../../core/format.ts';
import { formatMetricKey } from '../../../math/ir/metric-key.ts';
import { value } from '../../../report/model/show.ts';
import { tableText } from '../../../report/terminal.ts';
import { metricJson } from '../../runs/score-json.ts';
import { evaluateTrecFiles, type OfflineEvaluation, type TrecScores } from '../../trec/score-runs.ts';
import {
  duplicatesOption,
  qrelsOption,
  relevanceLevelOption,
  scoringSettings,
  TREC_HELP,
  writeAll,
} from './trec-options.ts';
import { countsJson, mismatchJson, notesOf, refuseMismatch } from './trec-report.ts';

/** Number of rows per write: one string for all rows would be huge, and one write per row would be slow. */
const ROWS_PER_CHUNK = 1000;

/**
 * Yields the report as one JSON document, in pieces. Does not build an object with query ids as keys, because an object
 * would reorder ids that look like numbers and would lose the id `__proto__`. A CI bound that cannot be computed, as
 * for the DCG of a single query, is null.
 */
function* evaluationAsJson(evaluation: OfflineEvaluation, withQueries: boolean): Generator<string> {
  const { run, metrics } = evaluation;
  const metricEntries = metrics.map(
    ({ key, summary }) => `    ${JSON.stringify(formatMetricKey(key))}: ${JSON.stringify(metricJson(summary))}`,
  );
  yield `{\n  "counts": ${JSON.stringify(countsJson(run))},\n  "mismatch": ${JSON.stringify(mismatchJson(run))},\n`;
  yield `  "notes": ${JSON.stringify(notesOf(run))},\n  "metrics": {\n${metricEntries.join(',\n')}\n  }`;
  if (withQueries) {
    yield ',\n  "per_query": {';
    const names = metrics.map(({ key }) => JSON.stringify(formatMetricKey(key)));
    yield* chunked(evaluation, (queryId, row) => {
      const values = metrics.map(({ values }, i) => `${names[i]}: ${JSON.stringify(values[row])}`);
      return `${row === 0 ? '' : ','}\n    ${JSON.stringify(queryId)}: {${values.join(', ')}}`;
    });
    yield '\n  }';
  }
  yield '\n}\n';
}

function* evaluationAsText(evaluation: OfflineEvaluation, withQueries: boolean): Generator<string> {
  const { run, metrics } = evaluation;
  yield `${summaryTable(metrics)}\n\n${[describeCounts(run.counts), ...notesOf(run)].join('\n')}\n`;
  if (withQueries) {
    yield `\n${['query', ...metrics.map(({ key }) => formatMetricKey(key))].join('\t')}\n`;
    yield* chunked(evaluation, (queryId, row) => {
      const values = metrics.map(({ values }) => (values[row] ?? 0).toFixed(4));
      return `${[queryId, ...values].join('\t')}\n`;
    });
  }
}

function* chunked(
  { queryIds }: OfflineEvaluation,
  toText: (queryId: string, row: number) => string,
): Generator<string> {
  for (let start = 0; start < queryIds.length; start += ROWS_PER_CHUNK) {
    yield queryIds
      .slice(start, start + ROWS_PER_CHUNK)
      .map((queryId, i) => toText(queryId, start + i))
      .join('');
  }
}

function summaryTable(metrics: OfflineEvaluation['metrics']): string {
  return tableText(metrics, [
    ['metric', ({ key }) => formatMetricKey(key)],
    ['mean', ({ summary }) => value(summary.mean, 'score'), 'number'],
    ['95 % CI', ({ summary }) => range(summary.ciLow, summary.ciHigh), 'number'],
    ['queries', ({ summary }) => summary.n, 'number'],
    ['method', ({ summary }) => summary.ciMethod, 'number'],
  ]);
}

function describeCounts(counts: TrecScores['counts']): string {
  const { judgedQueries, answered, missing, judgedDocuments, judgedDocumentsFound } = counts;
  return (
    `Judged queries: ${judgedQueries}, ${answered} with results, ${missing} without. ` +
    `Judged documents: ${judgedDocuments}, ${judgedDocumentsFound} of them in the results. ` +
    `Ignored queries without judgments: ${counts.ignoredUnjudgedQueries}. ` +
    `Duplicate documents: ${counts.duplicateDocuments}. Score ties: ${counts.scoreTies}.`
  );
}

const DEFAULT_METRICS = 'ndcg@10,mrr@10,map,recall@10,precision@10,hit_rate@10,unjudged@10';

/**
 * Scores a TREC run against judgments, as `trec_eval -c` does, without a database.
 *
 * The action of the command throws a RecalldError with the code `usage`, `metric_unknown`, `file_unreadable` or
 * `file_malformed`. For a run with no judged document, the action prints the report and then throws a RecalldError with
 * the code `nothing_matches`.
 */
export function evalCommand(
  command: Command,
  _signal: AbortSignal,
  output: Writable = process.stdout,
): CommandUnknownOpts {
  return command
    .addOption(qrelsOption)
    .requiredOption('--run <file>', 'TREC run: query-id Q0 document-id rank score tag')
    .option('--metrics <list>', 'metric keys, separated by commas', DEFAULT_METRICS)
    .addOption(relevanceLevelOption)
    .addOption(duplicatesOption)
    .option('--json', 'print one JSON document')
    .option('--per-query', 'also print the scores of each query')
    .addHelpText('after', HELP)
    .action(async ({ qrels, run, metrics, relevanceLevel, duplicates, perQuery, json }) => {
      const settings = scoringSettings(metrics, relevanceLevel, duplicates);
      const evaluation = await evaluateTrecFiles({ qrelsPath: qrels, runPath: run, ...settings });
      const format = json === true ? evaluationAsJson : evaluationAsText;
      await writeAll(output, format(evaluation, perQuery === true));
      refuseMismatch(qrels, [evaluation.run]);
    });
}

const HELP = `${TREC_HELP}
The output counts a score tie for each result that has the same score as the previous result.

Example:
  recalld eval --qrels qrels.txt --run run.txt --metrics ndcg@10,recall@100 --json
`;
