/** Query density baselines in PostgreSQL. Versions are immutable. */

import type { Pool, PoolClient } from 'pg';
import { matrixOf } from '../math/vector/matrix.ts';
import { insertRows, queryRow, queryRows } from '../platform/postgres/rows.ts';
import { inTransaction, lockInTransaction } from '../platform/postgres/transaction.ts';
import { bytesOfNumbers, bytesOfVector, numbersOfBytes, vectorOfBytes } from '../platform/postgres/values.ts';
import type { FrozenBaseline } from './rules/baseline.ts';
import type { Regions } from './rules/baseline-spread.ts';
import type { ScorePair } from './rules/query-density.ts';
import type { BaselineScores } from './rules/query-score.ts';

export interface StoredBaseline {
  readonly pipeline: string;
  /** Version number, starting at 1 for each pipeline. */
  readonly version: number;
  readonly createdAt: Date;
  /** Reason for building the baseline, as shown to users. */
  readonly reason: string;
  readonly baseline: FrozenBaseline;
  /** Mean direction of the chunks, for use in `coverageScore`; empty if unknown. */
  readonly storeMean: Float64Array;
  /**
   * Number of sessions that the retained tail represents; less than the total if only a share of the tail is retained.
   */
  readonly tailSessions: number;
}

export interface RetainedQuery {
  readonly id: string;
  readonly userHash: string | null;
  /** Name of the session, unique within its window. */
  readonly session: string;
  readonly score: number;
  readonly surprise: number;
  /** Ids and cosines of the chunks that were nearest to the query when the baseline was built. */
  readonly nearest: readonly (readonly [string, number])[];
  readonly vector: Float32Array;
  /**
   * Number of sessions with this reference query in each half of the baseline (see `ReferenceQueries`); null for other
   * roles.
   */
  readonly counts: readonly [number, number] | null;
}

export type RetainedQueries = ReturnType<typeof retainedOf>;

/**
 * `tail`: the worst-covered 10 % of the baseline queries, which are searched for uncovered topics. `sample`: a random
 * sample of all baseline queries. `reference`: the queries with which live queries are compared.
 */
type RetainedRole = 'tail' | 'sample' | 'reference';

interface Summary extends Omit<FrozenBaseline, 'regions' | 'scores' | 'period'> {
  readonly period: { readonly from: string; readonly until: string };
  readonly shape: ArrayShape;
  readonly tailSessions: number;
}

type BaselineRow = Omit<StoredBaseline, 'baseline' | 'storeMean' | 'tailSessions'> & {
  readonly summary: Summary;
  readonly arrays: Buffer;
};

type RetainedRow = Omit<RetainedQuery, 'vector'> & { readonly vector: Buffer };

const RETAINED = 'id, user_hash, session, score, surprise, nearest, vector, counts';

export function baselinesTable(pool: Pool) {
  return {
    /** @returns the version number */
    save: (
      stored: Omit<StoredBaseline, 'version'>,
      retained: Readonly<Record<RetainedRole, readonly RetainedQuery[]>>,
    ): Promise<number> =>
      inTransaction(pool, async (client) => {
        const version = await insertBaseline(client, stored);
        for (const role of ['tail', 'sample', 'reference'] as const) {
          await insertRetained(client, stored.pipeline, version, role, retained[role]);
        }
        return version;
      }),

    async find(pipeline: string, version: number): Promise<StoredBaseline | null> {
      const row = await queryRow<BaselineRow>(
        pool,
        `select pipeline, version, created_at, reason, summary, arrays from density_baselines
          where pipeline = $1::text and version = $2::integer`,
        [pipeline, version],
      );
      return row && toStored(row);
    },

    /** Returns the retained queries that have not been erased. */
    async retained(pipeline: string, version: number, role: RetainedRole): Promise<RetainedQueries> {
      const rows = await queryRows<RetainedRow>(
        pool,
        `select ${RETAINED} from density_baseline_queries
          where pipeline = $1::text and version = $2::integer and role = $3::text order by id`,
        [pipeline, version, role],
      );
      return retainedOf(rows);
    },

    /**
     * Returns the cosine of each sample query to its nearest chunk, in ascending order; -1 if the store returned no
     * chunk.
     */
    async similarities(pipeline: string, version: number): Promise<Float64Array> {
      const rows = await queryRows<{ similarity: number }>(
        pool,
        `select coalesce((nearest->0->>1)::double precision, -1) as similarity from density_baseline_queries
          where pipeline = $1::text and version = $2::integer and role = 'sample' order by 1`,
        [pipeline, version],
      );
      return Float64Array.from(rows, ({ similarity }) => similarity);
    },

    /**
     * Returns the sampled queries that have not been replayed since `since`; those that have waited longest come first.
     */
    async dueForReplay(pipeline: string, version: number, since: Date, limit: number): Promise<RetainedQueries> {
      const rows = await queryRows<RetainedRow>(
        pool,
        `select ${RETAINED} from density_baseline_queries
          where pipeline = $1::text and version = $2::integer and role = 'sample'
            and (replayed_at is null or replayed_at < $3::timestamptz)
          order by replayed_at nulls first, md5(id), id limit $4::integer`,
        [pipeline, version, since, limit],
      );
      return retainedOf(rows);
    },

    /**
     * Records the new scores of replayed queries. The score of a query that can no longer be measured is null. Ignores
     * erased queries.
     */
    async recordReplays(
      pipeline: string,
      version: number,
      found: readonly { readonly id: string; readonly score: number | null }[],
      at: Date,
    ): Promise<void> {
      await pool.query(
        `update density_baseline_queries q set replayed_at = $3::timestamptz, replayed_score = f.score
           from unnest($4::text[], $5::double precision[]) as f (id, score)
          where q.pipeline = $1::text and q.version = $2::integer and q.role = 'sample' and q.id = f.id`,
        [pipeline, version, at, found.map(({ id }) => id), found.map(({ score }) => score)],
      );
    },

    /**
     * Returns two scores of each sample query that was replayed after `since`: in the baseline and in the latest
     * replay.
     */
    replayed: (pipeline: string, version: number, since: Date): Promise<readonly ScorePair[]> =>
      queryRows(
        pool,
        `select score as before, replayed_score as now from density_baseline_queries
          where pipeline = $1::text and version = $2::integer and role = 'sample'
            and replayed_at > $3::timestamptz and replayed_score is not null
          order by id`,
        [pipeline, version, since],
      ),

    /** Deletes the queries of earlier baseline versions; their statistics remain. */
    async releaseBefore(pipeline: string, version: number): Promise<void> {
      await pool.query(`delete from density_baseline_queries where pipeline = $1::text and version < $2::integer`, [
        pipeline,
        version,
      ]);
    },
  };
}

