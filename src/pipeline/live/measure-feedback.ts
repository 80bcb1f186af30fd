/** Opinions of the last day -> measurements, so that checks and backtests see them over time. */
import { type PositiveRatioOutcome, positiveRatios } from '../../core/feedback/positive-ratio.ts';
import type { MeasurementOutcome } from '../../core/measurement.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveTraffic } from '../../ports/live-traffic.ts';
import type { Measurements } from '../../ports/measurements.ts';
import { FEEDBACK_WINDOW_MS, type FeedbackSource, withinSegments } from '../publish/publish-feedback.ts';

export interface MeasureFeedbackDeps {
  readonly traffic: Pick<LiveTraffic, 'feedback'>;
  readonly measurements: Pick<Measurements, 'record'>;
  readonly clock: Clock;
  readonly feedbackSources: readonly FeedbackSource[];
}

const MINUTE_MS = 60_000;

/** Measures `feedback_positive_ratio` of every pipeline and segment; doing it again changes nothing but what came in since. */
export async function measureFeedback(deps: MeasureFeedbackDeps, signal: AbortSignal): Promise<void> {
  const now = deps.clock.now();
  const until = new Date(Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS);
  const window = { from: new Date(until.getTime() - FEEDBACK_WINDOW_MS), until };
  for (const source of deps.feedbackSources) {
    signal.throwIfAborted();
    const feedback = await deps.traffic.feedback(source.pipeline, window.from, window.until);
    const ratios = positiveRatios(withinSegments(feedback, source), window);
    await deps.measurements.record(
      [...ratios].map(([segment, outcome]) => ({
        pipeline: source.pipeline,
        measure: 'feedback_positive_ratio',
        segment,
        windowStart: window.from,
        windowEnd: window.until,
        measuredAt: now,
        ...valueOf(outcome),
      })),
    );
  }
}

type Value = Pick<
  Extract<MeasurementOutcome, { kind: 'value' }>,
  'kind' | 'value' | 'ciLow' | 'ciHigh' | 'ciMethod' | 'n' | 'details'
>;
type Gap = Pick<Extract<MeasurementOutcome, { kind: 'no_data' }>, 'kind' | 'reason' | 'details'>;

function valueOf(outcome: PositiveRatioOutcome): Value | Gap {
  if (outcome.kind !== 'ratio') return { kind: 'no_data', reason: 'no_feedback', details: {} };
  const { value, low, high, n } = outcome;
  return { kind: 'value', value, ciLow: low, ciHigh: high, ciMethod: 'wilson', n, details: {} };
}
