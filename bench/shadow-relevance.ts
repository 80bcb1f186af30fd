/**
 * Measures two properties of the daily reports that compare a shadow on judged live queries: how often an equal shadow
 * is reported as worse or better within 90 days, and whether a shadow whose nDCG is 0.03 lower is reported as worse by
 * the estimated day.
 *
 *     npx tsx bench/shadow-relevance.ts [--quick] [--scale N] [--out FILE]
 *
 * Sums, intervals and verdicts use the daemon's code; live queries and their grades are simulated. `--scale 4`
 * simulates four times as many shadows.
 */
import { pathToFileURL } from 'node:url';
import { DAY_MS } from '../src/core/time.ts';
import { evidenceOfPairs, type LivePair, statusOfPairs, sumPairs } from '../src/experiments/rules/live-pairs.ts';
import type { SummedDay } from '../src/experiments/rules/summed-days.ts';
import { type ShareWithBounds, shareWithBounds } from './bounds.ts';
import { type RandomNumbers, randomNumbers } from './random-numbers.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

interface RelevanceWorld {
  /** Mean number of sessions per day from which queries are sampled. */
  readonly sessions: number;
  /** Maximum number of queries per session. */
  readonly mostQueries: number;
  /** Standard deviation, over queries, of the score difference between the two result lists of a query. */
  readonly spread: number;
  /**
   * True if the scores of a few queries drop a lot, and the scores of many queries rise a little, so that the mean
   * difference is still 0.
   */
  readonly isSkewed: boolean;
}

export interface EqualRelevanceCell extends RelevanceWorld {
  readonly shadows: number;
  /** Share of shadows that were ever reported as worse or better within the 90 days. */
  readonly everCalled: ShareWithBounds;
  /** Share of daily reports that state that the shadow is worse or better. */
  readonly reports: number;
}

export interface WorseRelevanceCell extends RelevanceWorld {
  readonly shadows: number;
  /** Share of shadows for which a report estimated that the verdict would come on one of the simulated days. */
  readonly announced: ShareWithBounds;
  /** Median of the estimated days, counted from 1; null if there were no estimates. */
  readonly days: number | null;
  /**
   * Among the shadows with an estimate, the share that was reported as worse by the estimated day; null if no shadow
   * had an estimate.
   */
  readonly inTime: ShareWithBounds | null;
  /** Share of shadows that were reported as worse within the simulated days. */
  readonly called: ShareWithBounds;
  /** Share of shadows that were reported as better within the simulated days. */
  readonly calledBetter: ShareWithBounds;
}

export interface ShadowRelevanceResult {
  readonly provenance: Provenance;
  readonly difference: number;
  readonly lookDays: number;
  readonly worseDays: number;
  readonly equal: readonly EqualRelevanceCell[];
  readonly worse: readonly WorseRelevanceCell[];
}

const SEED = 20_261_125;
const DIFFERENCE = 0.03;
const LOOK_DAYS = 90;
const WORSE_DAYS = 365;
const CHANGED = 0.4;
const POOL = 50_000;

const worlds: readonly RelevanceWorld[] = [
  { sessions: 100, mostQueries: 3, spread: 0.2, isSkewed: false },
  { sessions: 100, mostQueries: 3, spread: 0.25, isSkewed: true },
  { sessions: 20, mostQueries: 12, spread: 0.2, isSkewed: false },
  { sessions: 10, mostQueries: 3, spread: 0.15, isSkewed: true },
];

/** Draws score differences of queries. Most differences are 0, because most result lists are equal. */
function drawPool({ spread, isSkewed }: RelevanceWorld, mean: number, random: RandomNumbers): Float64Array {
  const raw = Float64Array.from({ length: POOL }, () => {
    if (random.uniform() >= CHANGED) return 0;
    if (isSkewed) return random.uniform() < 0.1 ? -0.5 - random.uniform() / 2 : 0.1 * random.uniform();
    return Math.sign(random.uniform() - 0.5) * random.uniform() ** 2;
  });
  const usual = raw.reduce((sum, one) => sum + one, 0) / POOL;
  const deviation = Math.sqrt(raw.reduce((sum, one) => sum + (one - usual) ** 2, 0) / POOL);
  return raw.map((one) => (spread / deviation) * (one - usual) + mean);
}

/**
 * Simulates a day. With probability 1/2, a query has the score difference that was drawn for its session; otherwise, a
 * separate difference is drawn for the query. Small segments and suspect queries are sampled more often.
 */
