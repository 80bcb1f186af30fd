/** The stored gauges of a reading, one after the other, and the rows that its parts share. */

import type { LatestRun } from '../../src/golden/sql/latest-runs.ts';
import type { MeasuredRows } from '../../src/measures/measurements.ts';
import type { GaugeSample, StoredGauges } from '../../src/metrics/meter.ts';
import type { MemoryMeasurements } from './memory-measurements.ts';

interface SharedRows extends MeasuredRows {
  readonly runs: readonly LatestRun[];
}

export const noRows: SharedRows = { runs: [], measurements: [] };

/** What was measured, as a reading at that time finds it. */
export async function rowsOf(measurements: Pick<MemoryMeasurements, 'latest'>, now: Date): Promise<SharedRows> {
  return { runs: [], measurements: await measurements.latest(now) };
}

export function samplesOf({ current, kept }: StoredGauges): GaugeSample[] {
  return [...current, ...kept.flatMap(({ samples }) => samples())];
}
