import type { LabelsOf, MetricsOfType, StoredMetric } from './catalogue.ts';

/** What a process counts of itself. Unknown names and labels are compile errors. */
export interface Meter {
  increment<Name extends MetricsOfType<'counter'>>(name: Name, labels: LabelsOf<Name>, by?: number): void;
  /** What a gauge of this process shows from now on. */
  set<Name extends MetricsOfType<'gauge'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
  observe<Name extends MetricsOfType<'histogram'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
}

/** One value of a metric that is rebuilt from stored rows: of a gauge, or of what is counted in the database. */
export interface GaugeSample {
  readonly name: StoredMetric;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * The gauges of a part at any moment after its rows were read: what has become too old to trust by then is withheld,
 * however long ago the database last answered.
 */
export type GaugesAt = (now: Date) => readonly GaugeSample[];

/** Builds a sample whose labels are checked against the catalogue. */
export function sample<Name extends StoredMetric>(name: Name, labels: LabelsOf<Name>, value: number): GaugeSample {
  return { name, labels, value };
}

/** Samples that are a function of an object that never changes, so that whoever writes them out does it once. */
export interface KeptGauges {
  /** The same object from reading to reading as long as the samples are the same. */
  readonly of: object;
  readonly samples: () => readonly GaugeSample[];
}

/** The stored gauges at one moment. No series is in two of the parts. */
export interface StoredGauges {
  /** Told anew each time; of two samples with the same name and labels the later one counts. */
  readonly current: readonly GaugeSample[];
  /** Only what is to be shown now: what is too old to trust is left out here as well. */
  readonly kept: readonly KeptGauges[];
}

/** What rows that were read once say at any moment from then on: what is too old to trust by then is withheld. */
export type StoredGaugesAt = (now: Date) => StoredGauges;

/** Reads the rows behind the stored gauges anew; rejects when the database does not answer. */
export type ReadStoredGauges = () => Promise<StoredGaugesAt>;
