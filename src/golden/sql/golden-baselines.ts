/** Pinned baseline runs: at most one per pipeline and golden set. */

import type { Pool, PoolClient } from 'pg';
import type { Scope } from '../../core/context.ts';
import { parseMetricKey } from '../../math/ir/metric-key.ts';
import { recordActs } from '../../platform/access/audit-log.ts';
import { queryRow, queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction, lockInTransaction } from '../../platform/postgres/transaction.ts';
import { visible } from '../../platform/postgres/visible.ts';
import type { ExcludedRun } from '../rules/clean-runs.ts';
import type { MeanScores, NoiseTable } from '../rules/run-noise.ts';

export interface GoldenBaseline {
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly runId: string;
  readonly note: string | null;
  readonly pinnedAt: Date;
  readonly unpinnedAt: Date | null;
  /** Noise between reruns of an unchanged retriever; empty if it was not measured. */
  readonly noise: NoiseTable;
  /** Runs that were excluded from the noise measurement, each with the reason. */
  readonly excludedRuns: readonly ExcludedRun[];
}

const selectBaseline = `
  select pipeline, golden_set, run_id, note, noise, excluded_runs,
         pinned_at, unpinned_at
    from golden_baselines`;

/** Unpins a baseline and deletes the mean scores of its reruns, because later runs are no longer compared with it. */
const unpinSql = `
  with ended as (
    update golden_baselines set unpinned_at = $3::timestamptz
     where pipeline = $1::text and golden_set = $2::text and unpinned_at is null returning id, run_id
  ), dropped as (
    delete from golden_baseline_scores s using ended where s.baseline_id = ended.id
  )
  select run_id from ended`;

async function unpin(client: PoolClient, pipeline: string, goldenSet: string, now: Date) {
  const { rows } = await client.query<{ run_id: string }>(unpinSql, [pipeline, goldenSet, now]);
  return rows[0] ?? null;
}

export type GoldenBaselines = ReturnType<typeof createGoldenBaselines>;

export function createGoldenBaselines(pool: Pool, scope: Scope = null) {
  return {
    async pinned(pipeline: string, goldenSet: string): Promise<GoldenBaseline | null> {
      return queryRow<GoldenBaseline>(
        pool,
        `${selectBaseline} where pipeline = $1::text and golden_set = $2::text and unpinned_at is null`,
        [pipeline, goldenSet],
      );
    },

    /** Mean scores over the reruns, one for each query of the pinned run; null if there were no reruns. */
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
     * Pins a run and unpins the previous one.
     *
     * @param by name of the person who pins the run, for the audit log
     * @param means mean scores over the reruns, one for each query in the order of the set version; null if there were
     *   no reruns
     */
    async pin(
      baseline: Omit<GoldenBaseline, 'unpinnedAt' | 'excludedRuns'>,
      by: string,
      means: MeanScores | null = null,
      excludedRuns: readonly ExcludedRun[] = [],
    ): Promise<void> {
      const { pipeline, goldenSet, runId, note, noise, pinnedAt } = baseline;
      await inTransaction(pool, async (client) => {
        // Serializes concurrent pins, so that the second one replaces the first.
        await lockInTransaction(client, 'golden baseline', pipeline, goldenSet);
        const before = await unpin(client, pipeline, goldenSet, pinnedAt);
        const act = { at: pinnedAt, by, act: 'pin_baseline', pipeline, subject: goldenSet } as const;
        await recordActs(client, [{ ...act, before, after: { run_id: runId } }]);
        const rows = await queryRows<{ id: string }>(
          client,
          `insert into golden_baselines (pipeline, golden_set, run_id, note, noise, excluded_runs, pinned_at)
           values ($1::text, $2::text, $3::text, $4::text, $5::jsonb, $6::jsonb, $7::timestamptz) returning id`,
          [pipeline, goldenSet, runId, note, JSON.stringify(noise), JSON.stringify(excludedRuns), pinnedAt],
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

    /** Unpins the baseline; returns false if no run was pinned. */
    unpin: (pipeline: string, goldenSet: string, by: string, now: Date): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const before = await unpin(client, pipeline, goldenSet, now);
        if (before === null) return false;
        const act = { at: now, by, act: 'unpin_baseline', pipeline, subject: goldenSet } as const;
        await recordActs(client, [{ ...act, before, after: null }]);
        return true;
      }),

    /** Returns baselines, newest first, including baselines that are no longer pinned. */
    async list(filter: {
      readonly pipeline?: string | undefined;
      readonly limit: number;
    }): Promise<readonly GoldenBaseline[]> {
      return queryRows<GoldenBaseline>(
        pool,
        `${selectBaseline} where ($1::text is null or pipeline = $1::text) and ${visible('pipeline', 3)}
          order by pinned_at desc, id desc limit $2::integer`,
        [filter.pipeline ?? null, filter.limit, scope?.pipelines ?? null],
      );
    },
  };
}
