/** What the simulation of reports on variants came to, as a part of docs/explanation/calibration.md. */
import type { ShareWithBounds } from '../../bench/bounds.ts';
import type { VariantResult } from '../../bench/variant-reports.ts';
import { table } from './page.ts';

/** Of the streams in which nothing differs. */
const MAX_CALLED = 0.01;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const bounded = ({ share, low, high }: ShareWithBounds): string =>
  `${percent(share)} (${percent(low)} to ${percent(high)})`;
const kept = (share: number): string => `*${share <= MAX_CALLED ? 'kept' : 'missed'}*`;

export function variantParagraphs({ lookDays, equal, worse, split }: VariantResult): string[] {
  const streams = equal.reduce((sum, cell) => sum + cell.streams, 0);
  const meanOf = (of: (cell: VariantResult['equal'][number]) => number): number =>
    equal.reduce((sum, cell) => sum + of(cell) * cell.streams, 0) / streams;
  const ever = meanOf(({ everCalled }) => everCalled.share);
  const reports = meanOf((cell) => cell.reports);
  const splits = meanOf(({ splitCalled }) => splitCalled.share);
  const [{ difference = 0 } = {}, { lost = 0 } = {}] = [worse[0], split[0]];
  const world = (
    cell: VariantResult['equal'][number] | VariantResult['worse'][number] | VariantResult['split'][number],
  ) => [`${cell.sessions}`, percent(cell.rate), percent(cell.clicks), percent(cell.positive)];
  const titles = ['Kept sessions a day', 'Sampling rate', 'Queries with a click', 'Positive feedback'];
  return [
    '## Variants',
    `Two arms of equal shares, sessions of one to six queries whose users like all of it or nothing of it, kept by their draw or because somebody said that an answer was bad; a report is read after each of ${lookDays} days, over feedback, clicks and grades. Asked for: arms that are alike are called worse or better in at most ${percent(MAX_CALLED)} of the streams, and a split that is as declared is called off in as few. Of ${streams} streams ${percent(ever)} were ever called (${kept(ever)}), in ${percent(reports)} of the reports, and the split of ${percent(splits)} (${kept(splits)}).`,
    table(
      [...titles, 'Streams', 'Ever called', 'Of all reports', 'Split called off'],
      equal.map((cell) => [
        ...world(cell),
        `${cell.streams}`,
        bounded(cell.everCalled),
        percent(cell.reports),
        bounded(cell.splitCalled),
      ]),
    ),
    `One arm loses ${difference} of positive feedback and of clicks, and half of that times the mood of the user in nDCG:`,
    table(
      [...titles, 'Streams', 'Called worse', 'Median of days', 'Called better'],
      worse.map((cell) => [
        ...world(cell),
        `${cell.streams}`,
        bounded(cell.called),
        `${cell.days ?? '-'}`,
        bounded(cell.calledBetter),
      ]),
    ),
    `${percent(lost)} of the sessions of one arm never come:`,
    table(
      [...titles, 'Streams', 'Split called off', 'Median of days'],
      split.map((cell) => [...world(cell), `${cell.streams}`, bounded(cell.called), `${cell.days ?? '-'}`]),
    ),
  ];
}
