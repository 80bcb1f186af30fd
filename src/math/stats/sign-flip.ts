/** The sign-flip randomization test: exact if all sums can be counted, otherwise with seeded random signs. */
import { binomialUpperTail } from './distributions.ts';
import { createRandom } from './random.ts';

/**
 * P(sum of s_i * size_i >= bound), where all choices of the signs s are equally likely. The bound must be one of the
 * possible sums, except for rounding. Never returns less than the smallest positive number.
 */
type SignFlipTail = (bound: number) => number;

/** Maximum number of sizes for enumeration. With two halves of 2^16 sums each, enumeration takes about 10 ms. */
const MAX_ENUMERATED = 32;
/** Maximum number of steps of the dynamic program; each step takes about 1 ns. */
const MAX_STEPS = 5e7;
/** Tolerance as a share of the distance between two adjacent sums. Rounding errors never exceed this tolerance. */
const QUARTER = 0.25;

/**
 * The exact distribution of a sum under random signs, or null if computing it would take too long. There are three
 * methods:
 *
 * - If all sizes are equal, as for a hit rate, uses the binomial distribution.
 * - If there are up to 32 sizes that are not all equal, computes all sums of each half of the sizes, and counts the
 *   pairs of these sums (Horowitz and Sahni 1974).
 * - If there are more sizes, all of which are whole multiples of a common unit, as for precision and reciprocal ranks,
 *   builds the distribution of the sum size by size (dynamic programming; Pagano and Tritchler 1983).
 *
 * @param sizes ascending, each > 0; at least one
 */
function exactSignFlipTail(sizes: Float64Array): SignFlipTail | null {
  const unit = commonUnit(sizes);
  if (unit !== null && sizes.every((size) => Math.round(size / unit) === 1)) {
    return binomialTail(sizes.length, unit);
  }
  if (sizes.length <= MAX_ENUMERATED) return enumeratedTail(sizes);
  if (unit === null) return null;
  const counts = sizes.map((size) => Math.round(size / unit));
  const total = counts.reduce((sum, count) => sum + count, 0);
  return total * sizes.length <= MAX_STEPS ? latticeTail(counts, total, unit) : null;
}

/** If k of n signs are positive, the sum is (2k - n) units. */
function binomialTail(n: number, unit: number): SignFlipTail {
  return (bound) => atLeastTiny(binomialUpperTail(Math.ceil((bound / unit + n) / 2 - QUARTER), n, 0.5));
}

/** If the sizes with positive signs add up to j units, the sum is (2j - total) units. */
function latticeTail(counts: Float64Array, total: number, unit: number): SignFlipTail {
  const chances = new Float64Array(total + 1);
  chances[0] = 1;
  let reached = 0;
  for (const count of counts) {
    reached += count;
    for (let j = reached; j >= count; j--) chances[j] = ((chances[j] ?? 0) + (chances[j - count] ?? 0)) / 2;
    for (let j = count - 1; j >= 0; j--) chances[j] = (chances[j] ?? 0) / 2;
  }
  return (bound) => {
    const first = Math.max(0, Math.ceil((bound / unit + total) / 2 - QUARTER));
    let sum = 0;
    for (let j = total; j >= first; j--) sum += chances[j] ?? 0;
    return atLeastTiny(Math.min(1, sum));
  };
}

/**
 * Counts the pairs of sums, one from each half, whose total reaches the bound. The larger the first sum, the smaller
 * the second sum can be.
 */
function enumeratedTail(sizes: Float64Array): SignFlipTail {
  const middle = sizes.length >> 1;
  const rising = signedSums(sizes.subarray(0, middle)).toSorted();
  const others = signedSums(sizes.subarray(middle)).toSorted();
  return (bound) => {
    let count = 0;
    let first = others.length;
    for (const sum of rising) {
      while (first > 0 && sum + (others[first - 1] ?? 0) >= bound) first--;
      count += others.length - first;
    }
    return count / 2 ** sizes.length;
  };
}

function atLeastTiny(chance: number): number {
  return Math.max(chance, Number.MIN_VALUE);
}

/**
 * Returns the greatest number of which all sizes are whole multiples, by Euclid's algorithm; null if this number would
 * not exceed a millionth of the largest size.
 */
