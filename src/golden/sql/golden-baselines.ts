/** The runs that others are compared with, pinned by people: at most one for each pipeline and golden set. */

import type { Pool, PoolClient } from 'pg';
import { parseMetricKey } from '../../math/ir/metric-key.ts';
import { recordActs } from '../../platform/access/audit-log.ts';
import { queryRow, queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction, lockInTransaction } from '../../platform/postgres/transaction.ts';
import type { LeftOutRun } from '../rules/clean-runs.ts';
import type { MeanScores, NoiseTable } from '../rules/run-noise.ts';

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
  /** Runs that were near, and why the noise was not learned from them. */
  readonly leftOut: readonly LeftOutRun[];
}

const selectBaseline = `
  select pipeline, golden_set, run_id, note, noise, left_out,
         pinned_at, unpinned_at
    from golden_baselines`;

/** Nothing is compared any more with the scores of what is unpinned. */
const unpinSql = `
  with gone as (
    update golden_baselines set unpinned_at = $3::timestamptz
     where pipeline = $1::text and golden_set = $2::text and unpinned_at is null returning id, run_id
  ), dropped as (
    delete from golden_baseline_scores s using gone where s.baseline_id = gone.id
  )
  select run_id from gone`;

/** The run that was pinned; null for none. */
async function unpin(
  client: PoolClient,
  pipeline: string,
  goldenSet: string,
  now: Date,
): Promise<{ readonly run_id: string } | null> {
  const rows = await queryRows<{ runId: string }>(client, unpinSql, [pipeline, goldenSet, now]);
  return rows[0] === undefined ? null : { run_id: rows[0].runId };
}

export type GoldenBaselines = ReturnType<typeof createGoldenBaselines>;

export function createGoldenBaselines(pool: Pool) {
  return {
    async pinned(pipeline: string, goldenSet: string): Promise<GoldenBaseline | null> {
      return queryRow<GoldenBaseline>(
        pool,
        `${selectBaseline} where pipeline = $1::text and golden_set = $2::text and unpinned_at is null`,
        [pipeline, goldenSet],
      );
    },

    /** What the queries of the run that is pinned scored on average over its reruns; null without reruns. */
    async means(runId: string): Promise<MeanScores | null> {
      const rows = await queryRows<{ measure: string; k: number; means: readonly number[] }>(
        pool,
        `select s.measure, s.k, array_to_json(s.means) as means
           from golden_baseline_scores s join golden_baselines b on b.id = s.baseline_id
          where b.run_id = $1::text and b.unpinned_at is null`,
        [runId],
      );
      if (rows.length === 0) return null;
      return Object.fromEntries(rows.map(({ measure, k, means }) => [`${measure}@${k}`, means]));
    },

    /**
     * Pins a run in place of what was pinned before.
     *
     * @param by who pins it
     * @param means of its queries over the reruns, in the order of the set version; left out, nothing was rerun
     */
    async pin(
      baseline: Omit<GoldenBaseline, 'unpinnedAt' | 'leftOut'>,
      by: string,
      means: MeanScores | null = null,
      leftOut: readonly LeftOutRun[] = [],
    ): Promise<void> {
      const { pipeline, goldenSet, runId, note, noise, pinnedAt } = baseline;
      await inTransaction(pool, async (client) => {
        // Two who pin at once wait here for each other, so that the second one replaces the first.
        await lockInTransaction(client, 'golden baseline', pipeline, goldenSet);
        const before = await unpin(client, pipeline, goldenSet, pinnedAt);
        const act = { at: pinnedAt, by, act: 'pin_baseline', pipeline, subject: goldenSet } as const;
        await recordActs(client, [{ ...act, before, after: { run_id: runId } }]);
        const rows = await queryRows<{ id: string }>(
          client,
          `insert into golden_baselines (pipeline, golden_set, run_id, note, noise, left_out, pinned_at)
           values ($1::text, $2::text, $3::text, $4::text, $5::jsonb, $6::jsonb, $7::timestamptz) returning id`,
          [pipeline, goldenSet, runId, note, JSON.stringify(noise), JSON.stringify(leftOut), pinnedAt],
        );
        for (const [metric, scores] of Object.entries(means ?? {})) {
          const { measure, k } = parseMetricKey(metric);
          await client.query(
            `insert into golden_baseline_scores (baseline_id, measure, k, means)
             values ($1::bigint, $2::text, $3::integer, $4::double precision[])`,
            [rows[0]?.id, measure, k, Array.from(scores)],
          );
        }
      });
    },

    /** False when nothing was pinned. */
    unpin: (pipeline: string, goldenSet: string, by: string, now: Date): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const before = await unpin(client, pipeline, goldenSet, now);
        if (before === null) return false;
        const act = { at: now, by, act: 'unpin_baseline', pipeline, subject: goldenSet } as const;
        await recordActs(client, [{ ...act, before, after: null }]);
        return true;
      }),

    /** Newest first, those that are no longer pinned too. */
    async list(filter: { readonly pipeline?: string; readonly limit: number }): Promise<readonly GoldenBaseline[]> {
      return queryRows<GoldenBaseline>(
        pool,
        `${selectBaseline} where $1::text is null or pipeline = $1::text
          order by pinned_at desc, id desc limit $2::integer`,
        [filter.pipeline ?? null, filter.limit],
      );
    },
  };
}
