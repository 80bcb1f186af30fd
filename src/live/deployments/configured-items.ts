/**
 * Pipelines, golden sets and checks in the configs of the running schedulers. The table shows what is configured now,
 * what was removed, and the retention of pipelines that are no longer configured.
 */

import type { Pool, PoolClient } from 'pg';
import { MINUTE_MS } from '../../core/time.ts';
import { insertRows, queryRows } from '../../platform/postgres/rows.ts';

export interface ItemKey {
  readonly pipeline: string;
  readonly kind: 'pipeline' | 'golden_set' | 'check';
  /** Name of the golden set or check; the pipeline name for a pipeline. */
  readonly name: string;
}

export interface ConfiguredItem extends ItemKey {
  /** Retention of live queries; null for golden sets and checks. */
  readonly retentionDays: number | null;
}

export interface KnownItem extends ItemKey {
  /** When the item was removed from the last config that contained it; null while it is configured. */
  readonly endedAt: Date | null;
}

/**
 * Grace period for rolling deployments: an item counts as removed if it has been missing from every scheduler's config
 * for this long.
 */
export const GRACE_MS = 5 * MINUTE_MS;

export type ConfiguredItems = ReturnType<typeof createConfiguredItems>;

export function createConfiguredItems(pool: Pool) {
  return {
    /**
     * Records that a scheduler's config contains these items. Items that were removed earlier count as configured
     * again.
     */
    async recordSeen(items: readonly ConfiguredItem[], now: Date): Promise<void> {
      const columns = {
        pipeline: 'text',
        kind: 'text',
        name: 'text',
        retentionDays: 'integer',
        seenAt: 'timestamptz',
      } as const;
      const seen = items.map((item) => ({ ...item, seenAt: now }));
      await insertRows(
        pool,
        'configured_items as old',
        columns,
        seen,
        `order by 1, 2, 3
         on conflict (pipeline, kind, name) do update
           set retention_days = excluded.retention_days, seen_at = greatest(old.seen_at, excluded.seen_at), ended_at = null`,
      );
    },

    /** Returns all items of a pipeline that were ever configured. */
    async ofPipeline(pipeline: string): Promise<readonly KnownItem[]> {
      return queryRows<KnownItem>(
        pool,
        `select pipeline, kind, name, ended_at from configured_items where pipeline = $1::text`,
        [pipeline],
      );
    },

    /** Returns the retention of live queries, keyed by pipeline, including pipelines that are no longer configured. */
    async retentionDays(): Promise<ReadonlyMap<string, number>> {
      const rows = await queryRows<{ pipeline: string; days: number }>(
        pool,
        `select pipeline, retention_days as days from configured_items
          where kind = 'pipeline' and retention_days is not null`,
      );
      return new Map(rows.map(({ pipeline, days }) => [pipeline, days]));
    },

    /**
     * Deletes pipelines and checks that were removed so long ago that none of their live queries remain. Also deletes
     * the baseline queries of these pipelines: only configured pipelines keep baseline queries for longer than live
     * queries.
     */
    async prune(now: Date): Promise<void> {
      await pool.query(
        `with removed as (
           delete from configured_items item
            where kind <> 'golden_set' and ended_at is not null
              and ended_at < $1::timestamptz - make_interval(days => 2 + coalesce(
                    (select max(p.retention_days) from configured_items p where p.pipeline = item.pipeline), 0))
           returning pipeline, kind)
         delete from density_baseline_queries
          where pipeline in (select pipeline from removed where kind = 'pipeline')`,
        [now],
      );
    },
  };
}

/**
 * Marks items as removed if no scheduler has reported them within the grace period.
 *
 * @returns all removed items, including items removed earlier
 */
export async function endMissingItems(client: PoolClient, now: Date): Promise<readonly ItemKey[]> {
  await client.query(
    'update configured_items set ended_at = $1::timestamptz where ended_at is null and seen_at < $2::timestamptz',
    [now, new Date(now.getTime() - GRACE_MS)],
  );
  return queryRows<ItemKey>(
    client,
    'select pipeline, kind, name from configured_items where ended_at is not null order by 1, 2, 3',
  );
}

/** Returns the golden sets that were removed from the config of their pipeline, each as the key `<pipeline> <set>`. */
export async function endedGoldenSets(pool: Pool): Promise<ReadonlySet<string>> {
  const rows = await queryRows<{ key: string }>(
    pool,
    `select pipeline || ' ' || name as key from configured_items where kind = 'golden_set' and ended_at is not null`,
  );
  return new Set(rows.map(({ key }) => key));
}
