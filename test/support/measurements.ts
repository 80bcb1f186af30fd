/** Measurements with default values, so that a test names only the values that matter. */
import type { LatestMeasurement } from '../../src/measures/measurements.ts';
import type { Measurement, MeasurementGap, MeasurementOutcome } from '../../src/measures/rules/measurement.ts';
import { NOON } from './builders.ts';

const HOUR_MS = 3_600_000;

/** Returns the time `count` hours after noon. */
export function hours(count: number): Date {
  return new Date(NOON.getTime() + count * HOUR_MS);
}

/** Returns a measurement of the error ratio of `docs` in the hour before noon: 0.2. */
export function aMeasurement(parts: Partial<Measurement> = {}): Measurement {
  return {
    kind: 'value',
    pipeline: 'docs',
    measure: 'error_ratio',
    segment: 'all',
    windowStart: hours(-1),
    windowEnd: NOON,
    measuredAt: NOON,
    value: 0.2,
    ciLow: 0.1,
    ciHigh: 0.3,
    ciMethod: 'wilson',
    n: 40,
    details: {},
    ...parts,
  };
}

/** An attempt to measure the hour of `aMeasurement` that produced no value. */
export function aGap(parts: Partial<MeasurementGap> = {}): MeasurementGap {
  const { pipeline, measure, segment, windowStart, windowEnd, measuredAt, details } = aMeasurement();
  const attempt = { pipeline, measure, segment, windowStart, windowEnd, measuredAt, details };
  return { kind: 'no_data', ...attempt, reason: 'too_few_sessions', ...parts };
}

/**
 * Returns the latest measurements as if they had been read at the time `now`. Each series was measured once, or twice:
 * first with a value, and then without a value.
 */
export function latestAt(
  now: Date,
  ...series: readonly (MeasurementOutcome | readonly MeasurementOutcome[])[]
): LatestMeasurement[] {
  const aged = <Outcome extends MeasurementOutcome>(outcome: Outcome) => ({
    ...outcome,
    ageSeconds: (now.getTime() - outcome.measuredAt.getTime()) / 1000,
  });
  return series.map((one) => {
    const outcomes = 'kind' in one ? [one] : one;
    const newest = outcomes.find((outcome) => outcome.kind === 'value');
    const gap = outcomes.find((outcome) => outcome.kind === 'no_data');
    const { pipeline, measure, segment } = newest ?? gap ?? aGap();
    return { pipeline, measure, segment, newest: newest ? aged(newest) : null, gap: gap ? aged(gap) : null };
  });
}
