import { createRandom } from './random.ts';
import { exactSignFlipTail } from './sign-flip-exact.ts';
import { signedSums } from './signed-sums.ts';

/** Randomization test of paired differences by flipping their signs. */
export interface SignFlip {
  /** Two-sided. */
  readonly p: number;
  /** One-sided, against a sum that is not below zero. */
  readonly pDrop: number;
  /** One-sided, against a sum that is not above zero. */
  readonly pGain: number;
  readonly method: 'exact' | 'monte_carlo';
}

/** Sums that differ by less than this share of the sum of sizes are equal: the rest is rounding. */
const ROUNDING = 1e-11;
const SEED = 1;
const FEWEST_DRAWS = 9_999;
const MOST_DRAWS = 99_999;
/** Keeps the draws below about 0.3 s. */
const MOST_FLIPS = 5e8;

/**
 * The sign-flip randomization test, Fisher 1935; for retrieval runs Smucker, Allan and Carterette 2007. If baseline
 * and candidate are exchangeable, each difference is as likely to have the other sign. Of all 2^m choices of signs
 * of the m differences that are not 0, p is the share whose sum is at least as far from 0 as the observed one:
 * p = #{s : |sum s_i d_i| >= |sum d_i|} / 2^m.
 *
 * Exact where `exactSignFlipTail` can count them all. Else by 9,999 to 99,999 seeded draws, fewer for more
 * differences, and p = (count + 1) / (draws + 1) (Davison and Hinkley 1997, 4.2.5). p is never 0, is 1 without any
 * difference, and does not depend on the order of the differences.
 */
export function signFlipTest(differences: ArrayLike<number>): SignFlip {
  const sizes = Float64Array.from(differences, Math.abs)
    .filter((size) => size > 0)
    .toSorted();
  let observed = 0;
  let total = 0;
  for (let i = 0; i < differences.length; i++) observed += differences[i] ?? 0;
  for (const size of sizes) total += size;
  const slack = ROUNDING * total;
  if (sizes.length === 0) return { p: 1, pDrop: 1, pGain: 1, method: 'exact' };
  const exact = exactSignFlipTail(sizes);
  if (exact === null) return estimateSignFlip(sizes, observed, slack);
  return {
    p: Math.abs(observed) <= slack ? 1 : Math.min(1, 2 * exact(Math.abs(observed) - slack)),
    pDrop: exact(-observed - slack),
    pGain: exact(observed - slack),
    method: 'exact',
  };
}

function estimateSignFlip(sizes: Float64Array, observed: number, slack: number): SignFlip {
  const draws = Math.max(FEWEST_DRAWS, Math.min(MOST_DRAWS, Math.floor(MOST_FLIPS / sizes.length)));
  let far = 0;
  let low = 0;
  let high = 0;
  for (const sum of drawnSums(sizes, draws)) {
    if (Math.abs(sum) >= Math.abs(observed) - slack) far++;
    if (sum <= observed + slack) low++;
    if (sum >= observed - slack) high++;
  }
  const share = (count: number): number => (count + 1) / (draws + 1);
  return { p: share(far), pDrop: share(low), pGain: share(high), method: 'monte_carlo' };
}

/** Sums under random signs, drawn for eight differences at a time: one random byte picks one of their 256 sums. */
function drawnSums(sizes: Float64Array, draws: number): Float64Array {
  const fillRandom = createRandom(SEED);
  const words = new Uint32Array(Math.ceil(draws / 4));
  const sums = new Float64Array(draws);
  for (let start = 0; start < sizes.length; start += 8) {
    const choices = signedSums(sizes.subarray(start, start + 8));
    const last = choices.length - 1;
    fillRandom(words);
    for (let draw = 0; draw < draws; draw++) {
      const byte = (words[draw >> 2] ?? 0) >>> ((draw & 3) << 3);
      sums[draw] = (sums[draw] ?? 0) + (choices[byte & last] ?? 0);
    }
  }
  return sums;
}
