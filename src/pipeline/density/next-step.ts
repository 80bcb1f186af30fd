import type { MeasurementOutcome } from '../../core/measurement.ts';
import type { DensityState, DensityStep } from '../../ports/density-states.ts';

/** What a step changes; measurements are written before it, and are the same whoever writes them. */
export type NextStep = Pick<DensityStep, 'state' | 'windows' | 'events'> & {
  readonly outcomes: readonly MeasurementOutcome[];
};

/** A step that changes the state and nothing else. */
export function quietStep(state: DensityState): NextStep {
  return { state, windows: [], events: [], outcomes: [] };
}
