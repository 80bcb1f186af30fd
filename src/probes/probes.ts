/** What the probes of a pipeline's parts work with. */

import type { Clock } from '../clock.ts';
import type { Deployments } from '../deployments/deployments.ts';
import type { Embedder } from '../embedders/embedder.ts';
import type { LiveSamples } from '../live/sql/live-samples.ts';
import type { Logger } from '../logger.ts';
import type { Measurements } from '../measures/measurements.ts';
import type { Measurement, MeasurementGap, MeasurementOutcome } from '../measures/rules/measurement.ts';
import { ALL_SEGMENT } from '../model.ts';
import type { VectorStore } from '../stores/vector-store.ts';
import type { CanariesTable } from './probe-tables.ts';

export interface ProbeDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly deployments: Deployments;
  readonly measurements: Measurements;
  readonly canaries: CanariesTable;
  readonly samples: LiveSamples;
}

/** A pipeline with the parts that can be probed. */
export interface ProbedPipeline {
  readonly name: string;
  /** The store behind the retriever; null when the config names none. */
  readonly store: VectorStore | null;
  /** Null when the config names none. */
  readonly embedder: Embedder | null;
  readonly annRecall: AnnRecallSettings;
}

interface AnnRecallSettings {
  /** Most live queries that are searched twice, 0 for none; exact searches cost the store much. */
  readonly queries: number;
  readonly k: number;
}

/** A value that holds for the moment. */
export function valueNow(
  pipeline: string,
  measure: string,
  now: Date,
  value: Pick<Measurement, 'value' | 'n'> &
    Partial<Pick<Measurement, 'ciLow' | 'ciHigh' | 'ciMethod' | 'details'>>,
): MeasurementOutcome {
  const when = { windowStart: now, windowEnd: now, measuredAt: now };
  const unknown = { ciLow: null, ciHigh: null, ciMethod: null, details: {} };
  return { kind: 'value', pipeline, measure, segment: ALL_SEGMENT, ...when, ...unknown, ...value };
}

/** Why there is no value at the moment. */
export function gapNow(
  pipeline: string,
  measure: string,
  now: Date,
  reason: string,
  details: MeasurementGap['details'] = {},
): MeasurementOutcome {
  const when = { windowStart: now, windowEnd: now, measuredAt: now };
  return { kind: 'no_data', pipeline, measure, segment: ALL_SEGMENT, ...when, reason, details };
}
