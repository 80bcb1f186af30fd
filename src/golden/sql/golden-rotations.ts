/** Rotations of golden sets in PostgreSQL. */
import type { Pool } from 'pg';
import type { CheckShifts } from '../../checks/rules/check-result.ts';
import { inTransaction, takeTurn } from '../../postgres/transaction.ts';
import type { GoldenRotation, GoldenRotations } from '../ports/golden-rotations.ts';
import type { Levels } from '../rules/rotation/overlap.ts';
import { replaceChecks } from './finish-run.ts';

interface RotationRow {
  id: string;
  pipeline: string;
  golden_set: string;
  from_version: number;
  to_version: number;
  runs_needed: number;
  started_at: Date;
  ended_at: Date | null;
  outcome: GoldenRotation['outcome'];
  levels: Levels;
  shifts: CheckShifts;
}

const columns = `id, pipeline, golden_set, from_version, to_version, runs_needed, started_at, ended_at, outcome, levels,
  shifts`;

export function createGoldenRotations(pool: Pool): GoldenRotations {
  return {
    async open(pipeline, goldenSet) {
      const { rows } = await pool.query<RotationRow>(
        `select ${columns} from golden_rotations where pipeline = $1::text and golden_set = $2::text and ended_at is null`,
        [pipeline, goldenSet],
      );
      return rows[0] === undefined ? null : toRotation(rows[0]);
    },

    begin: ({ pipeline, goldenSet, fromVersion, toVersion, runsNeeded, startedAt }) =>
      inTransaction(pool, async (client) => {
        await takeTurn(client, 'rotation', pipeline, goldenSet);
        await client.query(
          `update golden_rotations set ended_at = $4::timestamptz, outcome = 'replaced'
            where pipeline = $1::text and golden_set = $2::text and ended_at is null and to_version < $3::integer`,
          [pipeline, goldenSet, toVersion, startedAt],
        );
        await client.query(
          `insert into golden_rotations (pipeline, golden_set, from_version, to_version, runs_needed, started_at)
           values ($1::text, $2::text, $3::integer, $4::integer, $5::integer, $6::timestamptz)
           on conflict do nothing`,
          [pipeline, goldenSet, fromVersion, toVersion, runsNeeded, startedAt],
        );
        const { rows } = await client.query<RotationRow>(
          `select ${columns} from golden_rotations where pipeline = $1::text and golden_set = $2::text and ended_at is null`,
          [pipeline, goldenSet],
        );
        if (rows[0] === undefined) throw new Error('a rotation is gone within its own transaction');
        return toRotation(rows[0]);
      }),

    complete: (id, { endedAt, levels, shifts, judged }) =>
      inTransaction(pool, async (client) => {
        const { rowCount } = await client.query(
          `update golden_rotations
              set ended_at = $2::timestamptz, outcome = 'completed', levels = $3::jsonb, shifts = $4::jsonb
            where id = $1::bigint and ended_at is null`,
          [id, endedAt, JSON.stringify(levels), JSON.stringify(shifts)],
        );
        if (rowCount !== 1) return false;
        if (judged !== null) await replaceChecks(client, judged.runId, judged.checks);
        return true;
      }),

    async list({ pipeline = null, goldenSet = null }) {
      const { rows } = await pool.query<RotationRow>(
        `select ${columns} from golden_rotations
          where ($1::text is null or pipeline = $1::text) and ($2::text is null or golden_set = $2::text)
          order by started_at desc, id desc`,
        [pipeline, goldenSet],
      );
      return rows.map(toRotation);
    },
  };
}

function toRotation(row: RotationRow): GoldenRotation {
  return {
    id: row.id,
    pipeline: row.pipeline,
    goldenSet: row.golden_set,
    fromVersion: row.from_version,
    toVersion: row.to_version,
    runsNeeded: row.runs_needed,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    outcome: row.outcome,
    levels: row.levels,
    shifts: row.shifts,
  };
}
