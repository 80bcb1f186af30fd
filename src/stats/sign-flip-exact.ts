import { binomialUpperTail } from './binomial.ts';
import { signedSums } from './signed-sums.ts';

/**
 * P(sum of s_i * size_i >= bound) over equally likely signs s, for a bound that such a sum can have, less rounding. A
 * chance that is smaller than any number above 0 comes as the least of them.
 */
export type SignFlipTail = (bound: number) => number;

/** Two halves of 2^16 sums each take about 10 ms. */
const MOST_ENUMERATED = 32;
/** Steps of the dynamic programme, of about 1 ns each. */
const MOST_STEPS = 5e7;
/** A quarter of the distance between two sums: rounding never goes so far. */
const QUARTER = 0.25;

/**
 * The exact distribution of a sum under random signs, or null when it would take too long. Three ways:
 *
 * - sizes that are all equal, as those of a hit rate are: the binomial distribution;
 * - up to 32 other sizes: the sums of all signs, as pairs of sums over two halves (Horowitz and Sahni 1974);
 * - more, if they are whole multiples of a common unit, as those of precision and of reciprocal ranks are: the
 *   distribution of the sum is built up size by size (dynamic programming; Pagano and Tritchler 1983).
 *
 * @param sizes rising, each > 0; at least one
 */
export function exactSignFlipTail(sizes: Float64Array): SignFlipTail | null {
  const unit = commonUnit(sizes);
  if (unit !== null && sizes.every((size) => Math.round(size / unit) === 1)) {
    return binomialTail(sizes.length, unit);
  }
  if (sizes.length <= MOST_ENUMERATED) return enumeratedTail(sizes);
  if (unit === null) return null;
  const counts = sizes.map((size) => Math.round(size / unit));
  const total = counts.reduce((sum, count) => sum + count, 0);
  return total * sizes.length <= MOST_STEPS ? latticeTail(counts, total, unit) : null;
}

/** With k of n signs positive the sum is (2k - n) units. */
function binomialTail(n: number, unit: number): SignFlipTail {
  return (bound) => atLeastTiny(binomialUpperTail(Math.ceil((bound / unit + n) / 2 - QUARTER), n, 0.5));
}

/** With signs whose positive sizes come to j units the sum is (2j - total) units. */
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

/** Counts pairs of one sum of each half that reach the bound; as the one rises, less is needed of the other. */
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
 * The greatest number of which all sizes are whole multiples, by Euclid's algorithm; null when there is none that is
 * larger than a millionth of the largest size.
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
  return sizes.every((size) => isWhole(size / refined)) ? refined : null;
}

function isWhole(multiple: number): boolean {
  return Math.abs(multiple - Math.round(multiple)) <= 1e-6;
}
