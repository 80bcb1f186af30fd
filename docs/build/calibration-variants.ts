/** Results of simulated variant reports, as part of docs/explanation/calibration/experiments.md. */
import type { ShareWithBounds } from '../../bench/bounds.ts';
import type { VariantResult } from '../../bench/variant-reports.ts';
import { goal } from './calibration-text.ts';
import { table } from './page.ts';

/** Goal: maximum share of streams with a verdict although the arms are equal. */
const MAX_CALLED = 0.01;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const bounded = ({ share, low, high }: ShareWithBounds): string =>
  `${percent(share)} (${percent(low)} to ${percent(high)})`;

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
  const titles = ['Sampled sessions a day', 'Sampling rate', 'Queries with a click', 'Positive feedback'];
  return [
    '## Variants',
    `In each simulated stream, two variants (arms) have equal shares of the traffic. Sessions have one to six queries and are sampled at random or because of negative feedback. The report on feedback, clicks and grades is read every day for ${lookDays} days. The goals are that at most ${percent(MAX_CALLED)} of the streams with equal arms ever get a verdict, and that at most ${percent(MAX_CALLED)} of the correct traffic splits are rejected. Of ${streams} streams with equal arms, ${percent(ever)} got a verdict on at least one day (${goal(ever <= MAX_CALLED)}), ${percent(reports)} of the reports contained a verdict, and ${percent(splits)} of the correct splits were rejected (${goal(splits <= MAX_CALLED)}).`,
    table(
      [...titles, 'Streams', 'Verdict on any day', 'Reports with a verdict', 'Split rejected'],
      equal.map((cell) => [
        ...world(cell),
        `${cell.streams}`,
        bounded(cell.everCalled),
        percent(cell.reports),
        bounded(cell.splitCalled),
      ]),
    ),
    `In the next table, one arm is worse than the other: its shares of positive feedback and of clicked queries are lower by ${difference}, and its nDCG is lower by about half as much:`,
    table(
      [...titles, 'Streams', 'Regression reported', 'Median days', 'Improvement reported'],
      worse.map((cell) => [
        ...world(cell),
        `${cell.streams}`,
        bounded(cell.called),
        `${cell.days ?? '-'}`,
        bounded(cell.calledBetter),
      ]),
    ),
    `In the next table, one arm loses ${percent(lost)} of its sessions, so the traffic split is wrong:`,
    table(
      [...titles, 'Streams', 'Split rejected', 'Median days'],
      split.map((cell) => [...world(cell), `${cell.streams}`, bounded(cell.called), `${cell.days ?? '-'}`]),
    ),
  ];
}
