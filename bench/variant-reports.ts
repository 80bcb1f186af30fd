/**
 * Measures how often equal variants are reported as worse or better within 90 days, and how often a correct traffic
 * split is reported as wrong. Also measures how soon a worse variant or a wrong split is reported.
 *
 *     npx tsx bench/variant-reports.ts [--quick] [--scale N] [--out FILE]
 *
 * The sums, intervals and verdicts use the daemon's code; sessions are simulated. `--scale 4` simulates four times as
 * many streams.
 */
import { pathToFileURL } from 'node:url';
import {
  type ArmsDesign,
  compareArms,
  type GradedQuery,
  sumArms,
  type UsedQuery,
} from '../src/experiments/rules/arms.ts';
import type { SummedDay } from '../src/experiments/rules/summed-days.ts';
import { type ShareWithBounds, shareWithBounds } from './bounds.ts';
import { type RandomNumbers, randomNumbers } from './random-numbers.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

interface VariantWorld {
  /** Mean number of sampled sessions per day, in both arms together. */
  readonly sessions: number;
  /** Sampling rate; queries with negative feedback are always stored. */
  readonly rate: number;
  /** Share of queries with a click. */
  readonly clicks: number;
  /** Share of ratings that are positive. */
  readonly positive: number;
}

export interface NullCell extends VariantWorld {
  readonly streams: number;
  /** Share of streams in which any measure reported a variant as worse or better at least once within the 90 days. */
  readonly everCalled: ShareWithBounds;
  /** Share of daily reports that state that a variant is worse or better. */
  readonly reports: number;
  readonly splitCalled: ShareWithBounds;
}

export interface WorseCell extends VariantWorld {
  readonly streams: number;
  /**
   * Amount by which each of two shares is lower in the worse variant: the share of positive feedback, and the share of
   * queries with a click.
   */
  readonly difference: number;
  readonly called: ShareWithBounds;
  readonly calledBetter: ShareWithBounds;
  /**
   * Median number of days until the variant was reported as worse, over the streams with such a report; null if there
   * were none.
   */
  readonly days: number | null;
}

export interface SplitCell extends VariantWorld {
  readonly streams: number;
  /** Share of one arm's sessions that never arrived. */
  readonly lost: number;
  readonly called: ShareWithBounds;
  readonly days: number | null;
}

export interface VariantResult {
  readonly provenance: Provenance;
  readonly lookDays: number;
  readonly equal: readonly NullCell[];
  readonly worse: readonly WorseCell[];
  readonly split: readonly SplitCell[];
}

const SEED = 20_261_124;
const DAYS = 90;
/** Share of queries that are rated. */
const RATED_SHARE = 0.15;
/** Share of sampled sessions that are graded. */
const GRADED = 0.1;
/** Maximum number of queries per session. */
const MAX_QUERIES = 6;

const design: ArmsDesign = {
  arms: [
    { name: 'current', share: 1 },
    { name: 'next', share: 1 },
  ],
  measures: ['positive_feedback', 'clicked_queries', 'ndcg'],
  difference: 0.02,
};

const worlds: readonly VariantWorld[] = [
  { sessions: 100, rate: 1, clicks: 0.3, positive: 0.8 },
  { sessions: 200, rate: 0.1, clicks: 0.3, positive: 0.8 },
  { sessions: 200, rate: 0.1, clicks: 0.02, positive: 0.97 },
  { sessions: 60, rate: 0.01, clicks: 0.5, positive: 0.6 },
];

/** Effects of an arm on its users. */
interface Arm {
  readonly name: string;
  /** Amount subtracted from the scenario's probabilities of a click and of positive feedback. */
  readonly loss: number;
  /** Share of the arm's sessions that never arrive. */
  readonly lost: number;
}

/**
 * Simulates one day. Sessions differ: some users like nothing, some click on everything, and the queries of a session
 * are correlated.
 */
function playDay(
  { sessions, rate, clicks, positive }: VariantWorld,
  arms: readonly Arm[],
  random: RandomNumbers,
): SummedDay {
  const queries: UsedQuery[] = [];
  const grades: GradedQuery[] = [];
  const all = random.poisson(sessions / rate);
  for (let i = 0; i < all; i++) {
    const cluster = random.uniform();
    const { name: arm, loss, lost } = arms[random.below(arms.length)] as Arm;
    if (random.uniform() < lost) continue;
    const mood = 2 * random.uniform();
    const size = 1 + random.below(MAX_QUERIES);
    const isGraded = cluster < GRADED * rate;
    // A query that is not sampled is stored only if it has negative feedback.
    for (let query = 0; query < size; query++) {
      const replacesLast = random.uniform() < RATED_SHARE;
      const isGood = random.uniform() < 1 - Math.min(1, (1 - positive + loss) * mood);
      const isBad = replacesLast && !isGood;
      if (cluster >= rate && !isBad) continue;
      queries.push({
        cluster,
        arm,
        probability: isBad ? 1 : rate,
        leastProbability: rate,
        isClicked: random.uniform() < Math.min(1, (clicks - loss) * mood),
        positive: replacesLast && isGood ? 1 : 0,
        negative: isBad ? 1 : 0,
      });
      if (isGraded)
        grades.push({
          cluster,
          arm,
          probability: GRADED * rate,
          score: Math.min(1, (0.5 - loss / 2) * mood + random.uniform() / 4),
        });
    }
  }
  return sumArms(
    '',
    arms.map(({ name }) => name),
    queries,
    grades,
  );
}

