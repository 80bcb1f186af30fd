/**
 * Measures how often the intervals of the index checks contain the true value, and how soon a wrong store causes a
 * page.
 *
 *     npx tsx bench/index-coverage.ts [--quick] [--scale N] [--out FILE]
 *
 * Probes, verdicts, intervals and alerts use the daemon's code; stores, embedders and arrivals are simulated. `--scale
 * 4` simulates four times as many days.
 */
import { pathToFileURL } from 'node:url';
import { isLate, isWrong } from '../src/index/truth/rules/findings.ts';
import {
  type Arrival,
  estimateLag,
  estimateShare,
  type Tally,
  twoStageSample,
} from '../src/index/truth/rules/probe-estimates.ts';
import { type ShareWithBounds, shareWithBounds } from './bounds.ts';
import { type ArrivalWorld, followedDay, lagWorlds, stream } from './index-truth/arrivals.ts';
import { type Item, type StoreWorld, storeWorlds } from './index-truth/stores.ts';
import { type RandomNumbers, randomNumbers } from './random-numbers.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

/** Stores in which a share of the documents is wrong in one way. */
export interface BrokenCell extends Pick<StoreWorld, 'measure' | 'scope' | 'probe'> {
  readonly share: number;
  /** Number of simulated days, each with 24 rounds. */
  readonly days: number;
  /**
   * Share of intervals that contained the true share. An interval is computed from the first round, or from the whole
   * day if the probes of a day are combined.
   */
  readonly held: ShareWithBounds;
  /** Share of days with a page in the first round; null if no page depends on the measure. */
  readonly firstRound: ShareWithBounds | null;
  readonly inDay: ShareWithBounds | null;
}

export interface LagCell {
  readonly world: string;
  /** Level of the estimated quantile of the index lag, such as 0.5 for the median. */
  readonly quantile: number;
  readonly days: number;
  readonly held: ShareWithBounds;
  /** Share of days on which the interval had no upper bound. */
  readonly noUpper: number;
}

export interface LagStreams {
  /** Maximum number of seconds that a change may take to arrive. */
  readonly allowed: number;
  /** 95th percentile of the number of seconds that a change takes to arrive in a healthy stream. */
  readonly usual: number;
  readonly changesPerDay: number;
  readonly quietDays: number;
  /** Number of quiet days with a page. */
  readonly quietPages: number;
  readonly stopped: number;
  /** Hours from the time when changes stop arriving until the page; the median over the streams. */
  readonly medianHours: number | null;
  /** Hours from the time when changes stop arriving until the page; the 95th percentile over the streams. */
  readonly mostHours: number | null;
}

export interface IndexCoverageResult {
  readonly provenance: Provenance;
  readonly documents: number;
  readonly broken: readonly BrokenCell[];
  readonly lags: readonly LagCell[];
  readonly streams: readonly LagStreams[];
}

const SEED = 20_261_126;
const DAYS = 1000;
const DOCUMENTS = 10_000;
/** Number of days for which the same store is probed. */
const DAYS_OF_STORE = 100;
const SHARES = [0, 0.001, 0.005, 0.02, 0.1] as const;
const ROUNDS = 24;

/**
 * Simulates one day. Returns whether the interval contained the value, and the round of the first page (null if there
 * was none).
 */
async function playDay(world: StoreWorld, items: readonly Item[], share: number, random: RandomNumbers) {
  const order = items.map((_, place) => place);
  const draw = (n: number): Tally => {
    let found = 0;
    const drawn = Math.min(n, order.length);
    for (let place = 0; place < drawn; place++) {
      const other = place + random.below(order.length - place);
      [order[place], order[other]] = [order[other] as number, order[place] as number];
      if (items[order[place] as number]?.isFound === true) found++;
    }
    return { n: drawn, found };
  };
  const truth = items.filter((item) => item.isWrong).length / items.length;
  const isHeld = (tally: Tally): boolean => {
    const bounds = estimateShare(tally, false);
    return bounds !== null && bounds.ciLow <= truth && truth <= bounds.ciHigh;
  };
  const sum = { n: 0, found: 0 };
  const add = (tally: Tally): Tally => {
    sum.n += tally.n;
    sum.found += tally.found;
    return tally;
  };
  let [held, paged]: [boolean | null, number | null] = [null, null];
  for (let round = 0; round < ROUNDS; round++) {
    const run = async (n: number) => ({ tally: world.isOfDay ? add(draw(n)) : draw(n) });
    const alone = world.looksTwice ? await twoStageSample(world.probe, run) : await run(world.probe);
    const tally = world.isOfDay ? sum : alone.tally;
    if (!world.isOfDay) held ??= isHeld(tally);
    const bounds = estimateShare(tally, false);
    if (paged === null && bounds !== null && isWrong(bounds)) paged = round;
    if (!world.isOfDay && (paged !== null || share === 0)) break;
  }
  return { held: held ?? isHeld(sum), paged };
}

