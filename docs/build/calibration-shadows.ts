/** Results of simulated shadow reports, as part of docs/explanation/calibration/experiments.md. */
import type { ShareWithBounds } from '../../bench/bounds.ts';
import type { ShadowRelevanceResult } from '../../bench/shadow-relevance.ts';
import type { ShadowResult } from '../../bench/shadow-reports.ts';
import { goal } from './calibration-text.ts';
import { table } from './page.ts';

/**
 * Goals: the maximum share of reports on equal shadows that contain a verdict, and the minimum share of worse shadows
 * that recalld detects by the estimated day.
 */
const MAX_CALLED = 0.01;
const MIN_IN_TIME = 0.8;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const bounded = ({ share, low, high }: ShareWithBounds): string =>
  `${percent(share)} (${percent(low)} to ${percent(high)})`;

export function shadowParagraphs({ questions, difference, lookDays, equal, worse }: ShadowResult): string[] {
  const shadows = equal.reduce((sum, cell) => sum + cell.shadows, 0);
  const ever = equal.reduce((sum, cell) => sum + cell.everCalled.share * cell.shadows, 0) / shadows;
  const reports = equal.reduce((sum, cell) => sum + cell.reports * cell.shadows, 0) / shadows;
  const inTime = Math.min(...worse.flatMap((cell) => cell.inTime?.share ?? []));
  return [
    '## Shadows',
    `Each simulated shadow gets ${questions} golden queries once a day for ${lookDays} days, and its report is read every day. Most queries score the same with the pipeline's retriever and with the shadow, but the scores of a few differ strongly; the tables give the standard deviation (SD) of the difference. The scores of each retriever also vary from run to run; the column *SD from run to run* is the standard deviation of this variation.`,
    `The goals are that at most ${percent(MAX_CALLED)} of the reports on an equal shadow contain a verdict, and that recalld detects at least ${percent(MIN_IN_TIME)} of the shadows that are ${difference} nDCG worse, within the number of days that the report estimates. Of ${shadows} shadows that are equal to the retriever, ${percent(ever)} got a false verdict on at least one day; ${percent(reports)} of their daily reports contained a false verdict (${goal(reports <= MAX_CALLED)}). For some of the worse shadows, the report estimated how many days detection would take. In the worst scenario, ${percent(inTime)} of the shadows with an estimate were detected within the estimated time (${goal(inTime >= MIN_IN_TIME)}). If the differences vary too much between queries, the report states how many queries are needed instead of how many days.`,
    table(
      [
        'Equal shadows: SD of the difference',
        'SD from run to run',
        'Shadows',
        'Verdict on any day',
        'Reports with a verdict',
      ],
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
        'Worse shadows: SD of the difference',
        'SD from run to run',
        'Shadows',
        'With an estimate',
        'Median estimate, days',
        'Detected by then',
        'Detected at all',
        'Reported as better',
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
  const worldColumns = ['Queries per session', 'SD of the difference', 'Shadows'];
  return [
    '## Shadows on judged live queries',
    `In this simulation, a judge grades the results of live queries from the pipeline and from a shadow. The report on the shadow is read every day for ${lookDays} days, or ${worseDays} days for worse shadows. The difference between the two scores is zero for most queries and large for a few; half of the variance of this difference is between sessions. In *skewed* scenarios, the shadow scores much lower on a few queries and slightly higher on the others. Queries in small segments and queries with negative feedback are sampled more often, with known probabilities.`,
    `Of ${shadows} equal shadows that are compared on judged queries, ${percent(ever)} got a false verdict on at least one day; ${percent(reports)} of their daily reports contained a false verdict (${goal(reports <= MAX_CALLED)}). For shadows that are ${difference} nDCG worse, the report usually estimates how many days detection will take. In the worst scenario, ${percent(inTime)} of the shadows with an estimate were detected within the estimated time (${goal(inTime >= MIN_IN_TIME)}).`,
    table(
      ['Equal shadows: sessions a day', ...worldColumns, 'Verdict on any day', 'Reports with a verdict'],
      equal.map((cell) => [...worldOf(cell), bounded(cell.everCalled), percent(cell.reports)]),
    ),
    table(
      [
        'Worse shadows: sessions a day',
        ...worldColumns,
        'With an estimate',
        'Median estimate, days',
        'Detected by then',
        'Detected at all',
        'Reported as better',
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
