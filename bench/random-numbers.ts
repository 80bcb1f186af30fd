/** Seeded random numbers for the simulations. */
import { createRandom } from '../src/math/stats/random.ts';

export interface RandomNumbers {
  /** Uniform in [0, 1). */
  uniform(): number;
  /** Standard normal. */
  normal(): number;
  /** Uniform integer from 0 to count - 1. */
  below(count: number): number;
  /** Poisson random number; for a mean above 60, a rounded normal random number. */
  poisson(mean: number): number;
}

export function randomNumbers(seed: number): RandomNumbers {
  const fill = createRandom(seed);
  const block = new Uint32Array(4096);
  let used = block.length;
  const uniform = (): number => {
    if (used === block.length) {
      fill(block);
      used = 0;
    }
    return (block[used++] as number) / 2 ** 32;
  };
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return {
    uniform,
    normal,
    below: (count) => Math.floor(uniform() * count),
    poisson: (mean) => {
      if (mean > 60) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal()));
      const limit = Math.exp(-mean);
      let count = 0;
      for (let product = uniform(); product > limit; product *= uniform()) count++;
      return count;
    },
  };
}
