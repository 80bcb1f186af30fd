/** What the probes of a pipeline's parts work with, and the gauges of what they found. */
import type { Clock } from '../clock.ts';
import type { Deployments } from '../deployments/deployments.ts';
import type { Embedder } from '../embedders/embedder.ts';
import { judgedDocuments, type LabelProbe, probeLabels } from '../golden/rules/labels.ts';
import type { LiveSamples } from '../live/sql/live-samples.ts';
import type { Logger } from '../logger.ts';
import { type MeasuredRows, valueSamples } from '../measures/gauges.ts';
import type { LatestMeasurement, Measurements } from '../measures/measurements.ts';
import {
  ageSeconds,
  type Measurement,
  type MeasurementGap,
  type MeasurementOutcome,
  probeTrustSeconds,
} from '../measures/rules/measurement.ts';
import { type GaugeSample, type GaugesAt, sample } from '../metrics/meter.ts';
import { ALL_SEGMENT, type GoldenQuery } from '../model.ts';
import type { VectorStore } from '../stores/vector-store.ts';
import type { CanariesTable } from './probe-tables.ts';

const infoOf = { index: 'recalld_index_info', embedder: 'recalld_embedder_info', judge: 'recalld_judge_info' } as const;

interface ProbeGaugesDeps {
  readonly deployments: Pick<Deployments, 'fingerprints'>;
  /** Names of the pipelines of the config; what is stored of others is left out. */
  readonly pipelines: readonly string[];
}

/** What is too old to trust is withheld. */
export async function readProbeGauges(
  { deployments, pipelines }: ProbeGaugesDeps,
  { measurements }: MeasuredRows,
): Promise<GaugesAt> {
  const watched = new Set(pipelines);
  const own = measurements.filter(({ pipeline }) => watched.has(pipeline));
  const infos = (await deployments.fingerprints())
    .filter(({ pipeline }) => watched.has(pipeline))
    .map(({ pipeline, part, fingerprint }) => sample(infoOf[part], { pipeline, fingerprint }, 1));
  return (now) => [...own.flatMap((one) => probeSamples(one, now)), ...infos];
}

function probeSamples({ pipeline, measure, newest, gap }: LatestMeasurement, now: Date): GaugeSample[] {
  const trustSeconds = probeTrustSeconds(measure);
  if (trustSeconds === null) return [];
  const samples: GaugeSample[] = [];
  if (newest !== null) {
    const at = newest.measuredAt.getTime() / 1000;
    samples.push(sample('recalld_probe_last_success_timestamp_seconds', { pipeline, measure }, at));
  }
  if (gap !== null && ageSeconds(gap.measuredAt, now) <= trustSeconds) {
    return [...samples, sample('recalld_probe_no_data', { pipeline, measure, reason: gap.reason }, 1)];
  }
  if (newest === null) return samples;
  const age = ageSeconds(newest.measuredAt, now);
  if (age > trustSeconds) return samples;
  const own = valueSamples({ pipeline, segment: ALL_SEGMENT, measure, newest });
  if (measure === 'store_sample_vectors') own.push(sample('recalld_store_sample_age_seconds', { pipeline }, age));
  if (measure === 'ann_recall')
    own.push(sample('recalld_ann_recall_queries', { pipeline, k: String(newest.details['k']) }, newest.n));
  if (measure === 'repeat_density') own.push(sample('recalld_repeat_density_queries', { pipeline }, newest.n));
  return [...samples, ...own];
}

/** Ids in one question to the store. */
const BATCH = 500;

/** Never fails: a store that cannot answer makes the state of the labels unknown, with the reason. */
export async function probeStoredLabels(
  queries: readonly GoldenQuery[],
  relevanceLevel: number,
  store: VectorStore | null,
  signal: AbortSignal,
): Promise<LabelProbe> {
  if (store === null) {
    return {
      kind: 'unknown',
      reason: 'The config names no vector_store, so nobody can look whether judged documents still exist.',
    };
  }
  const ids = judgedDocuments(queries);
  const existing = new Set<string>();
  for (let start = 0; start < ids.length; start += BATCH) {
    const answer = await store.existing(ids.slice(start, start + BATCH), signal);
    if (answer.kind === 'unsupported') return { kind: 'unknown', reason: answer.reason };
    if (answer.kind === 'failed') return { kind: 'unknown', reason: answer.message };
    for (const id of answer.value) existing.add(id);
  }
  return probeLabels(queries, existing, relevanceLevel);
}

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
  value: Pick<Measurement, 'value' | 'n'> & Partial<Pick<Measurement, 'ciLow' | 'ciHigh' | 'ciMethod' | 'details'>>,
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
