import type { RunEnd } from '../sql/run-results.ts';

/** The end of a run that came to no scores. */
export function endWithoutScores(status: RunEnd['status'], reason: string | null, finishedAt: Date): RunEnd {
  const nothing = {
    scores: [],
    checks: [],
    segmentsOverflow: 0,
    labels: null,
    fingerprints: {},
    comparisons: [],
  };
  return { status, reason, finishedAt, ...nothing };
}
