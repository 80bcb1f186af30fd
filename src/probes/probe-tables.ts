/** What the probes of embedder and store compare with, in PostgreSQL. */
import type { Pool } from 'pg';
import type { StoreSnapshot } from '../density/rules/store-snapshot.ts';
import { bytesOfNumbers, bytesOfVector, numbersOfBytes, vectorOfBytes } from '../postgres/values.ts';

/** Vectors of fixed texts, as an embedder gave them when it was first met. */
export function canariesTable(pool: Pool) {
  return {
    /** In the order of the texts; null when the embedder was never met on this pipeline. */
    async find(pipeline: string, embedder: string): Promise<readonly Float32Array[] | null> {
      const { rows } = await pool.query<{ vector: Buffer }>(
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

export type CanariesTable = ReturnType<typeof canariesTable>;

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

interface SnapshotRow {
  pipeline: string;
  taken_at: Date;
  vectors: number;
  dimensions: number;
  centroid: Buffer;
  mean_length: number;
  clusters: Buffer;
  chunk_shares: number[];
  query_shares: number[] | null;
  medoids: (string | null)[];
}

const columns =
  'pipeline, taken_at, vectors, dimensions, centroid, mean_length, clusters, chunk_shares, query_shares, medoids';

/** What stores held when they were looked at. */
export function snapshotsTable(pool: Pool) {
  return {
    /** The latest one, null before the first. */
    async latest(pipeline: string): Promise<StoredSnapshot | null> {
      const { rows } = await pool.query<SnapshotRow>(
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

export type SnapshotsTable = ReturnType<typeof snapshotsTable>;

function toSnapshot(row: SnapshotRow): StoredSnapshot {
  return {
    pipeline: row.pipeline,
    takenAt: row.taken_at,
    vectors: row.vectors,
    centroid: numbersOfBytes(row.centroid),
    meanLength: row.mean_length,
    clusters: { rows: row.chunk_shares.length, columns: row.dimensions, data: vectorOfBytes(row.clusters) },
    shares: Float64Array.from(row.chunk_shares),
    queryShares: row.query_shares === null ? null : Float64Array.from(row.query_shares),
    medoids: row.medoids,
  };
}
