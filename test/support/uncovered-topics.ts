/** Uncovered topics with default values, so that a test names only the values that matter. */
import type { SeenTopic } from '../../src/density/rules/uncovered-topic.ts';
import { hours } from './measurements.ts';

/** Returns a topic that accounts for a tenth of the traffic. */
export function aTopic(parts: Partial<SeenTopic> = {}): SeenTopic {
  return {
    id: 'topic-1',
    pipeline: 'docs',
    label: ['parental', 'leave'],
    centroid: Float64Array.of(0.6, 0.8),
    cause: 'new_demand',
    windowEnd: hours(0),
    sessions: 40,
    trafficShare: 0.1,
    shareLow: 0.07,
    shareHigh: 0.14,
    excessPoints: 9.5,
    density: 0.2,
    adjustedP: 1e-9,
    dominantRegion: 3,
    examples: ['q1', 'q2'],
    nearest: [['chunk-1', 0.31]],
    segments: [['tenant=acme', 0.75]],
    lostChunks: ['chunk-9'],
    judgedQueries: 25,
    relevantShare: 0.12,
    ...parts,
  };
}
