/** A scenario in which the benchmark measures how often one kind of interval contains the true value. */
import type { RandomNumbers } from '../random-numbers.ts';

interface Bounds {
  readonly low: number;
  readonly high: number;
}

export interface Cell {
  /** Readable name of the value whose interval is tested. */
  readonly bound: string;
  /** Description of this scenario. */
  readonly world: string;
  /** True value; null if it differs between samples. */
  readonly truth: number | null;
  /**
   * Draws a sample and returns its interval, together with the sample's true value if the cell's `truth` is null.
   * Returns null if the data is insufficient.
   */
  readonly draw: (random: RandomNumbers) => (Bounds & { readonly truth?: number }) | null;
}

/** Returns the interval of an outcome; null if the outcome only states why there is no value. */
export function boundsOf(outcome: object & { readonly kind: string }): Bounds | null {
  return 'low' in outcome && 'high' in outcome ? { low: Number(outcome.low), high: Number(outcome.high) } : null;
}
