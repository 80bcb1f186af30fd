import type {
  Measurement,
  MeasurementGap,
  MeasurementOutcome,
  MeasurementSeries,
} from '../rules/measurement.ts';

/** What a series last came to. At least one of `newest` and `gap` is there. */
export interface LatestMeasurement extends MeasurementSeries {
  /** The value of the latest window that has one. */
  readonly newest: (Measurement & { readonly ageSeconds: number }) | null;
  /** Why a later window than that of `newest` has none. */
  readonly gap: (MeasurementGap & { readonly ageSeconds: number }) | null;
}

/** The values of scheduled measures over time. */
export interface Measurements {
  /**
   * Stores values and reasons for none, all or nothing. The same series and end of window may be recorded again, by a
   * retry or because late data came: what was measured last stays. A gap is no value and takes none away; of each
   * series only the latest is kept, until a value of the same or a later window comes.
   *
   * Rejects with RangeError for what `checkMeasurement` refuses, and with RecalldError database_unreachable when
   * nothing was stored.
   */
  record(outcomes: readonly MeasurementOutcome[]): Promise<void>;
  /**
   * The newest of every series, by pipeline, measure and segment. `ageSeconds` is the time since it was measured, not
   * since its window ended; who shows a value withholds one that is too old.
   */
  latest(now: Date): Promise<readonly LatestMeasurement[]>;
  /** Values whose windows ended from `from` to before `until`, oldest first. */
  series(series: MeasurementSeries, from: Date, until: Date): Promise<readonly Measurement[]>;
  /** Makes the partitions that the next days need. `record` makes those that it misses. */
  createPartitions(now: Date): Promise<void>;
  /** Drops whole months that ended before `before`, and the latest of series that ended before it. */
  prune(before: Date): Promise<void>;
}
