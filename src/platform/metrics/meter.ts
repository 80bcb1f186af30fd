import type { LabelsOf, MetricsOfType, StoredMetric } from './catalogue.ts';

/** Metrics that this process counts. Unknown names and labels are compile errors. */
export interface Meter {
  increment<Name extends MetricsOfType<'counter'>>(name: Name, labels: LabelsOf<Name>, by?: number): void;
  set<Name extends MetricsOfType<'gauge'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
  observe<Name extends MetricsOfType<'histogram'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
}

/** One value of a metric that is made from stored rows: a gauge, or a counter that is kept in the database. */
export interface GaugeSample {
  readonly name: StoredMetric;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Returns the gauges of a subject at a time after its rows were read. Values that are too old to trust by then are omitted,
 * however long ago the database last responded.
 */
export type GaugesAt = (now: Date) => readonly GaugeSample[];

/** Builds a sample whose labels are checked against the catalogue. */
export function sample<Name extends StoredMetric>(name: Name, labels: LabelsOf<Name>, value: number): GaugeSample {
  return { name, labels, value };
}

/** Samples that depend only on an object that never changes, so that they are serialised once. */
export interface KeptGauges {
  /** The same object from reading to reading as long as the samples are the same. */
  readonly of: object;
  readonly samples: () => readonly GaugeSample[];
}

/** The stored gauges at one time. No series is in both parts. */
export interface StoredGauges {
  /** Serialised each time. If two samples have the same name and labels, the later one counts. */
  readonly current: readonly GaugeSample[];
  /** Only values to show now: those that are too old to trust are omitted here as well. */
  readonly kept: readonly KeptGauges[];
}

/** Returns the gauges of cached rows at a given time; values that are too old to trust by then are omitted. */
export type StoredGaugesAt = (now: Date) => StoredGauges;

/** Reads the rows behind the stored gauges; rejects if the database does not respond. */
export type ReadStoredGauges = () => Promise<StoredGaugesAt>;
