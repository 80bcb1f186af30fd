/** What checks are judged by: stored measurements and runs, of which those that are too old to trust are no values. */
import type { StoredDensityState } from '../density/watch-table.ts';
import { goldenSegment, goldenSetOf } from '../golden/rules/segments.ts';
import type { LatestRun } from '../golden/sql/latest-runs.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import type { JudgedMeasure } from '../measures/rules/measure-row.ts';
import { gapWords, judgedMeasure } from '../measures/rules/measure-table.ts';
import {
  ageSeconds,
  type IntervalOf,
  measurementTrustSeconds,
  runTrustSeconds,
} from '../measures/rules/measurement.ts';
import { ALL_SEGMENT } from '../model.ts';
import type { WatchedChecks } from './check-store.ts';
import type { CheckShifts } from './rules/check-result.ts';
import type { Reading, ThresholdCheck } from './rules/threshold.ts';

/** What is stored of all pipelines, and how often it comes. */
export interface CheckFacts {
  readonly latest: readonly LatestRun[];
  readonly density: ReadonlyMap<string, StoredDensityState>;
  readonly measurements: readonly LatestMeasurement[];
  /** By how much the thresholds of each set have moved through rotations. */
  readonly shiftsOf: (pipeline: string, goldenSet: string) => CheckShifts;
  readonly intervalSeconds: IntervalOf;
  readonly liveIntervalSeconds: number;
}

type ChecksOfPipeline = WatchedChecks['pipelines'][number];

interface Readings {
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
  pipeline: ChecksOfPipeline,
  facts: CheckFacts,
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

function isJudged(check: ThresholdCheck, { golden }: ChecksOfPipeline, segment: string): boolean {
  const { of }: JudgedMeasure = judgedMeasure(check.measure);
  if (of === 'golden_sets') return golden.some(({ set }) => segment === goldenSegment(set));
  return segment === ALL_SEGMENT || check.segments === 'each';
}

function readingOf(one: LatestMeasurement, facts: CheckFacts): Reading {
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
  { intervalSeconds, liveIntervalSeconds }: CheckFacts,
): number {
  if (measure.startsWith('retriever_')) {
    return runTrustSeconds(intervalSeconds(pipeline, goldenSetOf(segment) ?? ''));
  }
  return measurementTrustSeconds({ measure, windowStart, windowEnd }, liveIntervalSeconds);
}

function runAges({ name, golden }: ChecksOfPipeline, latest: readonly LatestRun[], now: Date): Reading[] {
  return golden.map(({ set }): Reading => {
    const run = latest.find(({ pipeline, goldenSet }) => pipeline === name && goldenSet === set);
    const segment = goldenSegment(set);
    const completed = run?.completed ?? null;
    if (completed === null) return { kind: 'unknown', segment, reason: `no run of ${set} has completed` };
    return exact(segment, ageSeconds(completed.finishedAt, now));
  });
}

function sampleAge({ name }: ChecksOfPipeline, measurements: readonly LatestMeasurement[]): Reading[] {
  const sample = measurements.find(
    ({ pipeline, measure }) => pipeline === name && measure === 'store_sample_vectors',
  );
  const newest = sample?.newest ?? null;
  return newest === null ? [] : [exact(ALL_SEGMENT, newest.ageSeconds)];
}

function exact(segment: string, value: number): Reading {
  return { kind: 'value', segment, value, ciLow: null, ciHigh: null, n: 0 };
}
