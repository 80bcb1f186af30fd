import type { Measure } from '../../../ir/metric-key.ts';
import type { TestPlan } from '../../../stats/paired-power.ts';

export interface ComparisonSettings {
  /** Level of the two-sided test, in (0, 1). */
  readonly alpha: number;
  /** Least difference that matters, >= 0; null takes that of `defaultMinEffect` for each measure. */
  readonly minEffect: number | null;
}

/** 0.03 for hit_rate, which moves by whole queries and so scatters more, and 0.02 for every other measure. */
export function defaultMinEffect(measure: Measure): number {
  return measure === 'hit_rate' ? 0.03 : 0.02;
}

export function minEffectOf(measure: Measure, { minEffect }: ComparisonSettings): number {
  return minEffect ?? defaultMinEffect(measure);
}

/** The power by which sets are said to be large enough. */
const POWER = 0.8;

export function testPlan({ alpha }: ComparisonSettings): TestPlan {
  return { alpha, sided: 2, power: POWER };
}
