import type { LabelsOf, MetricsOfType, StoredMetric } from './catalogue.ts';

/** Metrics that this process records. Unknown names and labels are compile errors. */
export interface Meter {
  increment<Name extends MetricsOfType<'counter'>>(name: Name, labels: LabelsOf<Name>, by?: number): void;
  set<Name extends MetricsOfType<'gauge'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
  observe<Name extends MetricsOfType<'histogram'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
}

/** One value of a metric that is made from stored rows: a gauge, or a counter that is stored in the database. */
export interface GaugeSample {
  readonly name: StoredMetric;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Returns a subject's gauges at a given time, from rows that were read earlier. Omits values that are too old to trust
 * at the given time, even if they were recent when the database last responded.
 */
export type GaugesAt = (now: Date) => readonly GaugeSample[];

/** Builds a sample whose labels are checked against the metric catalog. */
export function sample<Name extends StoredMetric>(name: Name, labels: LabelsOf<Name>, value: number): GaugeSample {
  return { name, labels, value };
}

/** Samples that depend only on an immutable object and are therefore serialized once. */
export interface KeptGauges {
  /** Object that identifies the samples: the same object means the same samples. */
  readonly of: object;
  readonly samples: () => readonly GaugeSample[];
}

/** Stored gauges at a point in time. No series occurs in both `current` and `kept`. */
export interface StoredGauges {
  /** Serialized each time. If two samples have the same name and labels, the later one wins. */
  readonly current: readonly GaugeSample[];
  /** Gauges that are serialized once. As in `current`, values that are too old to trust are omitted. */
  readonly kept: readonly KeptGauges[];
}

/** Returns the gauges for cached rows at a given time. Omits values that are too old to trust at the given time. */
export type StoredGaugesAt = (now: Date) => StoredGauges;

/** Reads the rows for the stored gauges. Rejects if the database does not respond. */
export type ReadStoredGauges = () => Promise<StoredGaugesAt>;
