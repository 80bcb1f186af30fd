import type { Context } from '../core/context.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { OTHER_SEGMENT } from '../golden/rules/golden-set.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import type { MeasurementOutcome } from '../measures/rules/measurement.ts';
import { forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import type { LivePlan } from './context.ts';
import { isYounger } from './read-live-window.ts';
import {
  bucketLengthMs,
  type FeedbackBaseline,
  feedbackBaseline,
  feedbackDrop,
} from './rules/feedback/feedback-drop.ts';
import {
  type OpinionCounts,
  type OpinionTally,
  type PositiveRatioOutcome,
  positiveRatio,
  positiveRatios,
} from './rules/feedback/sentiment.ts';
import { exactValue, valueWithin } from './rules/live-measures.ts';

export const POSITIVE_RATIO = 'feedback_positive_ratio';
export const DROP_EVIDENCE = 'feedback_drop_evidence_ratio';
/**
 * Name of the measure that stores the baseline: the positive share before the window, with the counts that later
 * comparisons need.
 */
export const FEEDBACK_BASELINE = 'feedback_baseline_positive_ratio';

/** Numbers of explicit and implicit opinions, stored with the combined ratio. */
export interface FeedbackDetails extends Readonly<Record<string, unknown>> {
  readonly explicit: OpinionCounts;
  readonly implicit: OpinionCounts;
}

type BaselineDetails = FeedbackBaseline & Readonly<Record<string, unknown>>;

/** Details stored with the e-value of a drop. */
export interface DropDetails extends Readonly<Record<string, unknown>> {
  readonly baseline_positive_ratio: number;
  /** Positive share of the latest opinions. */
  readonly positive_ratio: number;
  /** Estimated onset of the drop. */
  readonly since: string;
}

/**
 * Measures the feedback on every pipeline. Idempotent, except for feedback that arrives between two calls.
 *
 * @throws the errors of forEachPipeline
 */
export async function measureFeedback(context: Context, signal: AbortSignal): Promise<void> {
  const latest = await context.db.measurements.latest(context.clock.now());
  await forEachPipeline(context.livePlans, signal, async (plan) => {
    const until = new Date(Math.floor(context.clock.now().getTime() / MINUTE_MS) * MINUTE_MS);
    const positive = await measurePositiveRatios(context, plan, until);
    await context.db.measurements.record(positive);
    const known = latest.find(({ pipeline, measure }) => pipeline === plan.pipeline && measure === FEEDBACK_BASELINE);
    await measureDrop(context, plan, known ?? null, until);
  });
}

async function measurePositiveRatios(
  { db, clock }: Context,
  plan: LivePlan,
  until: Date,
): Promise<MeasurementOutcome[]> {
  const { pipeline, segmentKeys, windowMs } = plan;
  const window = { from: new Date(until.getTime() - windowMs), until };
  const tallies = withinSegments(await db.live.traffic.opinions(pipeline, window, segmentKeys), plan);
  const explicit = positiveRatios(tallies, 'explicit');
  const implicit = positiveRatios(tallies, 'implicit');
  const frame = { pipeline, measure: POSITIVE_RATIO, windowStart: window.from, windowEnd: until };
  return [...positiveRatios(tallies)].map(([segment, outcome]) => ({
    ...frame,
    segment,
    measuredAt: clock.now(),
    ...valueOf(outcome, {
      explicit: countsOf(explicit.get(segment)),
      implicit: countsOf(implicit.get(segment)),
    }),
  }));
}

function countsOf(outcome: PositiveRatioOutcome | undefined): OpinionCounts {
  if (outcome?.kind !== 'ratio') return { positive: 0, negative: 0 };
  return { positive: outcome.positive, negative: outcome.negative };
}

/** Minimum number of opinions; with fewer opinions, the confidence interval is too wide to be useful. */
export const MIN_OPINIONS = 10;

function valueOf(outcome: PositiveRatioOutcome, details: FeedbackDetails) {
  if (outcome.kind !== 'ratio') return { kind: 'no_data' as const, reason: 'no_feedback', details };
  if (outcome.n < MIN_OPINIONS) return { kind: 'no_data' as const, reason: 'too_few_opinions', details };
  return { ...valueWithin(outcome, 'wilson'), details };
}

/**
 * Maximum age of a baseline: a day or a quarter of the period that it covers, whichever is shorter. Once a baseline is
 * older, recalld learns a new baseline.
 */
const MAX_BASELINE_AGE_MS = DAY_MS;
/**
 * Time between attempts to learn a baseline while there is too little feedback. If the window is shorter, attempts are
 * one window length apart.
 */
const BASELINE_RETRY_MS = HOUR_MS;

async function measureDrop(
  context: Context,
  plan: LivePlan,
  known: LatestMeasurement | null,
  until: Date,
): Promise<void> {
  const { pipeline, windowMs } = plan;
  const bucketMs = bucketLengthMs(windowMs);
  const series = { pipeline, measure: DROP_EVIDENCE, segment: ALL_SEGMENT, measuredAt: context.clock.now() };
  const baseline = await currentBaseline(context, plan, known, until);
  // Uses only complete buckets, because every new rating would change the result of an incomplete bucket.
  const untilMs = Math.floor(until.getTime() / bucketMs) * bucketMs;
  const fromMs = Math.min(untilMs, Math.max(until.getTime() - windowMs, baseline?.untilMs ?? 0));
  const firstMs = Math.ceil(fromMs / bucketMs) * bucketMs;
  const frame = { ...series, windowStart: new Date(firstMs), windowEnd: until };
  const gap = (reason: string) => context.db.measurements.record([{ kind: 'no_data', ...frame, reason, details: {} }]);
  if (baseline === null) return gap('no_baseline');
  const window = { from: new Date(firstMs), until: new Date(untilMs) };
  const buckets = await context.db.live.traffic.opinionBuckets(pipeline, window, bucketMs);
  const drop = feedbackDrop(baseline, buckets, { untilMs, bucketMs }, context.falsePages);
  if ('kind' in drop) return gap('no_feedback');
  const details: DropDetails = {
    baseline_positive_ratio: drop.baselineShare,
    positive_ratio: drop.latestShare,
    since: new Date(drop.sinceMs).toISOString(),
  };
  await context.db.measurements.record([{ ...frame, ...exactValue(drop.evidenceRatio, drop.opinions), details }]);
}

/**
 * Returns the stored baseline of a pipeline. If this baseline is too old, learns a new one; returns null while there
 * are too few opinions. If the service is younger than two windows, the first half of its history is the baseline.
 */
async function currentBaseline(
  { db, clock }: Context,
  { pipeline, windowMs, baselineMs }: LivePlan,
  known: LatestMeasurement | null,
  until: Date,
) {
  const newest = known?.newest ?? null;
  const coveredMs = newest === null ? 0 : newest.windowEnd.getTime() - newest.windowStart.getTime();
  const stored =
    newest === null ? null : { ...(newest.details as BaselineDetails), untilMs: newest.windowEnd.getTime() };
  if (stored !== null && isYounger(newest, Math.min(MAX_BASELINE_AGE_MS, coveredMs / 4))) return stored;
  if (isYounger(known?.gap, Math.min(BASELINE_RETRY_MS, windowMs))) return stored;

  const from = new Date(until.getTime() - windowMs - baselineMs);
  const buckets = await db.live.traffic.opinionBuckets(pipeline, { from, until }, bucketLengthMs(windowMs));
  const firstMs = buckets[0]?.startMs ?? from.getTime();
  const endMs = Math.max(until.getTime() - windowMs, (firstMs + until.getTime()) / 2);
  const baseline = feedbackBaseline(buckets.filter(({ startMs }) => startMs + bucketLengthMs(windowMs) <= endMs));
  const frame = { pipeline, measure: FEEDBACK_BASELINE, segment: ALL_SEGMENT, measuredAt: clock.now() };
  const window = { windowStart: new Date(Math.max(firstMs, from.getTime())), windowEnd: new Date(endMs) };
  if ('kind' in baseline) {
    const { have, need } = baseline;
    const reason = have === 0 ? 'no_feedback' : 'too_few_opinions';
    await db.measurements.record([{ kind: 'no_data', ...frame, ...window, reason, details: { have, need } }]);
    return stored;
  }
  const ratio = positiveRatio(baseline);
  if (ratio.kind !== 'ratio') throw new RangeError('A baseline needs opinions.');
  const value = valueWithin(ratio, 'wilson');
  await db.measurements.record([{ ...frame, ...window, ...value, details: { ...baseline } }]);
  return { ...baseline, untilMs: endMs };
}

/** Keeps the segments with the most feedback, and merges all other segments into one. */
export function withinSegments(tallies: readonly OpinionTally[], { maxSegments }: LivePlan): OpinionTally[] {
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
