/** Opinions of the last day -> measurements, so that checks and backtests see them over time. */

import type { Clock } from '../clock.ts';
import { OTHER_SEGMENT } from '../golden/rules/segments.ts';
import type { Measurements } from '../measures/measurements.ts';
import type { MeasurementOutcome } from '../measures/rules/measurement.ts';
import { DAY_MS, MINUTE_MS } from '../time.ts';
import {
  type OpinionCounts,
  type OpinionTally,
  type PositiveRatioOutcome,
  positiveRatios,
} from './rules/feedback/positive-ratio.ts';
import type { LiveTraffic } from './sql/live-traffic.ts';

export interface MeasureFeedbackDeps {
  readonly traffic: Pick<LiveTraffic, 'opinions'>;
  readonly measurements: Pick<Measurements, 'record'>;
  readonly clock: Clock;
  readonly feedbackSources: readonly FeedbackSource[];
}

/** What is said of feedback is of so long a time. */
const WINDOW_MS = DAY_MS;

/** How many opinions of each basis there were, beside the value over both. */
export interface FeedbackDetails extends Readonly<Record<string, unknown>> {
  readonly explicit: OpinionCounts;
  readonly implicit: OpinionCounts;
}

/** Measures `feedback_positive_ratio` of every pipeline and segment; doing it again changes nothing but what came in since. */
export async function measureFeedback(deps: MeasureFeedbackDeps, signal: AbortSignal): Promise<void> {
  const now = deps.clock.now();
  const until = new Date(Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS);
  const window = { from: new Date(until.getTime() - WINDOW_MS), until };
  for (const source of deps.feedbackSources) {
    signal.throwIfAborted();
    const { pipeline, segmentKeys } = source;
    const tallies = withinSegments(await deps.traffic.opinions(pipeline, window, segmentKeys), source);
    const explicit = positiveRatios(tallies, 'explicit');
    const implicit = positiveRatios(tallies, 'implicit');
    await deps.measurements.record(
      [...positiveRatios(tallies)].map(([segment, outcome]) => ({
        pipeline,
        measure: 'feedback_positive_ratio',
        segment,
        windowStart: window.from,
        windowEnd: window.until,
        measuredAt: now,
        ...valueOf(outcome, {
          explicit: countsOf(explicit.get(segment)),
          implicit: countsOf(implicit.get(segment)),
        }),
      })),
    );
  }
}

function countsOf(outcome: PositiveRatioOutcome | undefined): OpinionCounts {
  if (outcome?.kind !== 'ratio') return { positive: 0, negative: 0 };
  return { positive: outcome.positive, negative: outcome.negative };
}

type Value = Pick<
  Extract<MeasurementOutcome, { kind: 'value' }>,
  'kind' | 'value' | 'ciLow' | 'ciHigh' | 'ciMethod' | 'n' | 'details'
>;
type Gap = Pick<Extract<MeasurementOutcome, { kind: 'no_data' }>, 'kind' | 'reason' | 'details'>;

function valueOf(outcome: PositiveRatioOutcome, details: FeedbackDetails): Value | Gap {
  if (outcome.kind !== 'ratio') return { kind: 'no_data', reason: 'no_feedback', details };
  const { value, low, high, n } = outcome;
  return { kind: 'value', value, ciLow: low, ciHigh: high, ciMethod: 'wilson', n, details };
}

/** Of whom feedback is measured, and within which of the segments that occur. */
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
