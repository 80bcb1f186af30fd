/** How much the mean of a metric moves from day to day, and from one generation of an index to the next. */
import { chiSquareQuantile } from '../../stats/distributions.ts';

/** Days or generations from which on they are a measure. */
const MIN_ACCEPTED = 5;
/** The first ones after the baseline: what came later could have drifted away with the index. */
export const MAX_ACCEPTED = 30;

/** A fall that matters is not accepted when it is as sure as this, which is the default level of checks on two sides. */
export const CLEAR_P = 0.01;

/**
 * What was seen and accepted since a baseline was pinned, which is what was no clear regression: the last run of each day while
 * the index was that of the baseline, and of each generation once it was another. A generation begins when the index or
 * the embedding model changes.
 */
export interface Accepted {
  readonly unit: 'day' | 'generation';
  /** Differences from the baseline, oldest first, by segment and metric key. */
  readonly differences: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
}

/** Few nights that were alike by luck would page on the nights that are not, again and again. */
const CONFIDENCE = 0.99;
/** Of falls by themselves there are half as many, and the bound of all stands beside theirs. */
const CONFIDENCE_OF_FALLS = 0.95;

/**
 * Upper 99 % bound of the variance of the difference of a later run from the baseline: with m differences it is the sum of
 * their squares over the 1 % quantile of chi-square with m degrees of freedom. The squares are about 0, not about their
 * mean, since the generation and the runs of the baseline were drawn like every other.
 *
 * @param differences one for each day or generation, oldest first
 * @returns null for fewer than five
 */
export function acceptedVariance(differences: readonly number[]): number | null {
  return varianceBound(differences.slice(0, MAX_ACCEPTED), CONFIDENCE);
}

/**
 * The same where falls may be larger than rises, as those of a hit rate are that has little room above it: where five or more
 * falls were accepted it is no less than the upper 95 % bound by them alone, the sum of their squares over the 5 % quantile
 * of chi-square with a degree of freedom for each. That holds where the lower half of the distribution is half of a normal
 * one about 0.
 */
export function acceptedFallVariance(differences: readonly number[]): number | null {
  const bound = acceptedVariance(differences);
  if (bound === null) return null;
  const falls = differences.slice(0, MAX_ACCEPTED).filter((difference) => difference < 0);
  return Math.max(bound, varianceBound(falls, CONFIDENCE_OF_FALLS) ?? 0);
}

function varianceBound(differences: readonly number[], confidence: number): number | null {
  if (differences.length < MIN_ACCEPTED) return null;
  const squares = differences.reduce((sum, difference) => sum + difference ** 2, 0);
  return squares / chiSquareQuantile(1 - confidence, differences.length);
}
