/** Stored feedback -> metric samples. */
import type { FeedbackBasis } from '../../core/feedback/kind-group.ts';
import { type JudgedFeedback, positiveRatios } from '../../core/feedback/positive-ratio.ts';
import { OTHER_SEGMENT } from '../../core/golden/segments.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveTraffic } from '../../ports/live-traffic.ts';
import { type GaugeSample, sample } from '../../ports/metrics.ts';

/** What is said of feedback is of so long a time. */
export const FEEDBACK_WINDOW_MS = 86_400_000;
/** The window moves slowly and reading it costs a row per feedback, so that not every scrape does. */
const REFRESH_MS = 30_000;

const bases: readonly FeedbackBasis[] = ['all', 'explicit', 'implicit'];

export interface FeedbackSource {
  readonly pipeline: string;
  /** Tags whose values are measured apart, and how many of them at most. */
  readonly segmentKeys: readonly string[];
  readonly maxSegments: number;
}

export interface FeedbackGaugesDeps {
  readonly traffic: Pick<LiveTraffic, 'feedback'>;
  readonly clock: Clock;
  readonly sources: readonly FeedbackSource[];
}

/** Reads the feedback of the last 24 hours, at most twice a minute. */
export function createFeedbackGauges(deps: FeedbackGaugesDeps): () => Promise<readonly GaugeSample[]> {
  let latest: { readonly at: number; readonly samples: readonly GaugeSample[] } | null = null;
  return async () => {
    const at = deps.clock.monotonicMs();
    if (latest !== null && at - latest.at < REFRESH_MS) return latest.samples;
    const until = deps.clock.now();
    const window = { from: new Date(until.getTime() - FEEDBACK_WINDOW_MS), until };
    const samples: GaugeSample[] = [];
    for (const source of deps.sources) {
      const feedback = await deps.traffic.feedback(source.pipeline, window.from, window.until);
      samples.push(...ratioSamples(source, withinSegments(feedback, source), window));
    }
    latest = { at, samples };
    return samples;
  };
}

function ratioSamples(
  source: FeedbackSource,
  feedback: readonly JudgedFeedback[],
  window: { from: Date; until: Date },
): GaugeSample[] {
  return bases.flatMap((basis) =>
    [...positiveRatios(feedback, window, basis)].flatMap(([segment, outcome]) => {
      const labels = { pipeline: source.pipeline, segment, basis };
      if (outcome.kind !== 'ratio') return [sample('recalld_feedback_opinions', labels, 0)];
      return [
        sample('recalld_feedback_opinions', labels, outcome.n),
        sample('recalld_feedback_positive_ratio', labels, outcome.value),
        sample('recalld_feedback_positive_ratio_ci_low', labels, outcome.low),
        sample('recalld_feedback_positive_ratio_ci_high', labels, outcome.high),
      ];
    }),
  );
}

/** Leaves the segments of the config, the most frequent of them by name and the rest as one. */
export function withinSegments(
  feedback: readonly JudgedFeedback[],
  source: FeedbackSource,
): JudgedFeedback[] {
  const prefixes = source.segmentKeys.map((key) => `${key}=`);
  const sizes = new Map<string, number>();
  for (const { segments } of feedback) {
    for (const segment of segments) {
      if (prefixes.some((prefix) => segment.startsWith(prefix)))
        sizes.set(segment, (sizes.get(segment) ?? 0) + 1);
    }
  }
  const largest = [...sizes]
    .toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, source.maxSegments);
  const shown = new Set(largest.map(([segment]) => segment));
  return feedback.map((item) => ({
    ...item,
    segments: item.segments.flatMap((segment) =>
      sizes.has(segment) ? [shown.has(segment) ? segment : OTHER_SEGMENT] : [],
    ),
  }));
}
