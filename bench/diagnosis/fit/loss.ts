/** Loss of estimates: the negative log likelihood of the true causes, and its gradient. */
import { causes } from '../../../src/incidents/diagnosis/rules/cause.ts';
import { type NumberedWorld, UNEXPLAINED, UNKNOWN } from './problem.ts';

/**
 * Assumed share of worlds in which any cause may be right. The share limits the loss of one world, so that a world
 * whose cause is impossible according to the reach table does not outweigh all others.
 */
const ANY_CAUSE_SHARE = 0.005;

export interface Loss {
  readonly value: number;
  readonly gradient: Float64Array;
}

/**
 * Log loss of the right causes in the worlds, plus `open` times the log loss of `unknown` after the right causes are
 * removed from the list. The second term penalizes estimates that name a wrong cause when no right cause is left.
 */
export function lossOf(worlds: readonly NumberedWorld[], vector: Float64Array, open: number, temperature = 1): Loss {
  const gradient = new Float64Array(vector.length);
  const slopes = new Float64Array(causes.length);
  let value = 0;
  for (const world of worlds) {
    const scores = scoresOf(world, vector, temperature);
    slopes.fill(0);
    value += addSlopes(scores, world.right, nothing, world.weight, slopes);
    if (open > 0 && !world.right.has(UNKNOWN))
      value += addSlopes(scores, unknownAlone, world.right, open * world.weight, slopes);
    addGradient(world, vector, scores, slopes, gradient, temperature);
  }
  return { value, gradient };
}

const nothing: ReadonlySet<number> = new Set();
const unknownAlone: ReadonlySet<number> = new Set([UNKNOWN]);

/** Score of each cause: 0 for `unknown`, minus infinity for impossible causes. */
interface Scores {
  readonly of: Float64Array;
  /**
   * For each candidate: true if its evidence counts. Evidence that favors a cause is ignored if no sign belongs to the
   * cause.
   */
  readonly counts: readonly boolean[];
}

function scoresOf({ candidates }: NumberedWorld, vector: Float64Array, temperature: number): Scores {
  const of = new Float64Array(causes.length).fill(Number.NEGATIVE_INFINITY);
  const counts: boolean[] = [];
  of[UNKNOWN] = 0;
  for (const { cause, cells, most, unexplained, hasOwnSign } of candidates) {
    let sum = unexplained * (vector[UNEXPLAINED] as number);
    for (let i = 0; i < cells.length; i++) {
      const bound = most[i] as number;
      sum += Math.max(-bound, Math.min(bound, vector[cells[i] as number] as number));
    }
    const doesCount = hasOwnSign || sum < 0;
    counts.push(doesCount);
    of[cause] = ((vector[cause] as number) + (doesCount ? sum : 0)) / temperature;
  }
  return { of, counts };
}

/** Adds the derivative of the loss with respect to each score to `slopes`. @returns the loss */
function addSlopes(
  { of }: Scores,
  right: ReadonlySet<number>,
  struck: ReadonlySet<number>,
  weight: number,
  slopes: Float64Array,
): number {
  let [total, ofRight] = [0, 0];
  for (let cause = 0; cause < of.length; cause++) {
    if (struck.has(cause)) continue;
    const power = Math.exp(of[cause] as number);
    total += power;
    if (right.has(cause)) ofRight += power;
  }
  const rightShare = ofRight / total;
  const likelihood = (1 - ANY_CAUSE_SHARE) * rightShare + (ANY_CAUSE_SHARE * right.size) / causes.length;
  const outer = (weight * (1 - ANY_CAUSE_SHARE)) / likelihood;
  for (let cause = 0; cause < of.length; cause++) {
    if (struck.has(cause)) continue;
    const share = Math.exp(of[cause] as number) / total;
    slopes[cause] = (slopes[cause] as number) + outer * share * (rightShare - (right.has(cause) ? 1 : 0));
  }
  return -weight * Math.log(likelihood);
}

function addGradient(
  { candidates }: NumberedWorld,
  vector: Float64Array,
  { counts }: Scores,
  slopes: Float64Array,
  gradient: Float64Array,
  temperature: number,
): void {
  for (let candidate = 0; candidate < candidates.length; candidate++) {
    const { cause, cells, most, unexplained } = candidates[candidate] as NumberedWorld['candidates'][number];
    const slope = (slopes[cause] as number) / temperature;
    gradient[cause] = (gradient[cause] as number) + slope;
    if (counts[candidate] !== true) continue;
    gradient[UNEXPLAINED] = (gradient[UNEXPLAINED] as number) + slope * unexplained;
    for (let i = 0; i < cells.length; i++) {
      const place = cells[i] as number;
      if (Math.abs(vector[place] as number) < (most[i] as number))
        gradient[place] = (gradient[place] as number) + slope;
    }
  }
}
