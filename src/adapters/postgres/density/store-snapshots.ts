/** Snapshots of vector stores in PostgreSQL. */
import type { Pool } from 'pg';
import type { KeptSnapshot, StoreSnapshots } from '../../../ports/store-snapshots.ts';
import { bytesOfNumbers, bytesOfVector, numbersOfBytes, vectorOfBytes } from '../vector-bytes.ts';

const KEPT = 30;

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

export function createStoreSnapshots(pool: Pool): StoreSnapshots {
  return {
    async latest(pipeline) {
      const { rows } = await pool.query<SnapshotRow>(
        `select ${columns} from store_snapshots where pipeline = $1::text order by taken_at desc limit 1`,
        [pipeline],
      );
      return rows[0] === undefined ? null : toSnapshot(rows[0]);
    },

    async keep(snapshot) {
      await pool.query(
        `with newest as (
           select taken_at from store_snapshots where pipeline = $1::text order by taken_at desc limit ${KEPT - 1}
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

function toSnapshot(row: SnapshotRow): KeptSnapshot {
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
