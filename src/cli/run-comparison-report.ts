/** Two golden runs side by side, as text for people. */
import type { RunsCompared } from '../app/commands/compare-runs.ts';
import type { RunDifference } from '../golden/rules/compare-golden-runs.ts';
import type { ChangedQuery } from '../golden/rules/listed-queries.ts';
import type { GoldenRun } from '../golden/rules/run.ts';
import { ALL_SEGMENT } from '../model.ts';
import { metricsTable, signed } from './compare-report.ts';
import { formatTable } from './output.ts';
import { sparkline, verdictText } from './style.ts';

const LONGEST_TEXT = 60;

/** A measure over the last runs of the set that completed, oldest first. */
export interface Trend {
  readonly measure: string;
  readonly values: readonly (number | null)[];
}

/** The metrics at the largest cut-off, the segments that moved, and the queries that lost most. */
export function formatRunComparison(compared: RunsCompared, trend: Trend, mostQueries: number): string {
  const { baseline, candidate, comparison, differences } = compared;
  const largest = Math.max(...differences.map(({ key }) => key.k));
  const shown = differences.filter(({ key }) => key.k === largest);
  const left = comparison.excluded === 0 ? '' : `, ${comparison.excluded} left out`;
  return [
    `baseline   ${describe(baseline)}`,
    `candidate  ${describe(candidate)}`,
    `trend      ${trendText(trend)}`,
    `Verdict: ${verdictText(comparison.verdict)}, over ${comparison.n} queries${left}.`,
    '',
    metricsTable(shown.filter(({ segment }) => segment === ALL_SEGMENT)),
    ...segmentLines(shown),
    ...queryLines(compared, mostQueries),
    ...(comparison.advice.length === 0 ? [] : ['', ...comparison.advice]),
  ].join('\n');
}

function trendText({ measure, values }: Trend): string {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return `no run has ${measure}`;
  const [least, largest] = [Math.min(...known), Math.max(...known)];
  const runs = values.length === 1 ? 'the last run' : `the last ${values.length} runs`;
  return `${sparkline(values)} ${measure} of ${runs}, ${least.toFixed(4)} to ${largest.toFixed(4)}`;
}

function describe({ id, goldenSet, goldenSetVersion, pipeline, startedAt }: GoldenRun): string {
  return `${id}: ${goldenSet} version ${goldenSetVersion} on ${pipeline}, ${startedAt.toISOString()}`;
}

/** nDCG of the segments that moved, worst first. */
function segmentLines(shown: readonly RunDifference[]): string[] {
  const moved = shown
    .filter(
      ({ segment, key, difference }) => segment !== ALL_SEGMENT && key.measure === 'ndcg' && difference !== 0,
    )
    .toSorted((a, b) => a.difference - b.difference);
  if (moved.length === 0) return [];
  const rows = moved.map((one) => [
    one.segment,
    `${one.n}`,
    one.baseline.toFixed(4),
    one.candidate.toFixed(4),
    signed(one.difference),
    one.verdict,
  ]);
  const head = ['segment', 'n', 'ndcg before', 'after', 'difference', 'verdict'];
  return ['', formatTable(head, rows, 1)];
}

function queryLines({ queries, measure }: RunsCompared, most: number): string[] {
  if (queries.length === 0) return ['', 'No query changed.'];
  const better = queries.filter(({ difference }) => difference > 0).length;
  const rows = queries.slice(0, most).map(queryRow);
  return [
    '',
    `${queries.length - better} queries lost and ${better} won in ${measure}; most regressed first:`,
    formatTable(['query', 'text', 'before', 'after', 'difference'], rows, 2),
  ];
}

function queryRow({ queryId, text, baseline, candidate, difference, isNewlyEmpty }: ChangedQuery): string[] {
  const line = text.replaceAll(/\s+/g, ' ');
  const shown = line.length > LONGEST_TEXT ? `${line.slice(0, LONGEST_TEXT - 1)}…` : line;
  const empty = isNewlyEmpty ? ' (now empty)' : '';
  return [queryId, `${shown}${empty}`, baseline.toFixed(4), candidate.toFixed(4), signed(difference)];
}
