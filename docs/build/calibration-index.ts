/** Results of simulated index rounds, as part of docs/explanation/calibration/index-truth.md. */
import { MIN_COVERAGE } from '../../bench/bound-coverage.ts';
import type { ShareWithBounds } from '../../bench/bounds.ts';
import type { BrokenCell, IndexCoverageResult, LagStreams } from '../../bench/index-coverage.ts';
import type { IndexStoresResult, StoreCell } from '../../bench/index-stores.ts';
import { goal } from './calibration-text.ts';
import { code, table } from './page.ts';

const HOUR_SECONDS = 3600;
/**
 * The share of wrong documents at which recalld must page, and the minimum share of such stores that must cause a page
 * in the first round.
 */
const PAGED_SHARE = 0.02;
const MIN_PAGED = 0.95;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const bounded = ({ share, low, high }: ShareWithBounds): string =>
  `${percent(share)} (${percent(low)} to ${percent(high)})`;
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
    '## Simulated stores',
    `Each simulated store has ${documents} documents (or chunks), some of which are wrong. recalld probes the store in 24 rounds a day, without listing its ids. The goals are that the intervals contain the truth on at least ${percent(MIN_COVERAGE)} of days, that a store with ${percent(PAGED_SHARE)} wrong documents causes a page in the first round if recalld probes 200 documents a round, and that a correct store never causes a page. In the worst scenario, intervals contain the truth on ${percent(least)} of days (${goal(least >= MIN_COVERAGE)}), and ${percent(first)} of the stores with ${percent(PAGED_SHARE)} wrong documents caused a page in the first round (${goal(first >= MIN_PAGED)}). Correct stores caused a page on ${quietPages} of ${quietDays} days (${goal(quietPages === 0)}).`,
    table(
      [
        'Measure',
        'Sample',
        'Wrong',
        'Days',
        'Intervals contain the truth',
        'Page in the first round',
        'Page within the day',
      ],
      wrong.map((cell) => [
        code(cell.measure),
        cell.scope,
        percent(cell.share),
        `${cell.days}`,
        bounded(cell.held),
        cell.firstRound === null ? '-' : percent(cell.firstRound.share),
        cell.inDay === null ? '-' : percent(cell.inDay.share),
      ]),
    ),
    'To measure the index lag, recalld checks every 15 minutes which changes of the last day have arrived in the store. The time until a simulated change arrives is log-normal, with a median of one hour and a 95th percentile of five hours unless stated otherwise. With too few changes, the interval of the lag has no upper bound.',
    table(
      ['Index lag', 'Quantile', 'Days', 'Intervals contain the truth', 'Days without an upper bound'],
      lags.map(({ world, quantile, days, held, noUpper }) => [
        world,
        `${quantile}`,
        `${days}`,
        bounded(held),
        percent(noUpper),
      ]),
    ),
    `On ${sum(({ quietDays: days }) => days)} simulated days, all changes arrived in time; recalld paged on ${sum((stream) => stream.quietPages)} of these days. The table shows how soon recalld pages when changes stop arriving, if \`late_after\` is ${hours(streams[0]?.allowed === undefined ? null : streams[0].allowed / HOUR_SECONDS)}:`,
    table(
      [
        'Changes a day',
        'Usual p95',
        'Days on which all changes arrived in time',
        'False pages',
        'Streams that stop',
        'Median time to the page',
        '95th percentile',
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

/** Results of rounds over real stores. */
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
    '## Real stores',
    `A similar simulation ran on real stores (${names.map((name) => name.replace(', ', ' ')).join(', ')}) with ${documents} documents each. In each round, recalld probes ${probe} documents without listing ids; the wrong documents change every few rounds. All four kinds of faults occur at the same time, each at its own rate. If the intervals of a scenario contained the truth in less than 93 % of the rounds, the benchmark discarded these rounds and simulated the scenario again with ten times as many. The table has no \`index_superseded_ratio\` for Redis, because a Redis vector set cannot store two versions of a document. The index lag is measured over ${changesPerDay} new documents a day. Some new documents never arrive; the others take one hour (median) or five hours (95th percentile). Documents that have not arrived count as *missing* after \`late_after\`.`,
    `In the worst scenario on real stores, intervals contain the truth in ${percent(least)} of the rounds (${goal(least >= MIN_COVERAGE)}), and ${percent(first)} of the stores with ${percent(PAGED_SHARE)} wrong documents caused a page in the first round (${goal(first >= MIN_PAGED)}). Correct stores caused a page in ${quietPages} of ${sum(({ draws }) => draws, quiet)} rounds or days (${goal(quietPages === 0)}). Of ${sum(({ named }) => named)} documents that recalld reported as wrong, ${sum(({ wronglyNamed }) => wronglyNamed)} were correct.`,
    table(
      ['Store', 'Measure', 'Wrong', 'Rounds', 'Intervals contain the truth', 'Page in the first round'],
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

const wayOf = ({ measure, scope }: BrokenCell): string => `${measure} ${scope}`;
const cellAt = (cells: readonly BrokenCell[], share: number): readonly BrokenCell[] =>
  cells.filter((cell) => cell.share === share);
