/** Baselines of query density in PostgreSQL. */
import type { Pool, PoolClient } from 'pg';
import { matrixOf } from '../../../core/vector/matrix.ts';
import type {
  DensityBaselines,
  FrozenBaseline,
  KeptQuery,
  KeptRole,
  StoredBaseline,
} from '../../../ports/density-baselines.ts';
import { takeTurn } from '../advisory-lock.ts';
import { inTransaction } from '../transaction.ts';
import { bytesOfVector, vectorOfBytes } from '../vector-bytes.ts';
import { type ArrayShape, arrayShape, arraysOfBytes, bytesOfArrays } from './baseline-arrays.ts';

/** Everything of a baseline that is no long list of numbers. */
interface Summary extends Omit<FrozenBaseline, 'regions' | 'scores' | 'period'> {
  readonly period: { readonly from: string; readonly until: string };
  readonly shape: ArrayShape;
  readonly tailSessions: number;
}

interface BaselineRow {
  version: number;
  created_at: Date;
  reason: string;
  summary: Summary;
  arrays: Buffer;
}

interface KeptRow {
  id: string;
  user_hash: string | null;
  session: string;
  score: number;
  surprise: number;
  nearest: [string, number][];
  vector: Buffer;
}

export function createDensityBaselines(pool: Pool): DensityBaselines {
  return {
    save: (stored, kept) =>
      inTransaction(pool, async (client) => {
        const version = await insertBaseline(client, stored);
        for (const role of ['tail', 'sample'] as const) {
          await insertKept(client, stored.pipeline, version, role, kept[role]);
        }
        return version;
      }),

    async find(pipeline, version) {
      const { rows } = await pool.query<BaselineRow>(
        `select version, created_at, reason, summary, arrays from density_baselines
          where pipeline = $1::text and version = $2::integer`,
        [pipeline, version],
      );
      return rows[0] === undefined ? null : toStored(pipeline, rows[0]);
    },

    async kept(pipeline, version, role) {
      const { rows } = await pool.query<KeptRow>(
        `select id, user_hash, session, score, surprise, nearest, vector from density_baseline_queries
          where pipeline = $1::text and version = $2::integer and role = $3::text order by id`,
        [pipeline, version, role],
      );
      return {
        queries: rows.map(({ id, user_hash: userHash, session, score, surprise, nearest }) => ({
          id,
          userHash,
          session,
          score,
          surprise,
          nearest,
        })),
        vectors: matrixOf(rows.map(({ vector }) => vectorOfBytes(vector))),
      };
    },

    async releaseBefore(pipeline, version) {
      await pool.query(
        `delete from density_baseline_queries where pipeline = $1::text and version < $2::integer`,
        [pipeline, version],
      );
    },
  };
}

async function insertBaseline(
  client: PoolClient,
  { pipeline, createdAt, reason, baseline, tailSessions }: Omit<StoredBaseline, 'version'>,
): Promise<number> {
  const { regions, scores, period, ...rest } = baseline;
  const summary: Summary = {
    ...rest,
    period: { from: period.from.toISOString(), until: period.until.toISOString() },
    shape: arrayShape({ regions, scores }),
    tailSessions,
  };
  // Two workers that build at once get two versions, and one of them is never used.
  await takeTurn(client, 'density baseline', pipeline);
  const { rows } = await client.query<{ version: number }>(
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
      bytesOfArrays({ regions, scores }),
    ],
  );
  const version = rows[0]?.version;
  if (version === undefined) throw new Error('a baseline was not given back by the database');
  return version;
}

async function insertKept(
  client: PoolClient,
  pipeline: string,
  version: number,
  role: KeptRole,
  kept: readonly KeptQuery[],
): Promise<void> {
  await client.query(
    `insert into density_baseline_queries (pipeline, version, role, id, user_hash, session, score, surprise, nearest, vector)
     select $1::text, $2::integer, $3::text, id, user_hash, session, score, surprise, nearest::jsonb, vector
       from unnest($4::text[], $5::text[], $6::text[], $7::double precision[], $8::double precision[], $9::text[], $10::bytea[])
         as k (id, user_hash, session, score, surprise, nearest, vector)`,
    [
      pipeline,
      version,
      role,
      kept.map((query) => query.id),
      kept.map((query) => query.userHash),
      kept.map((query) => query.session),
      kept.map((query) => query.score),
      kept.map((query) => query.surprise),
      kept.map((query) => JSON.stringify(query.nearest)),
      kept.map((query) => bytesOfVector(query.vector)),
    ],
  );
}

function toStored(pipeline: string, row: BaselineRow): StoredBaseline {
  const { shape, tailSessions, period, ...summary } = row.summary;
  return {
    pipeline,
    version: row.version,
    createdAt: row.created_at,
    reason: row.reason,
    tailSessions,
    baseline: {
      ...summary,
      period: { from: new Date(period.from), until: new Date(period.until) },
      ...arraysOfBytes(row.arrays, shape),
    },
  };
}
