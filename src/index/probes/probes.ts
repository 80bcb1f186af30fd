/** The stored state of probes, and gauges of their results. */

import type { Pool } from 'pg';
import type { Embedder } from '../../connectors/embedders/embedder.ts';
import { inPortions } from '../../connectors/stores/store-rows.ts';
import type { StoreOutcome, VectorStore } from '../../connectors/stores/vector-store.ts';
import type { Context } from '../../core/context.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import type { StoreCenter } from '../../density/rules/store-snapshot.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';
import { type LatestMeasurement, type MeasuredRows, valueSamples } from '../../measures/measurements.ts';
import {
  ageSeconds,
  type Measurement,
  type MeasurementGap,
  type MeasurementOutcome,
  probeTrustSeconds,
} from '../../measures/rules/measurement.ts';
import { type GaugeSample, type GaugesAt, sample } from '../../platform/metrics/meter.ts';
import { queryRow, queryRows } from '../../platform/postgres/rows.ts';
import { bytesOfNumbers, bytesOfVector, numbersOfBytes, vectorOfBytes } from '../../platform/postgres/values.ts';

/** Canary vectors: the vectors that an embedder returned for fixed texts in its first probe. */
export function canariesTable(pool: Pool) {
  return {
    /** Returns the vectors in the order of the texts; null before the first probe of the embedder in this pipeline. */
    async find(pipeline: string, embedder: string): Promise<readonly Float32Array[] | null> {
      const rows = await queryRows<{ vector: Buffer }>(
        pool,
        'select vector from embedding_canaries where pipeline = $1::text and embedder = $2::text order by position',
        [pipeline, embedder],
      );
      return rows.length === 0 ? null : rows.map(({ vector }) => vectorOfBytes(vector));
    },

    /** Stores the vectors if none are stored yet. */
    async save(pipeline: string, embedder: string, vectors: readonly Float32Array[], now: Date): Promise<void> {
      await pool.query(
        `insert into embedding_canaries (pipeline, embedder, position, vector, stored_at)
         select $1::text, $2::text, position - 1, vector, $4::timestamptz
           from unnest($3::bytea[]) with ordinality as canary (vector, position)
         on conflict do nothing`,
        [pipeline, embedder, vectors.map(bytesOfVector), now],
      );
    },
  };
}

export function snapshotsTable(pool: Pool) {
  return {
    async latest(pipeline: string): Promise<StoreCenter | null> {
      const row = await queryRow<{ centroid: Buffer; meanLength: number }>(
        pool,
        `select centroid, mean_length from store_snapshots where pipeline = $1::text`,
        [pipeline],
      );
      return row && { ...row, centroid: numbersOfBytes(row.centroid) };
    },

    /** Replaces the snapshot of the pipeline, unless a newer one is stored. */
    async save(pipeline: string, takenAt: Date, { centroid, meanLength }: StoreCenter): Promise<void> {
      await pool.query(
        `insert into store_snapshots as stored (pipeline, taken_at, centroid, mean_length)
         values ($1::text, $2::timestamptz, $3::bytea, $4::double precision)
         on conflict (pipeline) do update
           set taken_at = excluded.taken_at, centroid = excluded.centroid, mean_length = excluded.mean_length
         where stored.taken_at < excluded.taken_at`,
        [pipeline, takenAt, bytesOfNumbers(centroid), meanLength],
      );
    },
  };
}

const infoOf = { index: 'recalld_index_info', embedder: 'recalld_embedder_info', judge: 'recalld_judge_info' } as const;

/** Returns the probe gauges, without stale values. */
export async function readProbeGauges(context: Context, { measurements }: MeasuredRows): Promise<GaugesAt> {
  const watched = new Set(context.pipelines.map(({ name }) => name));
  const own = measurements.filter(({ pipeline }) => watched.has(pipeline));
  const infos = (await context.db.live.deployments.fingerprints())
    .filter(({ pipeline }) => watched.has(pipeline))
    .map(({ pipeline, component, fingerprint }) => sample(infoOf[component], { pipeline, fingerprint }, 1));
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

const BATCH = 500;

/**
 * Looks up documents in the store. Returns `unknown` if no store is configured, or if the store does not respond.
 * Rejects only if `signal` aborts, with `signal.reason`.
 */
export async function existingDocuments(
  ids: readonly string[],
  store: VectorStore | null,
  signal: AbortSignal,
): Promise<
  | { readonly kind: 'probed'; readonly existing: ReadonlySet<string> }
  | { readonly kind: 'unknown'; readonly reason: string }
> {
  if (store === null) {
    return {
      kind: 'unknown',
      reason: 'No vector_store is configured, so recalld cannot check whether judged documents still exist.',
    };
  }
  const existing = new Set<string>();
  for (const portion of inPortions(ids, BATCH)) {
    const answer = await store.existing(portion, signal);
    if (answer.kind !== 'ok') return { kind: 'unknown', reason: noValueOf(answer).message };
    for (const id of answer.value) existing.add(id);
  }
  return { kind: 'probed', existing };
}

/** A pipeline with the connectors that recalld can probe; a connector is null if it is not configured. */
export interface ProbedPipeline {
  readonly name: string;
  readonly store: VectorStore | null;
  readonly embedder: Embedder | null;
  /**
   * Maximum number of live queries per recall probe, each of which needs an exact search. A limit of 0 disables the
   * probe.
   */
  readonly annRecall: { readonly queries: number; readonly k: number };
}

/** Thrown if a measure has no value; contains the reason. */
export class NoValueError extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

export function noValueOf(outcome: Exclude<StoreOutcome<unknown>, { kind: 'ok' }>): NoValueError {
  return outcome.kind === 'unsupported'
    ? new NoValueError('unsupported', outcome.reason)
    : new NoValueError('store_failed', outcome.message);
}

/** @throws NoValueError */
export function valueOf<Value>(outcome: StoreOutcome<Value>): Value {
  if (outcome.kind === 'ok') return outcome.value;
  throw noValueOf(outcome);
}

/** @throws NoValueError */
export async function vectorsOf(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const answer = await embedder.embed(texts, signal);
  if (answer.kind === 'failed') throw new NoValueError('embedder_failed', answer.message);
  if (answer.vectors.length < texts.length)
    throw new NoValueError('embedder_failed', 'The embedder returned too few vectors.');
  return answer.vectors;
}

/** Returns the outcomes of `work` or, if `work` throws NoValueError, an outcome that states why there is no value. */
export async function outcomesOrGap(
  pipeline: string,
  measure: string,
  now: Date,
  work: () => Promise<readonly MeasurementOutcome[]>,
): Promise<readonly MeasurementOutcome[]> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof NoValueError)) throw error;
    return [gapNow(pipeline, measure, now, error.reason, { message: error.message })];
  }
}

/** Returns a share of n with its 95 % confidence interval. */
export function measuredShare(count: number, n: number): MeasuredValue {
  const { low, high } = wilsonInterval(count / n, n, 0.95);
  return { value: count / n, n, ciLow: low, ciHigh: high, ciMethod: 'wilson' };
}

export type MeasuredValue = Partial<Measurement> & Pick<Measurement, 'value' | 'n'>;

/** Builds a measurement with the current time. */
export function valueNow(pipeline: string, measure: string, now: Date, value: MeasuredValue): MeasurementOutcome {
  const when = { windowStart: now, windowEnd: now, measuredAt: now };
  const unknown = { ciLow: null, ciHigh: null, ciMethod: null, details: {} };
  return { kind: 'value', pipeline, measure, segment: ALL_SEGMENT, ...when, ...unknown, ...value };
}

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
