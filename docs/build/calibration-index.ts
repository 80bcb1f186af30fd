/** What the simulation of looks into an index came to, as a part of docs/explanation/calibration.md. */
import { MIN_COVERAGE } from '../../bench/bound-coverage.ts';
import type { ShareWithBounds } from '../../bench/bounds.ts';
import type { BrokenCell, IndexCoverageResult, LagStreams } from '../../bench/index-coverage.ts';
import type { IndexStoresResult, StoreCell } from '../../bench/index-stores.ts';
import { code, table } from './page.ts';

const HOUR_SECONDS = 3600;
/** At which a store that is wrong is to page, and how often in the first round. */
const PAGED_SHARE = 0.02;
const MIN_PAGED = 0.95;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const bounded = ({ share, low, high }: ShareWithBounds): string =>
  `${percent(share)} (${percent(low)} to ${percent(high)})`;
const kept = (isKept: boolean): string => `*${isKept ? 'kept' : 'missed'}*`;
const hours = (value: number | null): string => (value === null ? 'never' : `${value.toFixed(1)} h`);

export function indexParagraphs({ documents, broken, lags, streams }: IndexCoverageResult): string[] {
  const ways = [...new Set(broken.map(wayOf))].map((way) => broken.filter((cell) => wayOf(cell) === way));
  const wrong = broken.filter(({ share }) => share > 0);
  const least = Math.min(...[...wrong, ...lags].map(({ held }) => held.share));
  const probed = ways.filter(([cell]) => cell?.probe === 200).flatMap((way) => cellAt(way, PAGED_SHARE));
  const first = Math.min(...probed.flatMap(({ firstRound }) => firstRound?.share ?? []));
  const quiet = broken
    .filter(({ share }) => share === 0)
    .flatMap(({ inDay, days }) => (inDay === null ? [] : { days, share: inDay.share }));
  const sum = (of: (stream: LagStreams) => number): number => streams.reduce((all, stream) => all + of(stream), 0);
  const quietDays = quiet.reduce((sum, { days }) => sum + days, 0);
  const quietPages = quiet.reduce((sum, { days, share }) => sum + days * share, 0);
  return [
    '## Index truth',
    `Stores of ${documents} documents, or chunks where chunks are drawn, of which a share is wrong in one way; a day has 24 rounds, and the store does not list its ids. Asked for: bounds hold the truth in at least ${percent(MIN_COVERAGE)} of the days, one of which ${percent(PAGED_SHARE)} is wrong pages in the first round by a probe of 200, and one with nothing wrong never does. They hold it in ${percent(least)} in the worst cell (${kept(least >= MIN_COVERAGE)}); in the worst ${percent(first)} paged in the first round (${kept(first >= MIN_PAGED)}), and of ${quietDays} days of stores with nothing wrong ${quietPages} (${kept(quietPages === 0)}).`,
    table(
      [
        'Measure',
        'Looked at',
        'Wrong',
        'Days',
        'Bounds hold the truth in',
        'Page in the first round',
        'Page within the day',
      ],
      wrong.map((cell) => [
        code(cell.measure),
        cell.told,
        percent(cell.share),
        `${cell.days}`,
        bounded(cell.held),
        cell.firstRound === null ? '-' : percent(cell.firstRound.share),
        cell.inDay === null ? '-' : percent(cell.inDay.share),
      ]),
    ),
    'Changes of a day are looked for every quarter of an hour; each takes a log-normal time, with a median of an hour and a 95th percentile of five where nothing else is said. Where too few changed, or came, for an upper bound there is only a lower one.',
    table(
      ['Index lag', 'Quantile', 'Days', 'Bounds hold the truth in', 'Days without an upper bound'],
      lags.map(({ world, quantile, days, held, noUpper }) => [
        world,
        `${quantile}`,
        `${days}`,
        bounded(held),
        percent(noUpper),
      ]),
    ),
    `Of ${sum(({ quietDays: days }) => days)} days in which changes arrived in time ${sum((stream) => stream.quietPages)} paged, by hourly looks. How soon it pages when nothing arrives any more, where ${hours(streams[0]?.allowed === undefined ? null : streams[0].allowed / HOUR_SECONDS)} are allowed:`,
    table(
      [
        'Changes a day',
        'p95 as it should be',
        'Quiet days',
        'of which paged',
        'Stopped',
        'Paged after, median',
        'in 19 of 20',
      ],
      streams.map((cell) => [
        `${cell.changesPerDay}`,
        `${Math.round(cell.usual / 60)} min`,
        `${cell.quietDays}`,
        `${cell.quietPages}`,
        `${cell.stopped}`,
        hours(cell.medianHours),
        hours(cell.mostHours),
      ]),
    ),
  ];
}

/** What rounds over stores as they are came to. */
export function storeParagraphs({ documents, probe, changesPerDay, cells }: IndexStoresResult): string[] {
  const wrong = cells.filter(({ share }) => share > 0);
  const least = Math.min(...wrong.map(({ held }) => held.share));
  const first = Math.min(...cells.flatMap(({ share, paged }) => (share === PAGED_SHARE ? (paged?.share ?? []) : [])));
  const quiet = cells.filter(({ share }) => share === 0);
  const sum = (of: (cell: StoreCell) => number, among: readonly StoreCell[] = cells): number =>
    among.reduce((all, cell) => all + of(cell), 0);
  const quietPages = sum(({ paged, draws }) => Math.round((paged?.share ?? 0) * draws), quiet);
  const names = [...new Set(cells.map(({ store }) => store))];
  return [
    '### On real stores',
    `The same on stores as they are, ${names.join(', ')}, of ${documents} documents of which other ones are wrong every few draws. A draw is one round of the daemon, with a probe of ${probe}, that may not list the ids of the store. All four ways are broken at once, each in a share of its own. Where bounds held in less than 93 % at first, that store was drawn anew at that share, and its first draws are left out. In a vector set a document is one element, so that no two versions can be live. The lag is that of ${changesPerDay} new documents a day, looked for every hour, of which a share never comes; the others take an hour in the middle, and five at the 95th percentile. What never comes is *missing* after \`late_after\`, and pages as that; of stores with nothing wrong documents arrive within 15 minutes.`,
    `Bounds hold the truth in ${percent(least)} of the draws in the worst cell (${kept(least >= MIN_COVERAGE)}); of stores of which ${percent(PAGED_SHARE)} is wrong ${percent(first)} paged in the first round in the worst cell (${kept(first >= MIN_PAGED)}), and of ${sum(({ draws }) => draws, quiet)} rounds or days over stores with nothing wrong ${quietPages} (${kept(quietPages === 0)}). Of ${sum(({ named }) => named)} documents that were named, nothing was wrong with ${sum(({ wronglyNamed }) => wronglyNamed)}.`,
    table(
      ['Store', 'Measure', 'Wrong', 'Draws', 'Bounds hold the truth in', 'Page in the first round'],
      cells.map((cell) => [
        cell.store,
        code(cell.measure),
        percent(cell.share),
        `${cell.draws}${isLag(cell) ? ' days' : ''}`,
        bounded(cell.held),
        cell.paged === null ? '-' : percent(cell.paged.share),
      ]),
    ),
  ];
}

const isLag = ({ measure }: StoreCell): boolean => measure === 'index_lag_seconds';

const wayOf = ({ measure, told }: BrokenCell): string => `${measure} ${told}`;
const cellAt = (cells: readonly BrokenCell[], share: number): readonly BrokenCell[] =>
  cells.filter((cell) => cell.share === share);
