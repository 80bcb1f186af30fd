import { formatTable, sparkline, verdictText } from '../../../cli/output.ts';
import { decimal, plural, signed } from '../../../core/format.ts';
import { ALL_SEGMENT } from '../../../core/model.ts';
import { type RunDifference, segmentOf } from '../../rules/compare-golden-runs.ts';
import { adviseOnSetSize } from '../../rules/compare-runs.ts';
import type { ChangedQuery } from '../../rules/listed-queries.ts';
import type { GoldenRun } from '../../rules/run.ts';
import { storedComparison } from '../../rules/verdict.ts';
import type { RunsCompared } from '../../runs/stored-runs.ts';
import { metricsTable } from './compare.ts';

const MAX_TEXT = 60;

export function formatRunComparison(
  compared: RunsCompared,
  measure: string,
  values: readonly (number | null)[],
  maxQueries: number,
): string {
  const { baseline, candidate, differences } = compared;
  const all = segmentOf(differences);
  const excluded = differences[0]?.excluded ?? 0;
  const advice = adviseOnSetSize(all, storedComparison);
  const largest = Math.max(...differences.map(({ key }) => key.k));
  const shown = differences.filter(({ key }) => key.k === largest);
  const exclusion = excluded === 0 ? '' : `, ${excluded} excluded`;
  return [
    `baseline   ${nameOfRun(baseline)}, ${baseline.startedAt.toISOString()}`,
    `candidate  ${nameOfRun(candidate)}, ${candidate.startedAt.toISOString()}`,
    `trend      ${trendText(measure, values)}`,
    `Verdict on ${all.primary}: ${verdictText(all.verdict)}, over ${plural(all.n, 'query', 'queries')}${exclusion}.`,
    '',
    metricsTable(shown.filter(({ segment }) => segment === ALL_SEGMENT)),
    ...segmentLines(shown),
    ...queryLines(compared, maxQueries),
    ...(advice.length === 0 ? [] : ['', ...advice]),
  ].join('\n');
}

function trendText(measure: string, values: readonly (number | null)[]): string {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return `no run has ${measure}`;
  const [lowest, highest] = [Math.min(...known), Math.max(...known)];
  const runs = values.length === 1 ? 'the last run' : `the last ${values.length} runs`;
  return `${sparkline(values)} ${measure} of ${runs}, ${decimal(lowest)} to ${decimal(highest)}`;
}

export function nameOfRun({ id, goldenSet, goldenSetVersion, pipeline }: GoldenRun): string {
  return `${id}: ${goldenSet} version ${goldenSetVersion} on ${pipeline}`;
}

function segmentLines(shown: readonly RunDifference[]): string[] {
  const moved = shown
    .filter(({ segment, key, difference }) => segment !== ALL_SEGMENT && key.measure === 'ndcg' && difference !== 0)
    .toSorted((a, b) => a.difference - b.difference);
  if (moved.length === 0) return [];
  const rows = moved.map((one) => [
    one.segment,
    `${one.n}`,
    decimal(one.baseline),
    decimal(one.candidate),
    signed(one.difference),
    one.verdict,
  ]);
  const head = ['segment', 'n', 'ndcg before', 'after', 'difference', 'verdict'];
  return ['', formatTable(head, rows, 1)];
}

function queryLines({ queries, measure }: RunsCompared, max: number): string[] {
  if (queries.length === 0) return ['', 'No query changed.'];
  const better = queries.filter(({ difference }) => difference > 0).length;
  const rows = queries.slice(0, max).map(queryRow);
  return [
    '',
    `${plural(queries.length - better, 'query', 'queries')} scored lower in ${measure}, and ${better} scored higher. Largest drop first:`,
    formatTable(['query', 'text', 'before', 'after', 'difference'], rows, 2),
  ];
}

function queryRow({ queryId, text, baseline, candidate, difference, isNewlyEmpty }: ChangedQuery): string[] {
  const line = text.replaceAll(/\s+/g, ' ');
  const shown = line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT - 1)}…` : line;
  const empty = isNewlyEmpty ? ' (now empty)' : '';
  return [queryId, `${shown}${empty}`, decimal(baseline), decimal(candidate), signed(difference)];
}
