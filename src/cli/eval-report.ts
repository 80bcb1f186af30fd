/** How an offline evaluation is written down: one JSON document, or tables for people. */
import type { MetricScores, OfflineEvaluation } from '../app/commands/offline-evaluation.ts';
import type { EvaluationCounts } from '../app/commands/trec-scoring.ts';
import { metricJson } from '../golden/schema/run-summary-document.ts';
import { formatMetricKey } from '../ir/metric-key.ts';
import { formatTable } from './output.ts';

/** Rows that are joined to one write, so that a large report is neither one string nor a write for each row. */
const ROWS_PER_CHUNK = 1000;

/**
 * The report as one JSON document in pieces. Written by hand because an object would reorder query ids that look
 * like numbers and lose one called `__proto__`. A bound without limit (dcg of one query) is null.
 */
export function* evaluationAsJson(evaluation: OfflineEvaluation, withQueries: boolean): Generator<string> {
  const { counts, metrics } = evaluation;
  const metricEntries = metrics.map(
    ({ key, summary }) =>
      `    ${JSON.stringify(formatMetricKey(key))}: ${JSON.stringify(metricJson(summary))}`,
  );
  yield `{\n  "counts": ${JSON.stringify(countsForJson(counts))},\n  "metrics": {\n${metricEntries.join(',\n')}\n  }`;
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

/** The report for a terminal: a table of means, the counts in words and, if wanted, a line of tab-separated values per query. */
export function* evaluationAsText(evaluation: OfflineEvaluation, withQueries: boolean): Generator<string> {
  const { counts, metrics } = evaluation;
  yield `${summaryTable(metrics)}\n\n${describeCounts(counts).join('\n')}\n`;
  if (withQueries) {
    yield `\n${['query', ...metrics.map(({ key }) => formatMetricKey(key))].join('\t')}\n`;
    yield* chunked(evaluation, (queryId, row) => {
      const values = metrics.map(({ values }) => decimal(values[row] ?? 0));
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

function countsForJson(counts: EvaluationCounts): Record<string, number> {
  return {
    judged_queries: counts.judgedQueries,
    answered: counts.answered,
    missing: counts.missing,
    ignored_unjudged_queries: counts.ignoredUnjudgedQueries,
    duplicate_documents: counts.duplicateDocuments,
    score_ties: counts.scoreTies,
  };
}

function summaryTable(metrics: readonly MetricScores[]): string {
  const rows = metrics.map(({ key, summary }) => [
    formatMetricKey(key),
    decimal(summary.mean),
    `${decimal(summary.ciLow)} to ${decimal(summary.ciHigh)}`,
    String(summary.n),
    summary.ciMethod,
  ]);
  return formatTable(['metric', 'mean', '95 % interval', 'queries', 'method'], rows, 1);
}

function describeCounts(counts: EvaluationCounts): string[] {
  const { judgedQueries, answered, missing, ignoredUnjudgedQueries, duplicateDocuments, scoreTies } = counts;
  const lines = [
    `Judged queries ${judgedQueries}, answered ${answered}, missing ${missing}; ` +
      `run queries without judgments (ignored) ${ignoredUnjudgedQueries}; ` +
      `duplicate documents ${duplicateDocuments}; score ties ${scoreTies}.`,
  ];
  if (answered === 0) {
    lines.push(
      'No judged query has results in the run, so every score is 0. Do both files use the same query ids?',
    );
  } else if (missing === 1) {
    lines.push('1 judged query has no results in the run; it scores 0 and stays in the means.');
  } else if (missing > 1) {
    lines.push(`${missing} judged queries have no results in the run; they score 0 and stay in the means.`);
  }
  return lines;
}

function decimal(value: number): string {
  return Number.isFinite(value) ? value.toFixed(4) : 'unbounded';
}
