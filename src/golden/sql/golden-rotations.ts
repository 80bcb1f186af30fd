/** Rotations to new versions of golden sets. At most one rotation is open per pipeline and golden set. */

import type { Pool } from 'pg';
import type { CheckResult, CheckShifts } from '../../checks/rules/threshold.ts';
import type { Scope } from '../../core/context.ts';
import { queryRow, queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction, lockInTransaction } from '../../platform/postgres/transaction.ts';
import { visible } from '../../platform/postgres/visible.ts';
import type { Levels } from '../rules/rotation.ts';
import { replaceChecks } from './run-results.ts';

export interface GoldenRotation {
  readonly id: string;
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly fromVersion: number;
  readonly toVersion: number;
  /** Number of ticks at which the runs of both versions must complete. */
  readonly runsNeeded: number;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  /** `replaced`: a version newer than `toVersion` was imported before the rotation was completed. */
  readonly outcome: 'completed' | 'replaced' | null;
  readonly levels: Levels;
  readonly shifts: CheckShifts;
}

const selectRotation = `
  select id, pipeline, golden_set, from_version, to_version,
         runs_needed, started_at, ended_at, outcome, levels, shifts
    from golden_rotations`;

const openSql = `${selectRotation} where pipeline = $1::text and golden_set = $2::text and ended_at is null`;

export type GoldenRotations = ReturnType<typeof createGoldenRotations>;

export function createGoldenRotations(pool: Pool, scope: Scope = null) {
  return {
    async open(pipeline: string, goldenSet: string): Promise<GoldenRotation | null> {
      return queryRow<GoldenRotation>(pool, openSql, [pipeline, goldenSet]);
    },

    /**
     * Begins a rotation unless a rotation to the same version is open. The new rotation replaces an open rotation to an
     * older version.
     */
    begin(rotation: Omit<GoldenRotation, 'id' | 'endedAt' | 'outcome' | 'levels' | 'shifts'>): Promise<GoldenRotation> {
      const { pipeline, goldenSet, fromVersion, toVersion, runsNeeded, startedAt } = rotation;
      return inTransaction(pool, async (client) => {
        await lockInTransaction(client, 'rotation', pipeline, goldenSet);
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
        const rows = await queryRows<GoldenRotation>(client, openSql, [pipeline, goldenSet]);
        if (rows[0] === undefined) throw new Error('a rotation was stored but could not be read back');
        return rows[0];
      });
    },

    /**
     * Completes a rotation and replaces the checks of the new version's last run, in one transaction. Returns false if
     * the rotation had already ended.
     */
    complete(
      id: string,
      endedAt: Date,
      levels: Levels,
      shifts: CheckShifts,
      evaluated: { readonly runId: string; readonly checks: readonly CheckResult[] } | null,
    ): Promise<boolean> {
      return inTransaction(pool, async (client) => {
        const { rowCount } = await client.query(
          `update golden_rotations
              set ended_at = $2::timestamptz, outcome = 'completed', levels = $3::jsonb, shifts = $4::jsonb
            where id = $1::bigint and ended_at is null`,
          [id, endedAt, JSON.stringify(levels), JSON.stringify(shifts)],
        );
        if (rowCount !== 1) return false;
        if (evaluated !== null) await replaceChecks(client, evaluated.runId, evaluated.checks);
        return true;
      });
    },

    /** Returns rotations, newest first, including the open rotation. */
    async list(filter: {
      readonly pipeline?: string;
      readonly goldenSet?: string;
    }): Promise<readonly GoldenRotation[]> {
      return queryRows<GoldenRotation>(
        pool,
        `${selectRotation}
          where ($1::text is null or pipeline = $1::text) and ($2::text is null or golden_set = $2::text)
            and ${visible('pipeline', 3)}
          order by started_at desc, id desc`,
        [filter.pipeline ?? null, filter.goldenSet ?? null, scope?.pipelines ?? null],
      );
    },
  };
}