function retainedOf(rows: readonly RetainedRow[]) {
  return {
    queries: rows.map(({ vector: _vector, ...query }) => query),
    /** One row per query, in the order of `queries`. */
    vectors: matrixOf(rows.map(({ vector }) => vectorOfBytes(vector))),
  };
}

async function insertBaseline(
  client: PoolClient,
  { pipeline, createdAt, reason, baseline, storeMean, tailSessions }: Omit<StoredBaseline, 'version'>,
): Promise<number> {
  const { regions, scores, period, ...rest } = baseline;
  const summary: Summary = {
    ...rest,
    period: { from: period.from.toISOString(), until: period.until.toISOString() },
    shape: arrayShape({ regions, scores, storeMean }),
    tailSessions,
  };
  // If two workers build a baseline at the same time, they create two versions, and only one of them is used.
  await lockInTransaction(client, 'density baseline', pipeline);
  const row = await queryRow<{ version: number }>(
    client,
    `insert into density_baselines (pipeline, version, created_at, reason, grade, summary, arrays)
     select $1::text, coalesce(max(version), 0) + 1, $2::timestamptz, $3::text, $4::text, $5::jsonb, $6::bytea
       from density_baselines where pipeline = $1::text
     returning version`,
    [
      pipeline,
      createdAt,
      reason,
      baseline.grade,
      JSON.stringify(summary),
      bytesOfArrays({ regions, scores, storeMean }),
    ],
  );
  if (row === null) throw new Error('The database returned no density baseline.');
  return row.version;
}

async function insertRetained(
  client: PoolClient,
  pipeline: string,
  version: number,
  role: RetainedRole,
  retained: readonly RetainedQuery[],
): Promise<void> {
  const columns = {
    pipeline: 'text',
    version: 'integer',
    role: 'text',
    id: 'text',
    userHash: 'text',
    session: 'text',
    score: 'double precision',
    surprise: 'double precision',
    nearest: 'jsonb',
    vector: 'bytea',
    counts: 'jsonb',
  } as const;
  const rows = retained.map((query) => ({ ...query, pipeline, version, role, vector: bytesOfVector(query.vector) }));
  await insertRows(client, 'density_baseline_queries', columns, rows);
}

function toStored({ summary, arrays, ...stored }: BaselineRow): StoredBaseline {
  const { shape, tailSessions, period, ...rest } = summary;
  const { storeMean, ...lists } = arraysOfBytes(arrays, shape);
  return {
    ...stored,
    tailSessions,
    storeMean,
    baseline: {
      ...rest,
      period: { from: new Date(period.from), until: new Date(period.until) },
      ...lists,
    },
  };
}

// The long arrays of a baseline are stored as one concatenated byte array.

type BaselineArrays = {
  readonly regions: Regions;
  readonly scores: BaselineScores;
  readonly storeMean: Float64Array;
};

/** Lengths, in elements, of the arrays that the concatenated bytes contain. */
type ArrayShape = ReturnType<typeof arrayShape>;

function arrayShape({ regions, scores, storeMean }: BaselineArrays) {
  return {
    regions: regions.count,
    columns: regions.columns,
    scores: scores.all.length,
    regionScores: scores.regions.map(({ length }) => length),
    storeMean: storeMean.length,
  };
}

function bytesOfArrays({ regions, scores, storeMean }: BaselineArrays): Buffer {
  return Buffer.concat([regions.centroids, scores.all, ...scores.regions, storeMean].map(bytesOfNumbers));
}

/** @throws RangeError if the number of bytes does not match the lengths in `shape` */
function arraysOfBytes(bytes: Uint8Array, shape: ArrayShape): BaselineArrays {
  const numbers = numbersOfBytes(bytes);
  let at = 0;
  const take = (length: number): Float64Array => numbers.slice(at, (at += length));
  const centroids = take(shape.regions * shape.columns);
  const all = take(shape.scores);
  const regions = shape.regionScores.map(take);
  const storeMean = take(shape.storeMean);
  if (at !== numbers.length) throw new RangeError('A stored baseline does not have its declared length.');
  return {
    regions: { count: shape.regions, columns: shape.columns, centroids },
    scores: { all, regions },
    storeMean,
  };
}
