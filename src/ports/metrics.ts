import type { LabelsOf, MetricsOfType } from '../metrics/catalogue.ts';

/** What a process counts of itself. Unknown names and labels are compile errors. */
export interface Meter {
  increment<Name extends MetricsOfType<'counter'>>(name: Name, labels: LabelsOf<Name>, by?: number): void;
  observe<Name extends MetricsOfType<'histogram'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
}

/** One value of a gauge that is rebuilt from stored rows. */
export interface GaugeSample {
  readonly name: MetricsOfType<'gauge'>;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Builds a sample whose labels are checked against the catalogue. */
export function sample<Name extends MetricsOfType<'gauge'>>(
  name: Name,
  labels: LabelsOf<Name>,
  value: number,
): GaugeSample {
  return { name, labels, value };
}

/** Reads the stored gauges anew; rejects when the database does not answer. */
export type ReadStoredGauges = () => Promise<readonly GaugeSample[]>;
