/**
 * Pipelines, golden sets and checks of the configs that schedulers run with, in PostgreSQL: what is in force, what has
 * left, and how long the rows of a pipeline are kept whose config is gone.
 */

import type { Pool, PoolClient } from 'pg';
import { MINUTE_MS } from '../../core/time.ts';
import { insertRows, queryRows } from '../../platform/postgres/rows.ts';

export interface PartKey {
  readonly pipeline: string;
  readonly kind: 'pipeline' | 'golden_set' | 'check';
  /** Of a pipeline its own. */
  readonly name: string;
}

export interface ConfiguredPart extends PartKey {
  /** Days that live queries are kept; null for what is no pipeline. */
  readonly retentionDays: number | null;
}

export interface KnownPart extends PartKey {
  /** Since when no scheduler has it in its config; null while one does. */
  readonly endedAt: Date | null;
}

/** For so long a part may be missing from every scheduler, as in a rolling deployment, before it has ended. */
export const GRACE_MS = 5 * MINUTE_MS;

export type ConfiguredParts = ReturnType<typeof createConfiguredParts>;

export function createConfiguredParts(pool: Pool) {
  return {
    /** Says that the config of a scheduler has these; a part that had ended is there again. */
    async see(parts: readonly ConfiguredPart[], now: Date): Promise<void> {
      const columns = {
        pipeline: 'text',
        kind: 'text',
        name: 'text',
        retentionDays: 'integer',
        seenAt: 'timestamptz',
      } as const;
      const seen = parts.map((part) => ({ ...part, seenAt: now }));
      await insertRows(
        pool,
        'configured_parts as old',
        columns,
        seen,
        `order by 1, 2, 3
         on conflict (pipeline, kind, name) do update
           set retention_days = excluded.retention_days, seen_at = greatest(old.seen_at, excluded.seen_at), ended_at = null`,
      );
    },

    /** Those of a pipeline that any config ever had. */
    async of(pipeline: string): Promise<readonly KnownPart[]> {
      return queryRows<KnownPart>(
        pool,
        `select pipeline, kind, name, ended_at from configured_parts where pipeline = $1::text`,
        [pipeline],
      );
    },

    /** Days that the live queries of each pipeline are kept, those that left the config too. */
    async retentionDays(): Promise<ReadonlyMap<string, number>> {
      const rows = await queryRows<{ pipeline: string; days: number }>(
        pool,
        `select pipeline, retention_days as days from configured_parts
          where kind = 'pipeline' and retention_days is not null`,
      );
      return new Map(rows.map(({ pipeline, days }) => [pipeline, days]));
    },

    /**
     * Forgets pipelines and checks that ended so long ago that no live query of theirs is left, and with a pipeline the
     * queries of its baseline, which outlive the live ones while it is watched.
     */
    async forget(now: Date): Promise<void> {
      await pool.query(
        `with gone as (
           delete from configured_parts part
            where kind <> 'golden_set' and ended_at is not null
              and ended_at < $1::timestamptz - make_interval(days => 2 + coalesce(
                    (select max(p.retention_days) from configured_parts p where p.pipeline = part.pipeline), 0))
           returning pipeline, kind)
         delete from density_baseline_queries
          where pipeline in (select pipeline from gone where kind = 'pipeline')`,
        [now],
      );
    },
  };
}

/**
 * Ends what no scheduler has had for the time of grace.
 *
 * @returns all parts that have ended, now or before
 */
export async function endParts(client: PoolClient, now: Date): Promise<readonly PartKey[]> {
  await client.query(
    'update configured_parts set ended_at = $1::timestamptz where ended_at is null and seen_at < $2::timestamptz',
    [now, new Date(now.getTime() - GRACE_MS)],
  );
  return queryRows<PartKey>(
    client,
    'select pipeline, kind, name from configured_parts where ended_at is not null order by 1, 2, 3',
  );
}

/** Golden sets that left the config of their pipeline, as `pipeline set`. */
export async function endedGoldenSets(pool: Pool): Promise<ReadonlySet<string>> {
  const rows = await queryRows<{ key: string }>(
    pool,
    `select pipeline || ' ' || name as key from configured_parts where kind = 'golden_set' and ended_at is not null`,
  );
  return new Set(rows.map(({ key }) => key));
}