/** @returns the comparison after the last day; it still reports a difference that an earlier day reported */
function play(world: VariantWorld, arms: readonly Arm[], days: number, random: RandomNumbers) {
  const played = Array.from({ length: days }, (_, day) => ({
    ...playDay(world, arms, random),
    day: String(day + 1).padStart(3, '0'),
  }));
  return compareArms(played, design);
}

const equalArms: readonly Arm[] = [
  { name: 'current', loss: 0, lost: 0 },
  { name: 'next', loss: 0, lost: 0 },
];

const medianOf = (days: readonly number[]): number | null =>
  days.toSorted((a, b) => a - b)[Math.floor(days.length / 2)] ?? null;

const inWords = ({ sessions, rate, clicks }: VariantWorld): string =>
  `${sessions} sessions a day at rate ${rate}, clicks ${clicks}`;

export function measureVariants(quick: boolean, scale: number, say: (line: string) => void): VariantResult {
  const startedAt = performance.now();
  const random = randomNumbers(SEED);
  const streamsOf = (full: number): number => (quick ? 1 : Math.round(full * scale));
  const lookDays = quick ? 5 : DAYS;
  const equal = worlds.map((world): NullCell => {
    const streams = streamsOf(250);
    const played = Array.from({ length: streams }, () => play(world, equalArms, lookDays, random));
    const firsts = played.map(({ arms, split }) => {
      const days = arms.flatMap(({ comparisons }) => comparisons.flatMap(({ calledOn }) => calledOn ?? []));
      return { called: days.length === 0 ? null : Math.min(...days.map(Number)), split: split.calledOn };
    });
    const called = firsts.flatMap((one) => one.called ?? []);
    const off = firsts.filter((one) => one.split !== null).length;
    say(`alike, ${inWords(world)}: ${called.length} of ${streams} called, ${off} splits`);
    return {
      ...world,
      streams,
      everCalled: shareWithBounds(called.length, streams),
      reports: called.reduce((sum, day) => sum + lookDays - day + 1, 0) / (streams * lookDays),
      splitCalled: shareWithBounds(off, streams),
    };
  });
  const worse = worlds.flatMap((world): WorseCell[] => {
    const streams = streamsOf(50);
    const difference = 0.03;
    // A share of clicks below `difference` cannot drop by `difference`.
    if (world.clicks <= difference) return [];
    const arms = [equalArms[0] as Arm, { name: 'next', loss: difference, lost: 0 }];
    const played = Array.from({ length: streams }, () => play(world, arms, lookDays, random));
    const verdicts = played.map(({ arms: [arm] }) => arm);
    const days = verdicts.flatMap((arm) =>
      (arm?.comparisons ?? [])
        .filter(({ verdict }) => verdict === 'regression')
        .map(({ calledOn }) => Number(calledOn))
        .toSorted((a, b) => a - b)
        .slice(0, 1),
    );
    const better = verdicts.filter((arm) => arm?.comparisons.some(({ verdict }) => verdict === 'improvement')).length;
    say(`worse by ${difference}, ${inWords(world)}: ${days.length} of ${streams} called`);
    return [
      {
        ...world,
        streams,
        difference,
        called: shareWithBounds(days.length, streams),
        calledBetter: shareWithBounds(better, streams),
        days: medianOf(days),
      },
    ];
  });
  const split = worlds.map((world): SplitCell => {
    const streams = streamsOf(50);
    const lost = 0.05;
    const arms = [equalArms[0] as Arm, { name: 'next', loss: 0, lost }];
    const played = Array.from({ length: streams }, () => play(world, arms, lookDays, random));
    const days = played.flatMap(({ split: { calledOn } }) => (calledOn === null ? [] : [Number(calledOn)]));
    say(`${lost} of an arm lost, ${inWords(world)}: ${days.length} of ${streams} called`);
    return { ...world, streams, lost, called: shareWithBounds(days.length, streams), days: medianOf(days) };
  });
  return {
    provenance: provenance(commandOf('variant-reports', scale), SEED, startedAt),
    lookDays,
    equal,
    worse,
    split,
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, scale, out } = readArguments(process.argv.slice(2), 'variant-reports');
  const result = measureVariants(quick, scale, (line) => console.log(line));
  if (out !== null) writeResult(out, result);
}
