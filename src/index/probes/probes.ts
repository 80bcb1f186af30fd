/** What the probes of a pipeline's parts work with and compare with, and the gauges of what they found. */

import type { Pool } from 'pg';
import type { Embedder } from '../../connectors/embedders/embedder.ts';
import type { VectorStore } from '../../connectors/stores/vector-store.ts';
import type { Context } from '../../core/context.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import type { StoreSnapshot } from '../../density/rules/store-snapshot.ts';
import { type LatestMeasurement, type MeasuredRows, valueSamples } from '../../measures/measurements.ts';
import {
  ageSeconds,
  type Measurement,
  type MeasurementGap,
  type MeasurementOutcome,
  probeTrustSeconds,
} from '../../measures/rules/measurement.ts';
import { type GaugeSample, type GaugesAt, sample } from '../../platform/metrics/meter.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import { bytesOfNumbers, bytesOfVector, numbersOfBytes, vectorOfBytes } from '../../platform/postgres/values.ts';

/** Vectors of fixed texts, as an embedder gave them when it was first met. */
export function canariesTable(pool: Pool) {
  return {
    /** In the order of the texts; null when the embedder was never met on this pipeline. */
    async find(pipeline: string, embedder: string): Promise<readonly Float32Array[] | null> {
      const rows = await queryRows<{ vector: Buffer }>(
        pool,
        'select vector from embedding_canaries where pipeline = $1::text and embedder = $2::text order by position',
        [pipeline, embedder],
      );
      return rows.length === 0 ? null : rows.map(({ vector }) => vectorOfBytes(vector));
    },

    /** Stores the vectors; those that are there already stay. */
    async save(pipeline: string, embedder: string, vectors: readonly Float32Array[], now: Date): Promise<void> {
      await pool.query(
        `insert into embedding_canaries (pipeline, embedder, position, vector, stored_at)
         select $1::text, $2::text, position - 1, vector, $4::timestamptz
           from unnest($3::bytea[]) with ordinality as canary (vector, position)
         on conflict do nothing`,
        [pipeline, embedder, vectors.map(bytesOfVector), now],
      );
    },

    /** Forgets those of a pipeline, so that the next probe stores new ones: the change is accepted. */
    async forget(pipeline: string): Promise<void> {
      await pool.query('delete from embedding_canaries where pipeline = $1::text', [pipeline]);
    },
  };
}

/** A snapshot as it is stored: with ids in place of rows of a sample that is gone. */
export interface StoredSnapshot extends Pick<StoreSnapshot, 'centroid' | 'meanLength' | 'clusters' | 'shares'> {
  readonly pipeline: string;
  readonly takenAt: Date;
  /** Sampled vectors with a direction. */
  readonly vectors: number;
  /** Share of the traffic in each cluster; null while there was none to hold against it. */
  readonly queryShares: Float64Array | null;
  /** Id of the most typical chunk of each cluster, null for an empty one. */
  readonly medoids: readonly (string | null)[];
}

const MAX_SNAPSHOTS = 30;

type SnapshotRow = Pick<StoredSnapshot, 'pipeline' | 'takenAt' | 'vectors' | 'meanLength' | 'medoids'> & {
  readonly dimensions: number;
  readonly centroid: Buffer;
  readonly clusters: Buffer;
  readonly chunkShares: readonly number[];
  readonly queryShares: readonly number[] | null;
};

const columns =
  'pipeline, taken_at, vectors, dimensions, centroid, mean_length, clusters, chunk_shares, query_shares, medoids';

/** What stores held when they were looked at. */
export function snapshotsTable(pool: Pool) {
  return {
    /** The latest one, null before the first. */
    async latest(pipeline: string): Promise<StoredSnapshot | null> {
      const rows = await queryRows<SnapshotRow>(
        pool,
        `select ${columns} from store_snapshots where pipeline = $1::text order by taken_at desc limit 1`,
        [pipeline],
      );
      return rows[0] === undefined ? null : toSnapshot(rows[0]);
    },

    /** Stores a snapshot and forgets all but the newest 30 of its pipeline. */
    async save(snapshot: StoredSnapshot): Promise<void> {
      await pool.query(
        `with newest as (
           select taken_at from store_snapshots where pipeline = $1::text order by taken_at desc limit ${MAX_SNAPSHOTS - 1}
         ), forgotten as (
           delete from store_snapshots where pipeline = $1::text and taken_at not in (select taken_at from newest)
         )
         insert into store_snapshots (${columns})
         values ($1::text, $2::timestamptz, $3::integer, $4::integer, $5::bytea, $6::double precision, $7::bytea,
                 $8::double precision[], $9::double precision[], $10::text[])
         on conflict do nothing`,
        [
          snapshot.pipeline,
          snapshot.takenAt,
          snapshot.vectors,
          snapshot.clusters.columns,
          bytesOfNumbers(snapshot.centroid),
          snapshot.meanLength,
          bytesOfVector(snapshot.clusters.data),
          [...snapshot.shares],
          snapshot.queryShares === null ? null : [...snapshot.queryShares],
          [...snapshot.medoids],
        ],
      );
    },
  };
}

function toSnapshot({ dimensions, chunkShares, queryShares, ...row }: SnapshotRow): StoredSnapshot {
  return {
    ...row,
    centroid: numbersOfBytes(row.centroid),
    clusters: { rows: chunkShares.length, columns: dimensions, data: vectorOfBytes(row.clusters) },
    shares: Float64Array.from(chunkShares),
    queryShares: queryShares && Float64Array.from(queryShares),
  };
}

const infoOf = { index: 'recalld_index_info', embedder: 'recalld_embedder_info', judge: 'recalld_judge_info' } as const;

/** What is too old to trust is withheld. */
export async function readProbeGauges({ db, pipelines }: Context, { measurements }: MeasuredRows): Promise<GaugesAt> {
  const watched = new Set(pipelines.map(({ name }) => name));
  const own = measurements.filter(({ pipeline }) => watched.has(pipeline));
  const infos = (await db.live.deployments.fingerprints())
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

/** Ids in one question to the store. */
const BATCH = 500;

/** Never fails but by `signal`: a store that cannot answer makes it unknown which documents it has, with the reason. */
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
      reason: 'The config names no vector_store, so recalld cannot probe whether judged documents still exist.',
    };
  }
  const existing = new Set<string>();
  for (let start = 0; start < ids.length; start += BATCH) {
    const answer = await store.existing(ids.slice(start, start + BATCH), signal);
    if (answer.kind === 'unsupported') return { kind: 'unknown', reason: answer.reason };
    if (answer.kind === 'failed') return { kind: 'unknown', reason: answer.message };
    for (const id of answer.value) existing.add(id);
  }
  return { kind: 'probed', existing };
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
