/** Stored measurements -> what a threshold is judged on. What is too old to trust is no value. */

import type { Reading, ThresholdCheck } from '../../core/checks/threshold.ts';
import { type WatchedMeasure, watchedMeasures } from '../../core/checks/watched-measures.ts';
import { gapWords } from '../../core/measure-words.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import type { LatestRun } from '../../ports/golden-runs.ts';
import type { LatestMeasurement } from '../../ports/measurements.ts';
import { goldenSegment, goldenSetOf } from '../golden-segment.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import type { IntervalOf } from './check-states.ts';
import { ageSeconds, measurementTrustSeconds, runTrustSeconds } from './trust.ts';

/** What is stored of all pipelines. */
export interface ReadingFacts {
  readonly latest: readonly LatestRun[];
  readonly measurements: readonly LatestMeasurement[];
  readonly intervalSeconds: IntervalOf;
  readonly liveIntervalSeconds: number;
}

export interface Readings {
  readonly readings: readonly Reading[];
  /** When the newest of them was measured; null for none. */
  readonly evidenceAt: Date | null;
}

/** Reasons of gaps that say that there was too little, not that something is broken. */
const quietReasons: ReadonlySet<string> = new Set([
  'no_queries',
  'no_clicks',
  'no_feedback',
  'no_vectors',
  'too_few_sessions',
  'too_few_clicks',
  'too_few_queries',
  'no_reference',
]);

export function readingsOf(
  check: ThresholdCheck,
  pipeline: WatchedPipeline,
  facts: ReadingFacts,
  now: Date,
): Readings {
  if (check.measure === 'golden_run_age_seconds') {
    return { readings: runAges(pipeline, facts.latest, now), evidenceAt: now };
  }
  if (check.measure === 'store_sample_age_seconds') {
    return { readings: sampleAge(pipeline, facts.measurements), evidenceAt: now };
  }
  const own = facts.measurements.filter(
    (one) =>
      one.pipeline === pipeline.name &&
      one.measure === check.measure &&
      isJudged(check, pipeline, one.segment),
  );
  const measured = own.map(({ newest, gap }) => (gap ?? newest)?.measuredAt.getTime() ?? 0);
  return {
    readings: own.map((one) => readingOf(one, facts)),
    evidenceAt: measured.length === 0 ? null : new Date(Math.max(...measured)),
  };
}

function isJudged(check: ThresholdCheck, { golden }: WatchedPipeline, segment: string): boolean {
  const { of }: WatchedMeasure = watchedMeasures[check.measure];
  if (of === 'golden_sets') return golden.some(({ set }) => segment === goldenSegment(set));
  return segment === ALL_SEGMENT || check.segments === 'each';
}

function readingOf(one: LatestMeasurement, facts: ReadingFacts): Reading {
  const { segment, newest, gap } = one;
  const last = gap ?? newest;
  if (last === null || last.ageSeconds > trustSeconds(one, last, facts)) {
    return { kind: 'unknown', segment, reason: 'its latest measurement is too old to trust' };
  }
  if (gap !== null) {
    const kind = quietReasons.has(gap.reason) ? 'quiet' : 'unknown';
    return { kind, segment, reason: gapWords(gap.reason) };
  }
  if (newest === null) return { kind: 'unknown', segment, reason: 'it has not been measured' };
  const { value, ciLow, ciHigh, n } = newest;
  return { kind: 'value', segment, value, ciLow, ciHigh, n };
}

function trustSeconds(
  { pipeline, measure, segment }: LatestMeasurement,
  { windowStart, windowEnd }: { readonly windowStart: Date; readonly windowEnd: Date },
  { intervalSeconds, liveIntervalSeconds }: ReadingFacts,
): number {
  if (measure.startsWith('retriever_')) {
    return runTrustSeconds(intervalSeconds(pipeline, goldenSetOf(segment) ?? ''));
  }
  return measurementTrustSeconds({ measure, windowStart, windowEnd }, liveIntervalSeconds);
}

function runAges({ name, golden }: WatchedPipeline, latest: readonly LatestRun[], now: Date): Reading[] {
  return golden.map(({ set }): Reading => {
    const run = latest.find(({ pipeline, goldenSet }) => pipeline === name && goldenSet === set);
    const segment = goldenSegment(set);
    const completed = run?.completed ?? null;
    if (completed === null) return { kind: 'unknown', segment, reason: `no run of ${set} has completed` };
    return exact(segment, ageSeconds(completed.finishedAt, now));
  });
}

function sampleAge({ name }: WatchedPipeline, measurements: readonly LatestMeasurement[]): Reading[] {
  const sample = measurements.find(
    ({ pipeline, measure }) => pipeline === name && measure === 'store_sample_vectors',
  );
  const newest = sample?.newest ?? null;
  return newest === null ? [] : [exact(ALL_SEGMENT, newest.ageSeconds)];
}

function exact(segment: string, value: number): Reading {
  return { kind: 'value', segment, value, ciLow: null, ciHigh: null, n: 0 };
}
