/** Pinned baselines in PostgreSQL. */
import type { Pool } from 'pg';
import { inTransaction, takeTurn } from '../../postgres/transaction.ts';
import type { GoldenBaseline, GoldenBaselines } from '../ports/golden-baselines.ts';
import type { NoiseTable } from '../rules/comparison/rerun-noise.ts';

interface BaselineRow {
  pipeline: string;
  golden_set: string;
  run_id: string;
  note: string | null;
  noise: NoiseTable;
  pinned_at: Date;
  unpinned_at: Date | null;
}

const columns = 'pipeline, golden_set, run_id, note, noise, pinned_at, unpinned_at';

const unpin = `
  update golden_baselines set unpinned_at = $3::timestamptz
   where pipeline = $1::text and golden_set = $2::text and unpinned_at is null`;

export function createGoldenBaselines(pool: Pool): GoldenBaselines {
  return {
    async pinned(pipeline, goldenSet) {
      const { rows } = await pool.query<BaselineRow>(
        `select ${columns} from golden_baselines
          where pipeline = $1::text and golden_set = $2::text and unpinned_at is null`,
        [pipeline, goldenSet],
      );
      return rows[0] === undefined ? null : toBaseline(rows[0]);
    },

    pin: ({ pipeline, goldenSet, runId, note, noise, pinnedAt }) =>
      inTransaction(pool, async (client) => {
        // Two who pin at once wait here for each other, so that the second one replaces the first.
        await takeTurn(client, 'golden baseline', pipeline, goldenSet);
        await client.query(unpin, [pipeline, goldenSet, pinnedAt]);
        await client.query(
          `insert into golden_baselines (pipeline, golden_set, run_id, note, noise, pinned_at)
           values ($1::text, $2::text, $3::text, $4::text, $5::jsonb, $6::timestamptz)`,
          [pipeline, goldenSet, runId, note, JSON.stringify(noise), pinnedAt],
        );
      }),

    async unpin(pipeline, goldenSet, now) {
      const { rowCount } = await pool.query(unpin, [pipeline, goldenSet, now]);
      return rowCount === 1;
    },

    async list({ pipeline = null, limit }) {
      const { rows } = await pool.query<BaselineRow>(
        `select ${columns} from golden_baselines where $1::text is null or pipeline = $1::text
          order by pinned_at desc, id desc limit $2::integer`,
        [pipeline, limit],
      );
      return rows.map(toBaseline);
    },
  };
}

function toBaseline(row: BaselineRow): GoldenBaseline {
  return {
    pipeline: row.pipeline,
    goldenSet: row.golden_set,
    runId: row.run_id,
    note: row.note,
    noise: row.noise,
    pinnedAt: row.pinned_at,
    unpinnedAt: row.unpinned_at,
  };
}