function playDay(world: RelevanceWorld, pool: Float64Array, day: number, random: RandomNumbers): SummedDay {
  const pairs: LivePair[] = [];
  const drawn = (): number => pool[random.below(POOL)] ?? 0;
  for (let left = random.poisson(world.sessions); left > 0; left--) {
    const cluster = random.uniform();
    const ofSegment = random.uniform() < 0.2 ? 0.03 : 0.01;
    const shared = drawn();
    for (let query = random.below(world.mostQueries); query >= 0; query--) {
      const probability = ofSegment * (random.uniform() < 0.2 ? 2 : 1);
      const difference = random.uniform() < 0.5 ? shared : drawn();
      pairs.push({ cluster, probability, baseline: 0.5, candidate: 0.5 + difference });
    }
  }
  return sumPairs(new Date(day * DAY_MS).toISOString().slice(0, 10), pairs, 0);
}

const dayNumber = (day: string | null): number | null => (day === null ? null : Date.parse(day) / DAY_MS);

interface Played {
  readonly verdict: string;
  /** Day on which a verdict was reported, counted from 1; null if no verdict was reported. */
  readonly calledOn: number | null;
  /** Day by which the first estimate expected a verdict; null without an estimate, or if that day is not simulated. */
  readonly announced: number | null;
}

function play(world: RelevanceWorld, pool: Float64Array, most: number, random: RandomNumbers): Played {
  const days: SummedDay[] = [];
  let announced: number | null = null;
  let isKnown = false;
  for (let day = 1; day <= most; day++) {
    days.push(playDay(world, pool, day, random));
    if (isKnown) continue;
    // The first estimate counts even if the shadow is reported as worse on the same day.
    const evidence = evidenceOfPairs(days, DIFFERENCE, 1);
    if (evidence.state === 'unknown') continue;
    isKnown = true;
    if (evidence.state === 'enough') announced = day;
    if (evidence.state === 'days' && day + evidence.days <= most) announced = day + evidence.days;
  }
  const { verdict, calledOn } = statusOfPairs(days, DIFFERENCE, 1);
  return { verdict, calledOn: dayNumber(calledOn), announced };
}

const inWords = ({ sessions, spread }: RelevanceWorld): string => `${sessions} sessions a day, spread ${spread}`;

const isWorseBy = ({ verdict, calledOn }: Played, day: number): boolean =>
  verdict === 'regression' && calledOn !== null && calledOn <= day;

export function measureShadowRelevance(
  quick: boolean,
  scale: number,
  say: (line: string) => void,
): ShadowRelevanceResult {
  const startedAt = performance.now();
  const random = randomNumbers(SEED);
  const equal = worlds.map((world): EqualRelevanceCell => {
    const shadows = quick ? 1 : Math.round(500 * scale);
    const pool = drawPool(world, 0, random);
    const days = Array.from({ length: shadows }, () => play(world, pool, LOOK_DAYS, random).calledOn);
    const called = days.flatMap((day) => day ?? []);
    say(`equal, ${inWords(world)}: ${called.length} of ${shadows} called`);
    return {
      ...world,
      shadows,
      everCalled: shareWithBounds(called.length, shadows),
      reports: called.reduce((sum, day) => sum + LOOK_DAYS - day + 1, 0) / (shadows * LOOK_DAYS),
    };
  });
  const worse = worlds.map((world): WorseRelevanceCell => {
    const shadows = quick ? 1 : Math.round(200 * scale);
    const pool = drawPool(world, -DIFFERENCE, random);
    const played = Array.from({ length: shadows }, () => play(world, pool, quick ? 60 : WORSE_DAYS, random));
    const announced = played.filter((one) => one.announced !== null);
    const days = announced.map((one) => one.announced ?? 0).toSorted((a, b) => a - b);
    const inTime = announced.filter((one) => isWorseBy(one, one.announced ?? 0)).length;
    say(`worse, ${inWords(world)}: ${announced.length} of ${shadows} announced, ${inTime} in time`);
    return {
      ...world,
      shadows,
      announced: shareWithBounds(announced.length, shadows),
      days: days[Math.floor(days.length / 2)] ?? null,
      inTime: announced.length === 0 ? null : shareWithBounds(inTime, announced.length),
      called: shareWithBounds(played.filter((one) => isWorseBy(one, WORSE_DAYS)).length, shadows),
      calledBetter: shareWithBounds(played.filter(({ verdict }) => verdict === 'improvement').length, shadows),
    };
  });
  return {
    provenance: provenance(commandOf('shadow-relevance', scale), SEED, startedAt),
    difference: DIFFERENCE,
    lookDays: LOOK_DAYS,
    worseDays: WORSE_DAYS,
    equal,
    worse,
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, scale, out } = readArguments(process.argv.slice(2), 'shadow-relevance');
  const result = measureShadowRelevance(quick, scale, (line) => console.log(line));
  if (out !== null) writeResult(out, result);
}
