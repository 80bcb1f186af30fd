/** What the simulation of reports on shadows came to, as a part of docs/explanation/calibration.md. */
import type { ShareWithBounds } from '../../bench/bounds.ts';
import type { ShadowRelevanceResult } from '../../bench/shadow-relevance.ts';
import type { ShadowResult } from '../../bench/shadow-reports.ts';
import { table } from './page.ts';

/** Equal shadows that may ever be called, and shadows that are to be called by the day that was announced. */
const MAX_CALLED = 0.01;
const MIN_IN_TIME = 0.8;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const bounded = ({ share, low, high }: ShareWithBounds): string =>
  `${percent(share)} (${percent(low)} to ${percent(high)})`;
const kept = (isKept: boolean): string => `*${isKept ? 'kept' : 'missed'}*`;

export function shadowParagraphs({ questions, difference, lookDays, equal, worse }: ShadowResult): string[] {
  const shadows = equal.reduce((sum, cell) => sum + cell.shadows, 0);
  const ever = equal.reduce((sum, cell) => sum + cell.everCalled.share * cell.shadows, 0) / shadows;
  const reports = equal.reduce((sum, cell) => sum + cell.reports * cell.shadows, 0) / shadows;
  const inTime = Math.min(...worse.flatMap((cell) => cell.inTime?.share ?? []));
  return [
    '## Reports on shadows',
    `A shadow is asked ${questions} golden questions once a day for ${lookDays} days, and somebody reads its report every day. What a question differs by between the two retrievers is 0 for most of them and large for a few, with the standard deviation of the first column over all; from run to run both move by themselves, with that of the second.`,
    `Asked for: at most ${percent(MAX_CALLED)} of the reports call a shadow worse or better that is as good, and one that is ${difference} nDCG worse is called within the days that its report announced in at least ${percent(MIN_IN_TIME)}. Of ${shadows} equal shadows ${percent(ever)} were ever called, in ${percent(reports)} of the reports (${kept(reports <= MAX_CALLED)}); of the worse ones that announced a number of days ${percent(inTime)} were called by then in the worst cell (${kept(inTime >= MIN_IN_TIME)}). Where questions differ by too much no number of days is announced: the report then says how many questions it would take.`,
    table(
      ['Equal: between questions', 'From run to run', 'Shadows', 'Ever called', 'Of all reports'],
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
        'Called by then',
        'Called at all',
        'Called better',
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
    '### By judged live queries',
    `The same by what a judge grades of live queries: somebody reads the report on each of ${lookDays} days, or of ${worseDays} where a shadow is worse. Two lists of a query score alike for most and far apart for a few, half of it by session; skewed, a few lose much and the others gain a little, as much on the whole. Small segments and queries that users were unhappy with are drawn more often, by known chances.`,
    `Of ${shadows} equal shadows ${percent(ever)} were ever called, in ${percent(reports)} of the reports (${kept(reports <= MAX_CALLED)}); of those that are ${difference} nDCG worse and announced a number of days ${percent(inTime)} were called by then in the worst cell (${kept(inTime >= MIN_IN_TIME)}).`,
    table(
      ['Equal: sessions a day', ...worldColumns, 'Ever called', 'Of all reports'],
      equal.map((cell) => [...worldOf(cell), bounded(cell.everCalled), percent(cell.reports)]),
    ),
    table(
      [
        'Worse: sessions a day',
        ...worldColumns,
        'Announced days',
        'Median of days',
        'Called by then',
        'Called at all',
        'Called better',
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