async function breakStores(
  world: StoreWorld,
  share: number,
  { days, documents }: { readonly days: number; readonly documents: number },
  random: RandomNumbers,
): Promise<BrokenCell> {
  let [held, first, ever] = [0, 0, 0];
  let items: readonly Item[] = [];
  for (let day = 0; day < days; day++) {
    if (day % DAYS_OF_STORE === 0) items = world.fill(documents, share, random);
    const { held: isHeld, paged } = await playDay(world, items, share, random);
    if (isHeld) held++;
    if (paged === 0) first++;
    if (paged !== null) ever++;
  }
  const { measure, scope, probe, pages } = world;
  return {
    measure,
    scope,
    probe,
    share,
    days,
    held: shareWithBounds(held, days),
    firstRound: pages ? shareWithBounds(first, days) : null,
    inDay: pages ? shareWithBounds(ever, days) : null,
  };
}

function checkArrivals(world: ArrivalWorld, quantile: number, days: number, random: RandomNumbers): LagCell {
  let [held, open] = [0, 0];
  for (let day = 0; day < days; day++) {
    const { arrivals, truth } = followedDay(world, quantile, random);
    const { value, bounds } = estimateLag(arrivals, quantile);
    if (bounds === null) open++;
    if ((bounds?.low ?? value) <= truth && truth <= (bounds?.high ?? Number.POSITIVE_INFINITY)) held++;
  }
  return { world: world.world, quantile, days, held: shareWithBounds(held, days), noUpper: open / days };
}

const QUANTILE = 0.95;
const HOUR = 3600;
const MIN_ARRIVALS = 20;

/** Evaluates the lag every hour, over the changes of the last day, as the daemon does. */
function watchStreams(usual: number, changesPerDay: number, streams: number, random: RandomNumbers): LagStreams {
  const allowed = HOUR;
  const pages = (arrivals: readonly Arrival[]): boolean => {
    if (arrivals.length < MIN_ARRIVALS) return false;
    const { value, bounds } = estimateLag(arrivals, QUANTILE);
    // Changes that have not arrived yet are evaluated separately.
    return isLate({
      seconds: value,
      atLeast: bounds?.low ?? value,
      allowed,
      n: arrivals.length,
      waiting: 1,
      overdue: 1,
    });
  };
  const quietDays = streams * 10;
  const quiet = stream({ days: quietDays + 1, changesPerDay, usual, stopsAt: null }, random);
  let quietPages = 0;
  for (let day = 1; day <= quietDays; day++) {
    const hours = Array.from({ length: ROUNDS }, (_, hour) => (24 * day + hour) * HOUR);
    if (hours.some((now) => pages(quiet(now)))) quietPages++;
  }
  const delays: number[] = [];
  for (let one = 0; one < streams; one++) {
    const stopsAt = 24 * HOUR * (1 + random.uniform());
    const stopped = stream({ days: 4, changesPerDay, usual, stopsAt }, random);
    for (let now = HOUR * Math.ceil(stopsAt / HOUR); now < 96 * HOUR; now += HOUR) {
      if (!pages(stopped(now))) continue;
      delays.push((now - stopsAt) / HOUR);
      break;
    }
  }
  const sorted = delays.toSorted((a, b) => a - b);
  const at = (share: number): number | null => sorted[Math.ceil(share * streams) - 1] ?? null;
  return {
    allowed,
    usual,
    changesPerDay,
    quietDays,
    quietPages,
    stopped: streams,
    medianHours: at(0.5),
    mostHours: at(0.95),
  };
}

export async function measureIndexCoverage(
  quick: boolean,
  scale: number,
  say: (line: string) => void,
): Promise<IndexCoverageResult> {
  const startedAt = performance.now();
  const random = randomNumbers(SEED);
  const days = quick ? 4 : DAYS * scale;
  const documents = quick ? 1000 : DOCUMENTS;
  const broken: BrokenCell[] = [];
  for (const world of storeWorlds)
    for (const share of SHARES) {
      const cell = await breakStores(world, share, { days: Math.ceil(days * world.daysOfAll), documents }, random);
      say(`${cell.measure} (${cell.scope}), ${share}: ${cell.held.share}, paged in ${cell.inDay?.share ?? '-'}`);
      broken.push(cell);
    }
  const lags = lagWorlds.flatMap((world) =>
    [QUANTILE, 0.5].map((quantile) => {
      const cell = checkArrivals(world, quantile, days, random);
      say(`lag (${quantile}), ${world.world}: ${cell.held.share}`);
      return cell;
    }),
  );
  const streams = [
    { usual: HOUR / 4, changesPerDay: 200 },
    { usual: 0.8 * HOUR, changesPerDay: 200 },
    { usual: 0.8 * HOUR, changesPerDay: 30 },
  ].map(({ usual, changesPerDay }) => {
    const watched = watchStreams(usual, changesPerDay, quick ? 1 : 50 * scale, random);
    say(`streams of ${changesPerDay} a day: ${watched.quietPages} pages in ${watched.quietDays} days`);
    return watched;
  });
  return {
    provenance: provenance(commandOf('index-coverage', scale), SEED, startedAt),
    documents,
    broken,
    lags,
    streams,
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, scale, out } = readArguments(process.argv.slice(2), 'index-coverage');
  const result = await measureIndexCoverage(quick, scale, console.log);
  if (out !== null) writeResult(out, result);
}