function commonUnit(sizes: Float64Array): number | null {
  const largest = sizes.at(-1) ?? 0;
  let unit = largest;
  for (const size of sizes) {
    let rest = size;
    while (rest > 1e-9 * largest) [unit, rest] = [rest, Math.abs(unit - Math.round(unit / rest) * rest)];
    if (unit < 1e-6 * largest) return null;
  }
  const refined = largest / Math.round(largest / unit);
  const isMultiple = (size: number): boolean => Math.abs(size / refined - Math.round(size / refined)) <= 1e-6;
  return sizes.every(isMultiple) ? refined : null;
}

/**
 * Returns the sum of the signed values for each of the 2^n choices of signs. Bit i of the index is set if value i gets
 * a positive sign.
 *
 * @param values at most 30
 */
function signedSums(values: ArrayLike<number>): Float64Array {
  const sums = new Float64Array(2 ** values.length);
  let filled = 1;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    for (let j = 0; j < filled; j++) {
      const sum = sums[j] ?? 0;
      sums[j] = sum - value;
      sums[filled + j] = sum + value;
    }
    filled *= 2;
  }
  return sums;
}

/** Result of the sign-flip randomization test for paired differences. */
export interface SignFlip {
  /** Two-sided. */
  readonly p: number;
  /** One-sided p-value under the null hypothesis that the sum is not below zero. */
  readonly pDrop: number;
  /** One-sided p-value under the null hypothesis that the sum is not above zero. */
  readonly pGain: number;
  readonly method: 'exact' | 'monte_carlo';
}

/**
 * Two sums count as equal if they differ by less than this share of the sum of all sizes, because such a difference is
 * due to rounding.
 */
const ROUNDING = 1e-11;
const SEED = 1;
const MIN_DRAWS = 9_999;
const MAX_DRAWS = 99_999;
/**
 * Maximum number of sign flips over all draws; it limits a test of a few thousand differences to about 0.1 s. A test
 * with 20,000 draws can distinguish p = 0.05 from p = 0.045.
 */
const MAX_FLIPS = 2e8;

/**
 * The sign-flip randomization test (Fisher 1935), applied to retrieval runs by Smucker, Allan and Carterette (2007). If
 * baseline and candidate are exchangeable, each difference is equally likely to have the opposite sign. The m nonzero
 * differences have 2^m choices of signs, and p is the share of these choices whose sum is at least as far from 0 as the
 * observed sum: p = #{s : |sum s_i d_i| >= |sum d_i|} / 2^m.
 *
 * The test is exact if `exactSignFlipTail` can count all choices of signs. Otherwise, it uses 9,999 to 99,999 seeded
 * draws, fewer for more differences, and p = (count + 1) / (draws + 1) (Davison and Hinkley 1997, 4.2.5). The p-value
 * is never 0; if there are no differences, it is 1. The order of the differences does not matter.
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
  const draws = Math.max(MIN_DRAWS, Math.min(MAX_DRAWS, Math.floor(MAX_FLIPS / sizes.length)));
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

/** Draws sums under random signs, for eight differences at a time: one random byte selects one of their 256 sums. */
function drawnSums(sizes: Float64Array, draws: number): Float64Array {
  const fillRandom = createRandom(SEED);
  const words = new Uint32Array(Math.ceil(draws / 4));
  const sums = new Float64Array(4 * words.length);
  for (let start = 0; start < sizes.length; start += 8) {
    const choices = signedSums(sizes.subarray(start, start + 8));
    const last = choices.length - 1;
    fillRandom(words);
    for (let i = 0, draw = 0; i < words.length; i++, draw += 4) {
      const word = words[i] ?? 0;
      sums[draw] = (sums[draw] ?? 0) + (choices[word & last] ?? 0);
      sums[draw + 1] = (sums[draw + 1] ?? 0) + (choices[(word >>> 8) & last] ?? 0);
      sums[draw + 2] = (sums[draw + 2] ?? 0) + (choices[(word >>> 16) & last] ?? 0);
      sums[draw + 3] = (sums[draw + 3] ?? 0) + (choices[(word >>> 24) & last] ?? 0);
    }
  }
  return sums.subarray(0, draws);
}
