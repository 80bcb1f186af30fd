/** Streams of hourly golden runs: how often noise makes the check fail, and how soon the check detects a true drop. */
import { mean } from '../../src/math/stats/descriptive.ts';
import { type MeanWithBounds, meanWithBounds, type ShareWithBounds, shareWithBounds } from '../bounds.ts';
import { type RandomNumbers, randomNumbers } from '../random-numbers.ts';
import { damage, drawRetriever, type NoiseLevel, type Retriever, rebuilt, runOnce } from './noisy-retriever.ts';
import { startWatch, type WatchedMeasure } from './watched-stream.ts';

function level(name: string, noise: Partial<NoiseLevel> = {}): NoiseLevel {
  return { name, restless: 0, flips: 0, shared: 0, replicas: 'none', rebuild: null, ...noise };
}

const redraw = { redraw: 0.04, shared: 0, wanders: false, isSeen: true };
const sharedShift = { redraw: 0, shared: 0.01, wanders: false, isSeen: true };

export const noiseLevels: readonly NoiseLevel[] = [
  level('none'),
  level('calm', { restless: 0.02 }),
  level('restless', { restless: 0.1 }),
  level('very restless', { restless: 0.3 }),
  level('flips, few', { flips: 0.02 }),
  level('flips', { flips: 0.1 }),
  level('replicas by run', { replicas: 'each run' }),
  level('replicas by query', { replicas: 'each query' }),
  level('shared, small', { restless: 0.02, shared: 0.005 }),
  level('shared', { restless: 0.02, shared: 0.01 }),
  level('shared, large', { restless: 0.02, shared: 0.02 }),
  level('rebuilt', { rebuild: redraw }),
  level('rebuilt, flips', { flips: 0.02, rebuild: redraw }),
  level('rebuilt, wanders', { flips: 0.02, rebuild: { ...redraw, wanders: true } }),
  level('rebuilt, shared', { rebuild: sharedShift }),
  level('rebuilt, shared, flips', { flips: 0.02, rebuild: sharedShift }),
  level('rebuilt unseen', { rebuild: { ...redraw, isSeen: false } }),
  level('rebuilt unseen, wanders', { rebuild: { ...redraw, wanders: true, isSeen: false } }),
  level('rebuilt unseen, shared', { rebuild: { ...sharedShift, isSeen: false } }),
];

export const RUNS_PER_DAY = 24;

/** Returns true if recalld detects that the index is rebuilt every night. */
function isSeen({ rebuild }: NoiseLevel): boolean {
  return rebuild?.isSeen === true;
}

/** Returns true if every run of an unchanged stream equals the previous run. */
export function isStill({ restless, flips, shared, replicas, rebuild }: NoiseLevel): boolean {
  return restless + flips + shared === 0 && replicas === 'none' && rebuild === null;
}

/** Simulates a retriever's index, which may change every night. */
function startNights(first: Retriever, { rebuild }: NoiseLevel, random: RandomNumbers) {
  let original = first;
  const night = (from: Retriever): Retriever => (rebuild === null ? from : rebuilt(from, rebuild, random));
  let index = night(first);
  return {
    index: () => index,
    rebuild(): void {
      index = night(rebuild?.wanders === true ? index : original);
    },
    /** Applies a change to the current index and to the indexes of all later nights. */
    change(by: (retriever: Retriever) => Retriever): void {
      original = by(original);
      index = rebuild?.wanders === true ? by(index) : night(original);
    },
  };
}

export const measures = ['ndcg', 'hit_rate'] as const satisfies readonly WatchedMeasure[];
export type SimulatedMeasure = (typeof measures)[number];

export interface NullCell {
  readonly noise: string;
  /** Number of runs from which the noise was estimated, including the pinned run. */
  readonly reruns: number;
  readonly queries: number;
  readonly measure: SimulatedMeasure;
  readonly streams: number;
  /** Standard deviation of the difference between the means of two runs, averaged over the streams. */
  readonly noiseOfDifference: number;
  /** Number of times per stream that the check changed from passing to failing. */
  readonly falseRegressions: MeanWithBounds;
  readonly streamsWithAny: ShareWithBounds;
  readonly streamsWithMoreThanOne: ShareWithBounds;
  readonly most: number;
}

