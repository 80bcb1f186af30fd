/** Fits the estimates to recorded evaluations. The same evaluations yield the same estimates. */
import type { Estimates } from '../../../src/incidents/diagnosis/rules/estimates.ts';
import { descend } from './descend.ts';
import { lossOf } from './loss.ts';
import {
  cells,
  estimatesFrom,
  FIRST_CELL,
  factorOf,
  judgedVector,
  type NumberedWorld,
  PARAMETERS,
  UNEXPLAINED,
  UNKNOWN,
  WEIGHTS,
} from './problem.ts';

export interface FitSettings {
  /**
   * Standard deviation, in nats, of a true weight around its expected value. The expected value is the expert weight
   * times the factor that all edges with the same sign and direction share.
   */
  readonly spread: number;
  /** Standard deviation of the factors around 1. */
  readonly spreadOfFactors: number;
  /** Weight of the second copy of each world, from which the right cause is removed. */
  readonly open: number;
}

// These settings were chosen on the training worlds of the fault benchmark, which the fit does not use; larger
// deviations overfit the simulation.
export const fitSettings: FitSettings = { spread: 0.1, spreadOfFactors: 0.1, open: 0.2 };

/** Standard deviation of the priors, in nats. */
const SPREAD_OF_PRIORS = 0.5;
/** Standard deviation of the weight of unexplained alerts, in nats. */
const SPREAD_OF_UNEXPLAINED = 1;
/**
 * Minimum number of worlds of a cause in which a cell must occur for its weight to be fitted separately.
 */
const MIN_SEEN = 3;
/** Maximum weight of one sign, in nats. */
const MAX_WEIGHT = 5;
/** Minimum fitted weight of an edge, as a share of its expert weight. */
const MIN_KEPT = 0.1;
const priorBounds = [-8, 2] as const;
const factorBounds = [0.2, 1.5] as const;
const MAX_STEPS = 60;

export interface Fit {
  readonly vector: Float64Array;
  readonly isFitted: readonly boolean[];
}

/**
 * Returns the maximum a posteriori weights. The prior of a weight is centered at its expert value times a factor. All
 * edges with the same sign and direction share a factor, whose own prior is centered at 1. A cell that occurs in fewer
 * than `MIN_SEEN` worlds of its cause gets its expert value times the factor.
 */
export function fitEstimates(worlds: readonly NumberedWorld[], { spread, spreadOfFactors, open }: FitSettings): Fit {
  const judged = judgedVector();
  const isFitted = seenIn(worlds);
  const vector = descend(
    (x) => {
      const weights = weightsIn(x, isFitted);
      const loss = lossOf(worlds, weights, open);
      const gradient = loss.gradient.slice();
      let { value } = loss;
      const pull = (place: number, from: number, deviation: number): number => {
        const off = (x[place] as number) - from;
        value += (off / deviation) ** 2 / 2;
        gradient[place] = (gradient[place] as number) + off / deviation ** 2;
        return off;
      };
      for (let cause = 0; cause < UNEXPLAINED; cause++) {
        if (isFitted[cause] === true) pull(cause, judged[cause] as number, SPREAD_OF_PRIORS);
        else gradient[cause] = 0;
      }
      pull(UNEXPLAINED, judged[UNEXPLAINED] as number, SPREAD_OF_UNEXPLAINED);
      for (const [index, cell] of cells.entries()) {
        const [place, factor] = [FIRST_CELL + index, factorOf[index] as number];
        const slope =
          isFitted[place] === true
            ? -pull(place, (x[factor] as number) * cell.judged, spread) / spread ** 2
            : isCapped(weights[place] as number)
              ? 0
              : (gradient[place] as number);
        gradient[factor] = (gradient[factor] as number) + slope * cell.judged;
        if (isFitted[place] !== true) gradient[place] = 0;
      }
      for (let factor = WEIGHTS; factor < PARAMETERS; factor++) pull(factor, 1, spreadOfFactors);
      return { value, gradient };
    },
    judged,
    boundsOf(judged, isFitted),
    MAX_STEPS,
  );
  return { vector: weightsIn(vector, isFitted), isFitted };
}

function isCapped(weight: number): boolean {
  return Math.abs(weight) >= MAX_WEIGHT;
}

/** Cells without a separate fit use the factor of their sign. */
function weightsIn(x: Float64Array, isFitted: readonly boolean[]): Float64Array {
  const weights = x.slice();
  for (const [index, { judged }] of cells.entries()) {
    const place = FIRST_CELL + index;
    if (isFitted[place] === true) continue;
    const weight = (x[factorOf[index] as number] as number) * judged;
    weights[place] = Math.max(-MAX_WEIGHT, Math.min(MAX_WEIGHT, weight));
  }
  return weights;
}

/**
 * Returns one boolean per parameter: true if the parameter is fitted. Cells and priors that occur in fewer than
 * `MIN_SEEN` worlds of their cause keep their expert values.
 */
function seenIn(worlds: readonly NumberedWorld[]): boolean[] {
  const seen = new Map<number, number>();
  for (const { right, candidates } of worlds)
    for (const { cause, cells: shown } of candidates)
      if (right.has(cause)) for (const place of [cause, ...shown]) seen.set(place, (seen.get(place) ?? 0) + 1);
  return Array.from(
    { length: PARAMETERS },
    (_, place) => place !== UNKNOWN && (place === UNEXPLAINED || (seen.get(place) ?? 0) >= MIN_SEEN),
  );
}

/** Returns bounds for each parameter, so that an edge keeps its direction (for or against the cause). */
function boundsOf(judged: Float64Array, isFitted: readonly boolean[]): { low: Float64Array; high: Float64Array } {
  const [low, high] = [judged.slice(), judged.slice()];
  for (let place = 0; place < PARAMETERS; place++) {
    if (isFitted[place] !== true && place < WEIGHTS) continue;
    const [from, to] = boundsAt(place, judged[place] as number);
    low[place] = from;
    high[place] = to;
  }
  return { low, high };
}

function boundsAt(place: number, judged: number): readonly [number, number] {
  if (place >= WEIGHTS) return factorBounds;
  if (place < UNEXPLAINED) return priorBounds;
  return judged > 0 ? [MIN_KEPT * judged, MAX_WEIGHT] : [-MAX_WEIGHT, MIN_KEPT * judged];
}

export function estimatesAt({ vector }: Fit, temperature: number): Estimates {
  return estimatesFrom(vector, temperature);
}
