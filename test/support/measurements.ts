/** Measurements with values that do not matter, so that a test names only those that do. */
import type { Measurement, MeasurementGap } from '../../src/measures/rules/measurement.ts';
import { NOON } from './builders.ts';

const HOUR_MS = 3_600_000;

/** A time so many hours after noon. */
export function hours(count: number): Date {
  return new Date(NOON.getTime() + count * HOUR_MS);
}

/** The error ratio of `docs` over the hour before noon: 0.2. */
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

/** An attempt over the same hour that came to nothing. */
export function aGap(parts: Partial<MeasurementGap> = {}): MeasurementGap {
  const { pipeline, measure, segment, windowStart, windowEnd, measuredAt, details } = aMeasurement();
  const attempt = { pipeline, measure, segment, windowStart, windowEnd, measuredAt, details };
  return { kind: 'no_data', ...attempt, reason: 'too_few_sessions', ...parts };
}
