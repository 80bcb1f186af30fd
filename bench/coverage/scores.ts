/**
 * Scenarios for the intervals of golden scores and of index recall. The mean over the sampled queries estimates the
 * mean over all possible queries.
 */
import { summarize } from '../../src/math/stats/descriptive.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import type { Cell } from './cell.ts';

/** Distribution of a score over queries, and its mean. */
interface Scores {
  readonly name: string;
  readonly mean: number;
  one(random: RandomNumbers): number;
}

/** The share `none` of the scores is 0, the share `all` is 1, and the other scores are uniform between 0 and 1. */
function mixture(name: string, none: number, all: number): Scores {
  return {
    name,
    mean: all + (1 - none - all) / 2,
    one({ uniform }) {
      const u = uniform();
      if (u < none) return 0;
      return u < none + all ? 1 : uniform();
    },
  };
}

/**
 * Distribution of the reciprocal rank of the first relevant document. The rank is geometrically distributed; beyond
 * rank 10, the score is 0.
 */
function reciprocalRanks(name: string, hit: number): Scores {
  const chances = Array.from({ length: 10 }, (_, index) => hit * (1 - hit) ** index);
  return {
    name,
    mean: chances.reduce((sum, chance, index) => sum + chance / (index + 1), 0),
    one({ uniform }) {
      let u = uniform();
      for (const [index, chance] of chances.entries()) {
        if (u < chance) return 1 / (index + 1);
        u -= chance;
      }
      return 0;
    },
  };
}

function scoreCells(bound: string, scores: readonly Scores[], sizes: readonly number[]): Cell[] {
  return scores.flatMap((kind) =>
    sizes.map((n) => ({
      bound,
      world: `${kind.name}, ${n} queries`,
      truth: kind.mean,
      draw(random: RandomNumbers) {
        const { ciLow, ciHigh } = summarize(
          Float64Array.from({ length: n }, () => kind.one(random)),
          'ndcg',
        );
        return { low: ciLow, high: ciHigh };
      },
    })),
  );
}

function hitRateCells(): Cell[] {
  return [0.5, 0.9, 0.98].flatMap((rate) =>
    [30, 100, 300, 1000].map((n) => ({
      bound: 'hit rate (Wilson)',
      world: `share ${rate} of ${n} queries`,
      truth: rate,
      draw({ uniform }: RandomNumbers) {
        const { ciLow, ciHigh } = summarize(
          Float64Array.from({ length: n }, () => (uniform() < rate ? 1 : 0)),
          'hit_rate',
        );
        return { low: ciLow, high: ciHigh };
      },
    })),
  );
}

export const scoreWorlds: readonly Cell[] = [
  ...scoreCells(
    'golden score (t, BCa, Wilson)',
    [
      mixture('nDCG, spread', 0.15, 0.4),
      mixture('nDCG, nearly all documents found', 0.02, 0.9),
      mixture('nDCG, hardly any documents found', 0.85, 0.02),
      reciprocalRanks('reciprocal rank', 0.6),
    ],
    [20, 50, 100, 300],
  ),
  ...hitRateCells(),
  ...scoreCells('index recall (t, BCa, Wilson)', [mixture('recall, mostly complete', 0, 0.8)], [30, 100, 200]),
];
