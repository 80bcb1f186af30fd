import type { Context } from '../core/context.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { MINUTE_MS } from '../core/time.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import type { MeasurementOutcome } from '../measures/rules/measurement.ts';
import { forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import type { LivePlan } from './context.ts';
import { measureEpisodes } from './measure-episodes.ts';
import { measureQueryMix } from './measure-query-mix.ts';
import { BASELINE_CTR, currentBaselineCtr, readLiveWindow, type WindowReading } from './read-live-window.ts';
import { clicksCompleteUntil } from './rules/feedback/click-rates.ts';
import { clickMeasures, exactValue, liveSegments, measureSegment, withArrivals } from './rules/live-measures.ts';
import { type MeasuredStage, measureStages } from './rules/live-stages.ts';

/** Share of the window's samples that were read; below 1 if there were too many to read. */
export const SAMPLES_READ = 'samples_read_ratio';

/** Number of sampled queries that report retriever stages. */
export const STAGED_QUERIES = 'staged_queries';

export interface StagesDetails {
  readonly stages: readonly MeasuredStage[];
}

/**
 * Measures every pipeline, several at a time. Idempotent, except for data that arrives between two calls. Pipelines
 * with the oldest measurement come first, so that a timeout does not skip the same pipeline twice.
 *
 * @throws the errors of forEachPipeline
 */
export async function measureLiveTraffic(context: Context, signal: AbortSignal): Promise<void> {
  const latest = await context.db.measurements.latest(context.clock.now());
  const due = context.livePlans
    .map((plan) => ({ ...plan, own: latest.filter(({ pipeline }) => pipeline === plan.pipeline) }))
    .toSorted((a, b) => lastMeasuredMs(a.own) - lastMeasuredMs(b.own));
  await forEachPipeline(due, signal, ({ own, ...plan }) => measurePipeline(context, plan, own, signal));
}

function lastMeasuredMs(own: readonly LatestMeasurement[]): number {
  return own.find(({ measure }) => measure === SAMPLES_READ)?.newest?.measuredAt.getTime() ?? 0;
}

async function measurePipeline(
  context: Context,
  plan: LivePlan,
  latest: readonly LatestMeasurement[],
  signal: AbortSignal,
): Promise<void> {
  const now = context.clock.now();
  const until = new Date(Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS);
  const from = new Date(until.getTime() - plan.windowMs);
  const known = latest.find(({ measure, segment }) => measure === BASELINE_CTR && segment === ALL_SEGMENT);
  const baselineCtr = await currentBaselineCtr(context, plan, known ?? null, from, signal);
  const window = { pipeline: plan.pipeline, from, until };
  const reading = await readLiveWindow(context, window, plan.segmentKeys, signal);
  const clicksUntil = new Date(Math.max(from.getTime(), Math.min(until.getTime(), clicksCompleteUntil(now).getTime())));
  const traits = {
    isComplete: plan.samplesAll && reading.isCertain,
    clicksCompleteUntilMs: clicksUntil.getTime(),
    baselineCtr,
    hasClicks: baselineCtr !== null || reading.clicks.counted > 0,
  };
  const frame = { pipeline: plan.pipeline, windowStart: from, measuredAt: now };
  const { halvings, samples, clicks } = reading;
  const read = exactValue(halvings === 0 ? 1 : reading.queries.length / samples, samples);
  const { counted, notShown, late } = clicks;
  const details = { halvings, clicks_counted: counted, clicks_not_shown: notShown, clicks_late: late };
  const whole = { ...frame, windowEnd: until, segment: ALL_SEGMENT };
  const outcomes: MeasurementOutcome[] = [{ ...whole, measure: SAMPLES_READ, ...read, details }];
  for (const { name, queries } of liveSegments(reading.queries, plan.segmentKeys, plan.maxSegments)) {
    for (const measured of measureSegment(queries, traits)) {
      const outcome = name === ALL_SEGMENT ? withArrivals(measured, reading.arrived) : measured;
      const windowEnd = (clickMeasures as readonly string[]).includes(outcome.measure) ? clicksUntil : until;
      outcomes.push({ ...frame, windowEnd, segment: name, details: {}, ...outcome });
      // Yields to requests, which share this thread: a large window with many segments takes a long time.
      await context.clock.sleep(0, signal);
    }
  }
  const wasStaged = latest.some(({ measure }) => measure === STAGED_QUERIES);
  const staged = stagedQueries(reading, wasStaged);
  if (staged !== null) outcomes.push({ ...whole, ...staged });
  outcomes.push(...(await measureQueryMix(context, window, latest, signal)));
  outcomes.push(...(await measureEpisodes(context, plan, window, reading, latest, signal)));
  await context.db.measurements.record(outcomes);
}

/** Returns null for a pipeline that has never reported stages. */
function stagedQueries({ queries }: WindowReading, wasStaged: boolean) {
  const measure = STAGED_QUERIES;
  const stages = measureStages(queries);
  if (stages.length === 0)
    return wasStaged ? { kind: 'no_data' as const, measure, reason: 'no_stages', details: {} } : null;
  const n = queries.filter((query) => query.stages.length > 0).length;
  const details = { stages } satisfies StagesDetails;
  return { measure, ...exactValue(n, n), details };
}
