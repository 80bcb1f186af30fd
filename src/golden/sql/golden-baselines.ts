/** The runs that others are compared with, pinned by people: at most one for each pipeline and golden set. */
import type { Pool } from 'pg';
import { inTransaction, takeTurn } from '../../postgres/transaction.ts';
import type { NoiseTable } from '../rules/rerun-noise.ts';

/** A run that others are compared with. */
export interface GoldenBaseline {
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly runId: string;
  readonly note: string | null;
  readonly pinnedAt: Date;
  /** Null while it is pinned. */
  readonly unpinnedAt: Date | null;
  /** How much reruns of the retriever differ by themselves; empty when that was not measured. */
  readonly noise: NoiseTable;
}

const selectBaseline = `
  select pipeline, golden_set as "goldenSet", run_id as "runId", note, noise,
         pinned_at as "pinnedAt", unpinned_at as "unpinnedAt"
    from golden_baselines`;

const unpinSql = `
  update golden_baselines set unpinned_at = $3::timestamptz
   where pipeline = $1::text and golden_set = $2::text and unpinned_at is null`;

export type GoldenBaselines = ReturnType<typeof createGoldenBaselines>;

export function createGoldenBaselines(pool: Pool) {
  return {
    async pinned(pipeline: string, goldenSet: string): Promise<GoldenBaseline | null> {
      const { rows } = await pool.query<GoldenBaseline>(
        `${selectBaseline} where pipeline = $1::text and golden_set = $2::text and unpinned_at is null`,
        [pipeline, goldenSet],
      );
      return rows[0] ?? null;
    },

    /** Pins a run in place of what was pinned before. */
    async pin(baseline: Omit<GoldenBaseline, 'unpinnedAt'>): Promise<void> {
      const { pipeline, goldenSet, runId, note, noise, pinnedAt } = baseline;
      await inTransaction(pool, async (client) => {
        // Two who pin at once wait here for each other, so that the second one replaces the first.
        await takeTurn(client, 'golden baseline', pipeline, goldenSet);
        await client.query(unpinSql, [pipeline, goldenSet, pinnedAt]);
        await client.query(
          `insert into golden_baselines (pipeline, golden_set, run_id, note, noise, pinned_at)
           values ($1::text, $2::text, $3::text, $4::text, $5::jsonb, $6::timestamptz)`,
          [pipeline, goldenSet, runId, note, JSON.stringify(noise), pinnedAt],
        );
      });
    },

    /** False when nothing was pinned. */
    async unpin(pipeline: string, goldenSet: string, now: Date): Promise<boolean> {
      const { rowCount } = await pool.query(unpinSql, [pipeline, goldenSet, now]);
      return rowCount === 1;
    },

    /** Newest first, those that are no longer pinned too. */
    async list(filter: { readonly pipeline?: string; readonly limit: number }): Promise<readonly GoldenBaseline[]> {
      const { rows } = await pool.query<GoldenBaseline>(
        `${selectBaseline} where $1::text is null or pipeline = $1::text
          order by pinned_at desc, id desc limit $2::integer`,
        [filter.pipeline ?? null, filter.limit],
      );
      return rows;
    },
  };
}
