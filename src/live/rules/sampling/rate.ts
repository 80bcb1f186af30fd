/** How often live queries of a pipeline are kept, before the cap on samples a minute. */

export interface SamplingRates {
  /** Rate of a query that no entry of `segments` matches, in [0, 1]; 0 and 1 are exact: none and all. */
  readonly rate: number;
  /** Rates by segment, written `key=value`; each takes the place of `rate`, upwards or downwards. */
  readonly segments: Readonly<Record<string, number>>;
}

/**
 * The rate of a query with these segments. When several entries match, the largest counts: whoever asked to see more
 * of a segment gets it, whatever other segments the query is in.
 *
 * @throws RangeError for a rate outside [0, 1], which the config schema refuses
 */
export function rateFor(segments: Readonly<Record<string, string>>, rates: SamplingRates): number {
  let largest: number | null = null;
  for (const [key, value] of Object.entries(segments)) {
    const rate = rates.segments[`${key}=${value}`];
    if (rate !== undefined) largest = Math.max(largest ?? 0, checkedRate(rate));
  }
  return largest ?? checkedRate(rates.rate);
}

function checkedRate(rate: number): number {
  if (rate >= 0 && rate <= 1) return rate;
  throw new RangeError(`A sampling rate must lie in [0, 1], not be ${rate}.`);
}
