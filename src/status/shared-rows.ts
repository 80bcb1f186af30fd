/** What the parts of a snapshot of the stored gauges are made of, and what they come to. */
import type { LatestRun } from '../golden/ports/golden-runs.ts';
import type { LatestMeasurement } from '../measures/ports/measurements.ts';
import type { GaugeSample } from '../metrics/meter.ts';

/** Rows that several parts are made of, read once. */
export interface SharedRows {
  /** Full runs. */
  readonly runs: readonly LatestRun[];
  readonly measurements: readonly LatestMeasurement[];
}

/**
 * The gauges of a part at any moment after its rows were read: what has become too old to trust by then is withheld,
 * however long ago the database last answered.
 */
export type GaugesAt = (now: Date) => readonly GaugeSample[];

/** Reads what else a part needs. */
export type ReadPart = (rows: SharedRows) => GaugesAt | Promise<GaugesAt>;
