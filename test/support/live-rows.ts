/** Live queries and clicks as they are stored, for tests of what measures them. */
import type { StoredFeedback } from '../../src/live/sql/feedback-rows.ts';
import type { LiveSample } from '../../src/live/sql/record-arrivals.ts';
import { documents } from './builders.ts';
import { aSample, aStoredFeedback } from './live-traffic.ts';
import { hours } from './measurements.ts';

/** A sample of `docs` at noon without a trace, of a rate of a half, with the documents `d1` and `d2`. */
export function aLiveSample(parts: Partial<LiveSample> = {}): LiveSample {
  return aSample({ id: 'q1', traceId: null, results: documents('d1', 'd2'), unitHash: 0.25, ...parts });
}

/** Samples `q0`, `q1`, ... of two hours before noon, of sessions of their own, whose draws are spread evenly below a half. */
export function liveSamples(count: number, parts: (index: number) => Partial<LiveSample> = () => ({})): LiveSample[] {
  return Array.from({ length: count }, (_, index) =>
    aLiveSample({ id: `q${index}`, occurredAt: hours(-2), unitHash: (0.5 * (index + 0.5)) / count, ...parts(index) }),
  );
}

/** A counted click on `d1` of `q1` at noon. */
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
