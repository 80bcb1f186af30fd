/** Means of variables with a range, whose bounds must stay in it and must not claim certainty from a few samples. */

import { normalQuantile } from '../../../stats/distributions.ts';
import { type Interval, wilsonInterval } from '../../../stats/intervals.ts';
import { type ClusterMember, effectiveClusters, totalWeight } from './clusters.ts';
import { type EstimateOutcome, hajekMean, type SampledValue, type SampledWindow } from './estimate.ts';

const CONFIDENCE = 0.95;
/** Standard errors from a normal mean to its bounds. */
const Z = normalQuantile((1 + CONFIDENCE) / 2);

/**
 * `hajekMean` of a variable that lies in `range`. Bounds are clipped to it, and they stay apart when all samples have
 * the same value, where their spread would claim a certainty that they do not have.
 *
 * @param range the least and the greatest value that the variable can have
 * @throws RangeError as `hajekMean`, or for a value outside the range
 */
export function hajekBoundedMean(
  samples: readonly SampledValue[],
  window: SampledWindow,
  range: Interval,
): EstimateOutcome {
  if (samples.some(({ value }) => !(value >= range.low && value <= range.high))) {
    throw new RangeError(`A value lies outside its range of ${range.low} to ${range.high}.`);
  }
  const outcome = hajekMean(samples, window);
  if (outcome.kind === 'insufficient_data') return outcome;
  // Rounding can carry a mean of equal values past the end of their range.
  const value = clip(outcome.value, range);
  const first = samples[0]?.value;
  const isUnanimous = !window.isComplete && samples.every((sample) => sample.value === first);
  const bounds = isUnanimous ? unanimousBounds(value, samples, range) : outcome;
  return {
    ...outcome,
    value,
    low: Math.min(value, clip(bounds.low, range)),
    high: Math.max(value, clip(bounds.high, range)),
  };
}

/**
 * Share of the window's queries for which `value` is 1 rather than 0: `hajekMean` with the Wilson interval of n
 * independent queries, n such that their normal interval would reach as far as the t interval of `hajekMean` (Korn
 * and Graubard 1998; Dean and Pagano 2015). It stays in [0, 1] and is no point when all samples agree.
 *
 * @throws RangeError as `hajekMean`, or for a value other than 0 and 1
 */
export function hajekProportion(samples: readonly SampledValue[], window: SampledWindow): EstimateOutcome {
  if (samples.some(({ value }) => value !== 0 && value !== 1)) {
    throw new RangeError('The values of a proportion must be 0 or 1.');
  }
  const outcome = hajekMean(samples, window);
  if (outcome.kind === 'insufficient_data') return outcome;
  const { value, high, standardError } = outcome;
  if (window.isComplete || standardError === 0) return hajekBoundedMean(samples, window, { low: 0, high: 1 });
  const n = value * (1 - value) * (Z / (high - value)) ** 2;
  return { ...outcome, ...wilsonInterval(value, n, CONFIDENCE) };
}

/**
 * Bounds of a mean when all samples agree. What was kept for certain is known, so only the part of the weight that was
 * drawn by chance is in doubt: by as much as the Wilson interval of its effective number of clusters, because no
 * variable on the range with this mean spreads more than one that takes only the two ends.
 */
function unanimousBounds(value: number, samples: readonly ClusterMember[], range: Interval): Interval {
  const drawn = samples.filter((sample) => sample.probability < 1);
  const doubt = totalWeight(drawn) / totalWeight(samples);
  const width = range.high - range.low;
  const rate = (value - range.low) / width;
  const { low, high } = wilsonInterval(rate, effectiveClusters(drawn), CONFIDENCE);
  return { low: value - doubt * width * (rate - low), high: value + doubt * width * (high - rate) };
}

function clip(value: number, range: Interval): number {
  return Math.min(range.high, Math.max(range.low, value));
}