/** Simulates hourly runs of an unchanged retriever; each stream has a new retriever with a newly pinned baseline. */
export function simulateNull(
  noise: NoiseLevel,
  queries: number,
  plan: { readonly streams: number; readonly runs: number; readonly reruns: number; readonly seed: number },
): NullCell[] {
  const counts = { ndcg: [] as number[], hit_rate: [] as number[] };
  const spreads = { ndcg: [] as number[], hit_rate: [] as number[] };
  for (let stream = 0; stream < plan.streams; stream++) {
    const random = randomNumbers(seedOf(plan.seed, noise, queries, stream));
    const nights = startNights(drawRetriever(queries, random), noise, random);
    const reruns = Array.from({ length: plan.reruns }, () => runOnce(nights.index(), noise, random));
    const watches = { ndcg: startWatch('ndcg', reruns), hit_rate: startWatch('hit_rate', reruns) };
    const breached = { ndcg: false, hit_rate: false };
    const found = { ndcg: 0, hit_rate: 0 };
    for (let run = 0; run < plan.runs; run++) {
      if (run > 0 && run % RUNS_PER_DAY === 0) nights.rebuild();
      const day = Math.floor(run / RUNS_PER_DAY);
      const scored = runOnce(nights.index(), noise, random);
      for (const measure of measures) {
        const now = watches[measure].judge(scored, day, day === 0 || !isSeen(noise));
        if (now && !breached[measure]) found[measure]++;
        breached[measure] = now;
      }
    }
    for (const measure of measures) {
      counts[measure].push(found[measure]);
      spreads[measure].push(watches[measure].noise?.standardDeviation ?? 0);
    }
  }
  return measures.map((measure) => ({
    noise: noise.name,
    reruns: plan.reruns,
    queries,
    measure,
    streams: plan.streams,
    noiseOfDifference: mean(spreads[measure]),
    falseRegressions: meanWithBounds(counts[measure]),
    streamsWithAny: shareWithBounds(counts[measure].filter((count) => count > 0).length, plan.streams),
    streamsWithMoreThanOne: shareWithBounds(counts[measure].filter((count) => count > 1).length, plan.streams),
    most: Math.max(...counts[measure]),
  }));
}

export interface DropCell {
  readonly noise: string;
  readonly reruns: number;
  readonly queries: number;
  readonly measure: 'ndcg';
  readonly drop: number;
  /** Share of the queries whose results also change randomly, for better or worse. */
  readonly churn: number;
  readonly streams: number;
  /**
   * Share of the streams whose drop was detected within `runs` runs after the drop; the second run is the earliest that
   * can detect it.
   */
  readonly calledWithin: readonly { readonly runs: number; readonly share: ShareWithBounds }[];
  /** Median number of runs until detection, over all streams; null if fewer than half of the drops were detected. */
  readonly medianDelayRuns: number | null;
}

const DELAYS: readonly number[] = [2, 3, 6, 24, 48, 168];
/** Number of nightly rebuilds of the index that recalld observes before the drop. */
const NIGHTS_BEFORE = 20;

/** Simulates retrievers that find fewer documents from a certain run on, so that the true mean nDCG drops by `drop`. */
export function simulateDrop(
  noise: NoiseLevel,
  queries: number,
  { drop, churn }: Pick<DropCell, 'drop' | 'churn'>,
  plan: {
    readonly streams: number;
    readonly reruns: number;
    readonly seed: number;
    readonly longest: number;
  },
): DropCell {
  const delays: number[] = [];
  for (let stream = 0; stream < plan.streams; stream++) {
    const random = randomNumbers(seedOf(plan.seed + 1, noise, queries, stream));
    const nights = startNights(drawRetriever(queries, random), noise, random);
    const reruns = Array.from({ length: plan.reruns }, () => runOnce(nights.index(), noise, random));
    const watch = startWatch('ndcg', reruns);
    let day = 0;
    const judge = (): boolean => watch.judge(runOnce(nights.index(), noise, random), day, day === 0 || !isSeen(noise));
    if (noise.rebuild !== null) {
      for (day = 1; day <= NIGHTS_BEFORE; day++) {
        nights.rebuild();
        for (let run = 0; run < RUNS_PER_DAY; run++) judge();
      }
    }
    nights.change((retriever) => damage(retriever, drop, churn, random));
    // A retriever without noise repeats its results, so a drop that is not detected in two runs is never detected.
    const longest = isStill(noise) ? 2 : plan.longest;
    let delay = 1;
    while (delay <= longest && !judge()) {
      if (delay % RUNS_PER_DAY === 0) {
        nights.rebuild();
        day++;
      }
      delay++;
    }
    delays.push(delay <= longest ? delay : Number.POSITIVE_INFINITY);
  }
  const median = delays.toSorted((a, b) => a - b)[Math.floor(delays.length / 2)] ?? Number.POSITIVE_INFINITY;
  return {
    noise: noise.name,
    reruns: plan.reruns,
    queries,
    measure: 'ndcg',
    drop,
    churn,
    streams: plan.streams,
    calledWithin: DELAYS.filter((runs) => runs <= plan.longest).map((runs) => ({
      runs,
      share: shareWithBounds(delays.filter((delay) => delay <= runs).length, plan.streams),
    })),
    medianDelayRuns: Number.isFinite(median) ? median : null,
  };
}

function seedOf(seed: number, noise: NoiseLevel, queries: number, stream: number): number {
  return seed * 1_000_003 + noiseLevels.indexOf(noise) * 100_003 + queries * 10_007 + stream;
}
