/** Measures how cost grows with size; each curve doubles or quadruples one size. */

import { measureWindow } from '../../src/density/rules/measure-window.ts';
import { statisticsOfCommands as statistics } from '../../src/golden/golden-statistics.ts';
import { type ComparedSide, noStatistics } from '../../src/golden/rules/compare-golden-runs.ts';
import { compareMetric } from '../../src/golden/rules/compare-metric.ts';
import type { RunSettings } from '../../src/golden/rules/run.ts';
import { createRedactor } from '../../src/live/privacy/rules/redactor.ts';
import { createEvaluator } from '../../src/math/ir/evaluate.ts';
import { parseMetricKey } from '../../src/math/ir/metric-key.ts';
import { mean } from '../../src/math/stats/descriptive.ts';
import { nearestNeighbours } from '../../src/math/vector/nearest-neighbours.ts';
import { randomNumbers } from '../random-numbers.ts';
import { randomMatrix, windowOf } from './drift-pass.ts';
import { judgedRankings, measures } from './evaluation.ts';
import type { Curve } from './result.ts';
import { figure, timed } from './row.ts';
import { scrapeTimes } from './scrape.ts';

type Curves = readonly {
  readonly what: string;
  readonly size: string;
  readonly sizes: readonly number[];
  readonly cost: (size: number) => Promise<number> | number;
}[];

const ROUNDS = 3;
const never = new AbortController().signal;

const curves: Curves = [
  {
    what: 'a window of live queries, 768 dimensions',
    size: 'samples',
    sizes: [1250, 2500, 5000, 10_000],
    cost: (size) => windowCost(size, 768),
  },
  {
    what: 'a window of 2,500 live queries',
    size: 'dimensions',
    sizes: [384, 768, 1536, 3072],
    cost: (size) => windowCost(2500, size),
  },
  {
    what: 'exact search for 200 queries, 768 dimensions',
    size: 'chunks in the store',
    sizes: [2500, 5000, 10_000, 20_000],
    cost: (size) => {
      const [store, queries] = [randomMatrix(size, 768, 1), randomMatrix(200, 768, 2)];
      return best(() => nearestNeighbours(store, queries, 5));
    },
  },
  {
    what: 'scoring a golden run',
    size: 'golden queries',
    sizes: [500, 1000, 2000, 4000],
    cost: (size) => {
      const queries = judgedRankings(size, 3);
      return best(() => {
        const evaluate = createEvaluator(measures, 1);
        for (const { ranking, judgments } of queries) evaluate(ranking, judgments);
      });
    },
  },
  {
    what: 'comparing two golden runs by one measure',
    size: 'golden queries',
    sizes: [500, 1000, 2000, 4000],
    cost: (size) => best(() => compareScores(size)),
  },
  {
    what: 'CIs and comparison of a golden run with 2,000 queries and 36 measures',
    size: 'segments',
    sizes: [2, 5, 10, 20],
    cost: (size) => {
      const [before, after] = goldenSides(2000, size);
      return best(async () => {
        await statistics.scoreRun(after.queries, after.answers, after.settings, new Set(), never);
        await statistics.compareRuns(before, after, new Set(), noStatistics, never);
      });
    },
  },
  {
    what: 'redaction of a text of account numbers (the slowest kind of text)',
    size: 'characters',
    sizes: [12_500, 25_000, 50_000, 100_000],
    cost: (size) => {
      const redact = createRedactor();
      const text = 'DE89 '.repeat(size / 5);
      return best(() => redact(text));
    },
  },
  {
    what: 'scrape with 5 segments',
    size: 'pipelines',
    sizes: [5, 20],
    cost: async (size) => figure('', '', (await scrapeTimes(size, 5, 5)).scrapes).median,
  },
  {
    what: 'scrape with 5 pipelines',
    size: 'segments',
    sizes: [5, 20],
    cost: async (size) => figure('', '', (await scrapeTimes(5, size, 5)).scrapes).median,
  },
];

export async function measureScaling(quick: boolean, say: (line: string) => void): Promise<Curve[]> {
  const measured: Curve[] = [];
  for (const { what, size, sizes, cost } of curves) {
    say(`scaling: ${what}`);
    const points: { size: number; ms: number }[] = [];
    for (const value of quick ? sizes.slice(0, 2) : sizes) points.push({ size: value, ms: await cost(value) });
    measured.push({ what, size, points, exponent: slope(points) });
  }
  return measured;
}

function windowCost(samples: number, dimensions: number): Promise<number> {
  const { scored, vectors, baseline } = windowOf(samples, dimensions);
  return best(() => measureWindow(scored, vectors, baseline));
}

function compareScores(size: number): void {
  const random = randomNumbers(4);
  const before = Float64Array.from({ length: size }, () => random.below(11) / 10);
  const after = before.map((score) => (random.uniform() < 0.2 ? random.below(11) / 10 : score));
  compareMetric(parseMetricKey('ndcg@10'), before, after, null, { alpha: 0.01, minEffect: 0.01 });
}

/** Returns a run and the next run, in which the relevant documents of a third of the queries have different ranks. */
function goldenSides(size: number, segments: number): readonly [ComparedSide, ComparedSide] {
  const queries = Array.from({ length: size }, (_, i) => ({
    id: `q${i}`,
    text: `question ${i}`,
    tags: { course: `c${i % segments}` },
    judgments: [{ documentId: `d${i}`, grade: 1 }],
  }));
  const settings: RunSettings = {
    cutoffs: [1, 3, 5, 10],
    relevanceLevel: 1,
    concurrency: 8,
    maxPerSecond: 1000,
    onError: 'score_zero',
    errorBudget: 0,
    segmentKeys: ['course'],
    maxSegments: segments,
  };
  const sideAt = (time: number): ComparedSide => ({
    queries,
    settings,
    answers: queries.map(({ id }, i) => {
      const rank = (i * 7 + (i % 3 === 0 ? 5 * time : 0)) % 14;
      const documents = Array.from({ length: 10 }, (_, place) => ({
        id: place === rank ? `d${i}` : `x${place}`,
        score: null,
      }));
      return {
        queryId: id,
        outcome: 'ok',
        documents,
        latencyMs: 1,
        attempts: 1,
        errorCode: null,
        errorMessage: null,
      };
    }),
  });
  return [sideAt(0), sideAt(1)];
}

/** Returns the shortest time of several rounds, because disturbances can only add time. */
async function best(work: () => unknown): Promise<number> {
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await timed(work));
  return Math.min(...rounds);
}

function slope(points: readonly { readonly size: number; readonly ms: number }[]): number {
  const xs = points.map(({ size }) => Math.log(size));
  const ys = points.map(({ ms }) => Math.log(ms));
  const [x, y] = [mean(xs), mean(ys)];
  const covariance = xs.reduce((sum, value, i) => sum + (value - x) * ((ys[i] ?? 0) - y), 0);
  return covariance / xs.reduce((sum, value) => sum + (value - x) ** 2, 0);
}
