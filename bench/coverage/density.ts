/** Scenarios for the intervals of query density, which ranks live sessions among the sessions of a sampled baseline. */
import { coverageTotals, pooledCoverage } from '../../src/density/rules/pooled-density.ts';
import { densityOf, queryDensity, repeatDensity, SURPRISE_VARIANCE } from '../../src/density/rules/query-density.ts';
import {
  BASELINE_MEAN_X,
  baselineScores,
  MAX_SURPRISE,
  surprisesOf,
  tiedRanks,
} from '../../src/density/rules/query-score.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import type { Cell } from './cell.ts';

const REGION = -1;

/**
 * Returns the score of a random query, expressed as its percentile among well-covered queries. With probability
 * `uncovered`, the query is covered less well than nearly all other queries. Each session has one query.
 */
function score(uncovered: number, { uniform }: RandomNumbers): number {
  return uniform() < uncovered ? 0.02 * uniform() : uniform();
}

/** Mean surprise of a percentile that is uniform between 0 and `upTo`: the mean of min(-ln u, ln 100). */
function meanSurprise(upTo: number): number {
  const least = Math.min(upTo, 0.01);
  const above = upTo > 0.01 ? [upTo - upTo * Math.log(upTo), -(0.01 - 0.01 * Math.log(0.01))] : [0, 0];
  return (MAX_SURPRISE * least + (above[0] ?? 0) + (above[1] ?? 0)) / upTo;
}

function densityCells(): Cell[] {
  const sizes = [
    [2000, 200],
    [2000, 2000],
    [2000, 5000],
    [600, 600],
  ] as const;
  return [0, 0.1].flatMap((uncovered) =>
    sizes.flatMap(([baseline, sessions]) => {
      const world = `${sessions} sessions, baseline of ${baseline} sessions, ${100 * uncovered} % uncovered`;
      const meanX = (1 - uncovered) * meanSurprise(1) + uncovered * meanSurprise(0.02);
      const share = (1 - uncovered) * 0.05 + uncovered;
      const pooled = (random: RandomNumbers) => {
        const reference = baselineScores(
          Array.from({ length: baseline }, random.uniform),
          new Int32Array(baseline).fill(REGION),
          0,
        );
        const ranks = Array.from({ length: sessions }, () => tiedRanks(score(uncovered, random), REGION, reference));
        const numbers = Int32Array.from({ length: sessions }, (_, at) => at);
        const density = queryDensity(ranks, surprisesOf(ranks), new Int32Array(sessions).fill(REGION), numbers);
        if (density === null) throw new Error('a window with sessions has a density');
        const totals = { ...coverageTotals(density), sessions };
        const spread = { variance: SURPRISE_VARIANCE, phi: 1, sessions: baseline };
        return pooledCoverage([{ startMs: 0, endMs: 1, totals }], spread);
      };
      return [
        {
          bound: 'query density (log-normal)',
          world,
          truth: densityOf(meanX - meanSurprise(1) + BASELINE_MEAN_X),
          draw(random: RandomNumbers) {
            const outcome = pooled(random);
            return outcome.kind === 'coverage' ? outcome : null;
          },
        },
        {
          bound: 'uncovered share (Wilson)',
          world,
          truth: share,
          draw(random: RandomNumbers) {
            const outcome = pooled(random);
            return outcome.kind === 'coverage'
              ? { low: outcome.uncovered.ciLow, high: outcome.uncovered.ciHigh }
              : null;
          },
        },
      ];
    }),
  );
}

/** Scenarios in which a share of the queries lost some or all of the chunks that they used to find. */
function repeatCells(): Cell[] {
  const reference = baselineScores(
    Array.from({ length: 2000 }, (_, at) => (at + 0.5) / 2000),
    new Int32Array(2000).fill(REGION),
    0,
  );
  return [0, 0.01, 0.03, 0.1, 0.3].map((lost) => ({
    bound: 'density of replayed baseline queries (BCa, t, Wilson)',
    world: `${100 * lost} % of 100 queries lost the chunks that they found`,
    // If a query of percentile u lost its chunks, its new percentile is u times a uniform random number.
    truth: Math.exp(-lost * (meanOfLost() - meanSurprise(1))),
    draw({ uniform }: RandomNumbers) {
      const pairs = Array.from({ length: 100 }, () => {
        const before = uniform();
        return { before, now: uniform() < lost ? before * uniform() : before };
      });
      const { ciLow, ciHigh } = repeatDensity(pairs, reference);
      return { low: ciLow, high: ciHigh };
    },
  }));
}

/** Mean surprise of the product of two uniform numbers, computed by the midpoint rule over the first number. */
function meanOfLost(): number {
  const steps = 100_000;
  let sum = 0;
  for (let step = 0; step < steps; step++) sum += meanSurprise((step + 0.5) / steps);
  return sum / steps;
}

export const densityWorlds: readonly Cell[] = [...densityCells(), ...repeatCells()];
