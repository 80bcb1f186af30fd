/** Stored live queries and clicks, for tests of measures. */
import type { StoredFeedback } from '../../src/live/sql/feedback-rows.ts';
import type { LiveSample } from '../../src/live/sql/record-arrivals.ts';
import { documents } from './builders.ts';
import { aSample, aStoredFeedback } from './live-traffic.ts';
import { hours } from './measurements.ts';

/** A sampled live query of `docs` at noon, with a sampling rate of 1/2, no trace, and the documents `d1` and `d2`. */
export function aLiveSample(parts: Partial<LiveSample> = {}): LiveSample {
  return aSample({ id: 'q1', traceId: null, results: documents('d1', 'd2'), unitHash: 0.25, ...parts });
}

/** Samples `q0`, `q1`, ... two hours before noon, in separate sessions, with random numbers spread evenly below 1/2. */
export function liveSamples(count: number, parts: (index: number) => Partial<LiveSample> = () => ({})): LiveSample[] {
  return Array.from({ length: count }, (_, index) =>
    aLiveSample({ id: `q${index}`, occurredAt: hours(-2), unitHash: (0.5 * (index + 0.5)) / count, ...parts(index) }),
  );
}

/** A counted click on `d1` for `q1` at noon. */
export function aStoredClick(parts: Partial<StoredFeedback> = {}): StoredFeedback {
  return aStoredFeedback({
    queryId: 'q1',
    kind: 'click',
    documentId: 'd1',
    value: null,
    traceId: null,
    ...parts,
  });
}
