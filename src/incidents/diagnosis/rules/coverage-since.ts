/** Determines whether the store has covered live queries less well since the onset of a fault. */
import { ALL_SEGMENT } from '../../../core/model.ts';
import { uncoveredIn } from '../../../density/rules/pooled-density.ts';
import { uncoveredShareOf } from '../../../density/rules/query-density.ts';
import type { ClosedWindow } from '../../../density/rules/watch-state.ts';

const MIN_SESSIONS = 30;
/**
 * Coverage counts as lower if, at the lower bound of the 95 % CI, at least this share of traffic lost its coverage. The
 * CI ignores the error of the baseline, which is smaller than this margin.
 */
const LESS_COVERED = 0.05;
/**
 * Coverage counts as unchanged if, at the upper bound of the 95 % CI, at most this share of traffic lost its coverage.
 */
const AS_COVERED = 0.15;

export type CoverageSince = NonNullable<ReturnType<typeof coverageSince>>;

/**
 * Pools the windows that lie mostly after the onset. A query is uncovered if the store covers it worse than 95 % of the
 * baseline queries.
 *
 * @param windows closed windows of one baseline, oldest first
 * @returns null if these windows have too few sessions or are inconclusive
 */
export function coverageSince(windows: readonly ClosedWindow[], onset: Date) {
  const onsetMs = onset.getTime();
  const after = windows.filter(({ startMs, endMs }) => (startMs + endMs) / 2 >= onsetMs);
  const { sessions, share } = uncoveredIn(after.flatMap(({ segments }) => segments[ALL_SEGMENT] ?? []));
  const [first] = after;
  if (first === undefined || sessions < MIN_SESSIONS) return null;
  const { excessLow, excessHigh } = uncoveredShareOf(share, sessions, Number.POSITIVE_INFINITY);
  const hasFallen = excessLow >= LESS_COVERED;
  if (!hasFallen && excessHigh > AS_COVERED) return null;
  return {
    /** Start of the first window, or the onset if it is later. */
    from: new Date(Math.max(first.startMs, onsetMs)),
    sessions,
    /** Share of uncovered queries, with equal weight per session; 0.05 in the baseline. */
    uncovered: share,
    hasFallen,
  };
}
