/** The inclusion probability of an episode, which may span minutes with different sampling rates. */
import { MINUTE_MS } from '../../../core/time.ts';

export interface SampledStep {
  /** Random number drawn for the sampling unit, in [0, 1). */
  readonly cluster: number;
  readonly rateProbability: number;
  /** Probability with which the service sent the query. */
  readonly upstreamProbability: number;
  /** Number of times that the sampling rate in `rateProbability` was halved. */
  readonly level: number;
  readonly receivedAt: Date;
}

/**
 * Returns the probability with which every step of an episode was sampled. Returns null if a step may have been dropped
 * because it had a different random number, or because the sampling level in a surrounding minute was higher. Without
 * the dropped step, the episode would look shorter than it was.
 *
 * @param levels highest sampling level of each minute of receipt (minutes since 1970); 0 for a minute that is not in
 *   the map
 * @param halvings number of times that the sampling probability was halved so that fewer samples had to be read
 */
export function wholeProbability(
  steps: readonly SampledStep[],
  levels: ReadonlyMap<number, number>,
  idleMs: number,
  halvings: number,
): number | null {
  const times = steps.map(({ receivedAt }) => receivedAt.getTime());
  const level = levels.size === 0 ? 0 : highestLevel(levels, Math.min(...times) - idleMs, Math.max(...times) + idleMs);
  const rate = Math.min(...steps.map((step) => step.rateProbability * 2 ** step.level));
  const probability = rate * 2 ** -(level + halvings);
  if (steps.some(({ cluster }) => cluster >= probability)) return null;
  return probability * Math.min(...steps.map(({ upstreamProbability }) => upstreamProbability));
}

function highestLevel(levels: ReadonlyMap<number, number>, fromMs: number, untilMs: number): number {
  let highest = 0;
  for (let minute = Math.floor(fromMs / MINUTE_MS); minute <= untilMs / MINUTE_MS; minute += 1)
    highest = Math.max(highest, levels.get(minute) ?? 0);
  return highest;
}
