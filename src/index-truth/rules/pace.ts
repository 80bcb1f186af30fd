/** When a store has become too slow to be asked more. */
import { median } from '../../stats/descriptive.ts';

const FIRST = 5;
const LATEST = 5;
const TIMES_SLOWER = 5;
/** Below it nobody is kept waiting. */
const MIN_MS = 250;

/**
 * Whether the latest five calls took five times as long as the first five did, by their medians.
 *
 * @param latencies of calls of one kind, in their order, in milliseconds
 */
export function hasSlowedDown(latencies: readonly number[]): boolean {
  if (latencies.length < FIRST + LATEST) return false;
  const latest = median(latencies.slice(-LATEST));
  return latest > MIN_MS && latest > TIMES_SLOWER * median(latencies.slice(0, FIRST));
}
