/** Streams of hourly golden runs: how often the check is breached by noise, and how soon by a true drop. */
import { mean } from '../../src/stats/descriptive.ts';
import { type MeanWithBounds, meanWithBounds, type ShareWithBounds, shareWithBounds } from '../bounds.ts';
import { randomNumbers } from '../random-numbers.ts';
import { damage, drawRetriever, type NoiseLevel, runOnce } from './noisy-retriever.ts';
import { startWatch } from './watched-stream.ts';

export const noiseLevels: readonly NoiseLevel[] = [
  { name: 'none', restless: 0, shared: 0 },
  { name: 'calm', restless: 0.02, shared: 0 },
  { name: 'restless', restless: 0.1, shared: 0 },
  { name: 'very restless', restless: 0.3, shared: 0 },
  { name: 'shared, small', restless: 0.02, shared: 0.005 },
  { name: 'shared', restless: 0.02, shared: 0.01 },
  { name: 'shared, large', restless: 0.02, shared: 0.02 },
];

export const measures = ['ndcg', 'hit_rate'] as const;
export type SimulatedMeasure = (typeof measures)[number];

export interface NullCell {
  readonly noise: string;
  /** Runs by which the noise was measured, the pinned one among them. */
  readonly reruns: number;
  readonly queries: number;
  readonly measure: SimulatedMeasure;
  readonly streams: number;
  /** Standard deviation of the difference of two runs' means, mean over the streams. */
  readonly noiseOfDifference: number;
  /** Times that the check turned from ok to breached, per stream. */
  readonly falseRegressions: MeanWithBounds;
  readonly streamsWithAny: ShareWithBounds;
  readonly streamsWithMoreThanOne: ShareWithBounds;
  readonly most: number;
}

/** Hourly runs of an unchanged retriever, a new one with a newly pinned baseline in each stream. */
export function simulateNull(
  noise: NoiseLevel,
  queries: number,
  plan: { readonly streams: number; readonly runs: number; readonly reruns: number; readonly seed: number },
): NullCell[] {
  const counts = { ndcg: [] as number[], hit_rate: [] as number[] };
  const spreads = { ndcg: [] as number[], hit_rate: [] as number[] };
  for (let stream = 0; stream < plan.streams; stream++) {
    const random = randomNumbers(seedOf(plan.seed, noise, queries, stream));
    const retriever = drawRetriever(queries, random);
    const reruns = Array.from({ length: plan.reruns }, () => runOnce(retriever, noise, random));
    const watches = {
      ndcg: startWatch(
        'ndcg',
        reruns.map(({ ndcg }) => ndcg),
      ),
      hit_rate: startWatch(
        'hit_rate',
        reruns.map(({ hits }) => hits),
      ),
    };
    const breached = { ndcg: false, hit_rate: false };
    const found = { ndcg: 0, hit_rate: 0 };
    for (let run = 0; run < plan.runs; run++) {
      const { ndcg, hits } = runOnce(retriever, noise, random);
      const scores = { ndcg, hit_rate: hits };
      for (const measure of measures) {
        const now = watches[measure].judge(scores[measure]);
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
  /** Share of the queries that the change moved in either direction. */
  readonly churn: number;
  readonly streams: number;
  /** Share of the streams called by the second run after the drop, which is the first that can be, and later. */
  readonly calledWithin: readonly { readonly runs: number; readonly share: ShareWithBounds }[];
  /** Median over all streams; null when fewer than half were called. */
  readonly medianDelayRuns: number | null;
}

const DELAYS: readonly number[] = [2, 3, 6, 24, 168];

/** A retriever that from one run on finds less, so that the true nDCG of these queries falls by `drop`. */
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
    const retriever = drawRetriever(queries, random);
    const reruns = Array.from({ length: plan.reruns }, () => runOnce(retriever, noise, random).ndcg);
    const watch = startWatch('ndcg', reruns);
    const damaged = damage(retriever, drop, churn, random);
    // A retriever without noise repeats itself: what two runs do not show, no run shows.
    const longest = noise.restless + noise.shared === 0 ? 2 : plan.longest;
    let delay = 1;
    while (delay <= longest && !watch.judge(runOnce(damaged, noise, random).ndcg)) delay++;
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
