/** Of whom feedback is measured, and within which of the segments that occur. */

import { OTHER_SEGMENT } from '../golden/rules/segments.ts';
import type { OpinionTally } from './rules/feedback/positive-ratio.ts';

export interface FeedbackSource {
  readonly pipeline: string;
  /** Tags whose values are measured apart, and how many of them at most. */
  readonly segmentKeys: readonly string[];
  readonly maxSegments: number;
}

/** Leaves the most frequent segments by name and the rest as one. */
export function withinSegments(
  tallies: readonly OpinionTally[],
  { maxSegments }: Pick<FeedbackSource, 'maxSegments'>,
): OpinionTally[] {
  const sizes = new Map<string, number>();
  for (const { segments, feedback } of tallies) {
    for (const segment of segments) sizes.set(segment, (sizes.get(segment) ?? 0) + feedback);
  }
  const largest = [...sizes].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).slice(0, maxSegments);
  const shown = new Set(largest.map(([segment]) => segment));
  return tallies.map((tally) => ({
    ...tally,
    segments: tally.segments.map((segment) => (shown.has(segment) ? segment : OTHER_SEGMENT)),
  }));
}
