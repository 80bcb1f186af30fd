/** One world in which a kind of bounds is held against the truth. */
import type { RandomNumbers } from '../random-numbers.ts';

interface Bounds {
  readonly low: number;
  readonly high: number;
}

export interface Cell {
  /** What is bounded, as people read it. */
  readonly bound: string;
  /** What is particular about this world. */
  readonly world: string;
  /** What the bounds should hold: a number, or what goes with the draw. */
  readonly truth: number | null;
  /** Bounds of one draw, and its truth where the cell has none; null where there is too little to say anything. */
  readonly draw: (random: RandomNumbers) => (Bounds & { readonly truth?: number }) | null;
}

/** A value that comes with its bounds, or a refusal. */
export function boundsOf(outcome: object & { readonly kind: string }): Bounds | null {
  return 'low' in outcome && 'high' in outcome ? { low: Number(outcome.low), high: Number(outcome.high) } : null;
}
