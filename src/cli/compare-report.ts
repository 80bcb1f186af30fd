/** How a comparison is written down for people. */
import type { OfflineComparison } from '../app/commands/offline-comparison.ts';
import type { MetricComparison } from '../golden/rules/compare-metric.ts';
import { adviseOnSetSize, mostRegressed, type RunComparison } from '../golden/rules/compare-runs.ts';
import { type ComparisonSettings, minEffectOf } from '../golden/rules/verdict.ts';
import { formatMetricKey } from '../ir/metric-key.ts';
import { formatTable } from './output.ts';

const MOST_QUERIES = 10;

/** A table of the metrics, the verdict and its rule, the queries that lost most, and advice on the size of the set. */
export function* comparisonAsText(
  compared: OfflineComparison,
  settings: ComparisonSettings,
): Generator<string> {
  const { comparison } = compared;
  yield `${metricsTable(comparison.metrics)}\n\n`;
  yield `${describeVerdict(comparison, settings).join('\n')}\n`;
  yield `${describeQueries(compared).join('\n')}\n`;
  const losses = tableOfLosses(compared);
  if (losses !== null) yield `\n${losses}\n`;
  const advice = adviseOnSetSize(comparison, settings);
  if (advice.length > 0) yield `\n${advice.join('\n')}\n`;
}

/** One line for each metric, with its bounds and what the set could show. */
export function metricsTable(metrics: readonly MetricComparison[]): string {
  const rows = metrics.map((metric) => [
    formatMetricKey(metric.key),
    metric.verdict,
    metric.baseline.toFixed(4),
    metric.candidate.toFixed(4),
    signed(metric.difference),
    `${signed(metric.ciLow)} to ${signed(metric.ciHigh)}`,
    probability(metric.p),
    `${metric.wins}`,
    `${metric.losses}`,
    `${metric.ties}`,
    detectable(metric),
  ]);
  const head = ['metric', 'verdict', 'baseline', 'candidate', 'difference', '95 % interval', 'p'];
  return formatTable([...head, 'won', 'lost', 'tied', 'detectable'], rows, 2);
}

function describeVerdict({ verdict, metrics }: RunComparison, settings: ComparisonSettings): string[] {
  const least = [...new Set(metrics.map(({ key }) => minEffectOf(key.measure, settings)))];
  const rule =
    `A regression is a fall of at least ${least.join(' or ')} (see --min-effect) with p < ${settings.alpha}, ` +
    'an improvement a rise of as much.';
  if (metrics.length === 1) return [`Verdict: ${verdict}.`, rule];
  return [
    `Verdict on all metrics together: ${verdict}.`,
    rule,
    'p in the table is not adjusted; the verdict on all metrics takes p adjusted for their number (Holm).',
  ];
}

function describeQueries({ comparison, baseline, candidate }: OfflineComparison): string[] {
  const lines = [
    `Judged queries ${comparison.n}; without results in the baseline ${baseline.counts.missing}, ` +
      `in the candidate ${candidate.counts.missing}.`,
  ];
  for (const [name, { counts }] of [
    ['baseline', baseline],
    ['candidate', candidate],
  ] as const) {
    if (counts.answered === 0)
      lines.push(
        `No judged query has results in the ${name}, so every score of it is 0. Do the files use the same query ids?`,
      );
    else if (counts.missing > 0)
      lines.push(`Queries without results in the ${name} score 0 and stay in its means.`);
  }
  return lines;
}

/** Of the first metric that regressed, else of the first in which a query lost. */
function tableOfLosses({ comparison, queryIds, baseline, candidate }: OfflineComparison): string | null {
  const { metrics } = comparison;
  const regressed = metrics.findIndex(({ verdict }) => verdict === 'regression');
  const column = regressed === -1 ? metrics.findIndex(({ losses }) => losses > 0) : regressed;
  const metric = metrics[column];
  if (metric === undefined) return null;
  const worst = mostRegressed(
    queryIds,
    baseline.columns[column] ?? [],
    candidate.columns[column] ?? [],
    MOST_QUERIES,
  );
  const rows = worst.map((query) => [
    query.queryId,
    query.baseline.toFixed(4),
    query.candidate.toFixed(4),
    signed(query.difference),
  ]);
  const table = formatTable(['query', 'baseline', 'candidate', 'difference'], rows, 1);
  return `Queries that lost most in ${formatMetricKey(metric.key)}, ${worst.length} of ${metric.losses}:\n${table}`;
}

/** Without any change nothing is known of the spread, on which it depends. */
function detectable({ smallestDetectableDifference, standardDeviation }: MetricComparison): string {
  if (smallestDetectableDifference === null || standardDeviation === 0) return '-';
  return smallestDetectableDifference.toFixed(4);
}

export function signed(value: number): string {
  if (!Number.isFinite(value)) return 'unbounded';
  const text = value.toFixed(4);
  if (Number(text) === 0) return '0.0000';
  return value > 0 ? `+${text}` : text;
}

function probability(p: number): string {
  return p < 0.0001 ? '<0.0001' : p.toFixed(4);
}
