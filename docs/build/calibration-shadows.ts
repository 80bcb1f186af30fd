/** Results of simulated shadow reports, as part of docs/explanation/calibration/experiments.md. */
import type { ShareWithBounds } from '../../bench/bounds.ts';
import type { ShadowRelevanceResult } from '../../bench/shadow-relevance.ts';
import type { ShadowResult } from '../../bench/shadow-reports.ts';
import { table } from './page.ts';

/** Goals: share of equal shadows with a verdict, and of worse shadows with a verdict by the announced day. */
const MAX_CALLED = 0.01;
const MIN_IN_TIME = 0.8;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const bounded = ({ share, low, high }: ShareWithBounds): string =>
  `${percent(share)} (${percent(low)} to ${percent(high)})`;
const kept = (isKept: boolean): string => `*${isKept ? 'met' : 'missed'}*`;

export function shadowParagraphs({ questions, difference, lookDays, equal, worse }: ShadowResult): string[] {
  const shadows = equal.reduce((sum, cell) => sum + cell.shadows, 0);
  const ever = equal.reduce((sum, cell) => sum + cell.everCalled.share * cell.shadows, 0) / shadows;
  const reports = equal.reduce((sum, cell) => sum + cell.reports * cell.shadows, 0) / shadows;
  const inTime = Math.min(...worse.flatMap((cell) => cell.inTime?.share ?? []));
  return [
    '## Shadows',
    `A shadow gets ${questions} golden queries once a day for ${lookDays} days, and its report is read every day. Most queries score the same with both retrievers and a few differ strongly; the first column is the standard deviation of the difference. Both retrievers also vary from run to run; the second column is that standard deviation.`,
    `The goals are: at most ${percent(MAX_CALLED)} of reports on an equal shadow contain a verdict, and at least ${percent(MIN_IN_TIME)} of shadows that are ${difference} nDCG worse are detected within the number of days that the report announces. ${percent(ever)} of ${shadows} equal shadows got a verdict on any day, and ${percent(reports)} of their reports contained one (${kept(reports <= MAX_CALLED)}). Of the worse shadows with an announced number of days, ${percent(inTime)} were detected in time in the worst cell (${kept(inTime >= MIN_IN_TIME)}). If queries differ too much, the report announces the number of queries needed instead of days.`,
    table(
      ['Equal: between questions', 'From run to run', 'Shadows', 'Ever a verdict', 'Share of reports'],
      equal.map((cell) => [
        `${cell.questions}`,
        `${cell.noise}`,
        `${cell.shadows}`,
        bounded(cell.everCalled),
        percent(cell.reports),
      ]),
    ),
    table(
      [
        'Worse: between questions',
        'From run to run',
        'Shadows',
        'Announced days',
        'Median of days',
        'Detected by then',
        'Detected at all',
        'Reported better',
      ],
      worse.map((cell) => [
        `${cell.questions}`,
        `${cell.noise}`,
        `${cell.shadows}`,
        bounded(cell.announced),
        `${cell.days ?? '-'}`,
        cell.inTime === null ? '-' : bounded(cell.inTime),
        bounded(cell.called),
        bounded(cell.calledBetter),
      ]),
    ),
  ];
}

const worldOf = (cell: ShadowRelevanceResult['equal'][number] | ShadowRelevanceResult['worse'][number]): string[] => [
  `${cell.sessions}`,
  `1 to ${cell.mostQueries}`,
  `${cell.spread}${cell.isSkewed ? ', skewed' : ''}`,
  `${cell.shadows}`,
];

export function relevanceParagraphs(result: ShadowRelevanceResult): string[] {
  const { difference, lookDays, worseDays, equal, worse } = result;
  const shadows = equal.reduce((sum, cell) => sum + cell.shadows, 0);
  const ever = equal.reduce((sum, cell) => sum + cell.everCalled.share * cell.shadows, 0) / shadows;
  const reports = equal.reduce((sum, cell) => sum + cell.reports * cell.shadows, 0) / shadows;
  const inTime = Math.min(...worse.flatMap((cell) => cell.inTime?.share ?? []));
  const worldColumns = ['Queries of each', 'Spread of queries', 'Shadows'];
  return [
    '## Shadows on judged live queries',
    `This simulation uses a judge's grades of live queries. The report is read every day for ${lookDays} days, or ${worseDays} days for worse shadows. Both lists score the same for most queries and differ strongly for a few; half of this variance is between sessions. In skewed worlds, a few queries lose much and the others gain a little. Small segments and queries with negative feedback are sampled more often, with known probabilities.`,
    `${percent(ever)} of ${shadows} equal shadows got a verdict on any day, and ${percent(reports)} of their reports contained one (${kept(reports <= MAX_CALLED)}). Of the shadows that are ${difference} nDCG worse and have an announced number of days, ${percent(inTime)} were detected in time in the worst cell (${kept(inTime >= MIN_IN_TIME)}).`,
    table(
      ['Equal: sessions a day', ...worldColumns, 'Ever a verdict', 'Share of reports'],
      equal.map((cell) => [...worldOf(cell), bounded(cell.everCalled), percent(cell.reports)]),
    ),
    table(
      [
        'Worse: sessions a day',
        ...worldColumns,
        'Announced days',
        'Median of days',
        'Detected by then',
        'Detected at all',
        'Reported better',
      ],
      worse.map((cell) => [
        ...worldOf(cell),
        bounded(cell.announced),
        `${cell.days ?? '-'}`,
        cell.inTime === null ? '-' : bounded(cell.inTime),
        bounded(cell.called),
        bounded(cell.calledBetter),
      ]),
    ),
  ];
}
