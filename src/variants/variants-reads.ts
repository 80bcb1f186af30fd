/**
 * How the variants of a pipeline are compared, their days in PostgreSQL, and what is known, for commands, routes and
 * pages.
 */

import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Config } from '../app/config/schema.ts';
import type { Clock } from '../clock.ts';
import { RecalldError } from '../errors.ts';
import type { JudgedTable } from '../judging/judged-table.ts';
import type { SamplingPolicy } from '../live/rules/sampling/decision.ts';
import type { LiveWindows } from '../live/sql/live-windows.ts';
import { compareArms, type VariantComparison, type VariantDesign } from './rules/compare-arms.ts';
import { type VariantDay, variantMeasures } from './rules/variant-day.ts';

export interface ReadVariantsDeps {
  readonly variantDays: Pick<VariantDaysTable, 'list'>;
  readonly variantPlans: readonly VariantPlan[];
}

export interface VariantReport extends VariantComparison {
  readonly plan: VariantPlan;
  /** First day with a session, and last day that was summed, YYYY-MM-DD; null before there is one. */
  readonly days: { readonly first: string; readonly last: string } | null;
  /** Sessions that saw more than one arm, and those with a value of the tag that is none. */
  readonly mixed: number;
  readonly unnamed: number;
}

export async function readVariants(
  { variantDays }: Pick<ReadVariantsDeps, 'variantDays'>,
  plan: VariantPlan,
): Promise<VariantReport> {
  const days = await variantDays.list(plan);
  const first = days.find(
    ({ arms, mixed, unnamed }) =>
      mixed + unnamed > 0 || Object.values(arms).some(({ measures }) => Object.keys(measures).length > 0),
  );
  const last = days.at(-1);
  return {
    ...compareArms(days, plan),
    plan,
    days: first === undefined || last === undefined ? null : { first: first.day, last: last.day },
    mixed: days.reduce((sum, { mixed }) => sum + mixed, 0),
    unnamed: days.reduce((sum, { unnamed }) => sum + unnamed, 0),
  };
}

/** @throws RecalldError variants_unknown */
export function findVariants(plans: readonly VariantPlan[], pipeline: string): VariantPlan {
  const found = plans.find((plan) => plan.pipeline === pipeline);
  if (found !== undefined) return found;
  throw new RecalldError(
    'variants_unknown',
    `The pipeline ${pipeline} compares no variants; name them under \`variants: {arms: [...]}\` of the pipeline.`,
  );
}

export interface VariantPlan extends VariantDesign {
  readonly pipeline: string;
  readonly tag: string;
  /** Names the tag, the arms and the start; days of another are no part of it. */
  readonly comparison: string;
  /** Null: as far back as live queries are kept. */
  readonly since: Date | null;
  readonly rates: SamplingPolicy['rates'];
  readonly retentionDays: number;
  /** Null where live queries are not graded. */
  readonly judged: { readonly depth: number; readonly by: 'model' | 'people' } | null;
}

export interface VariantDeps {
  readonly windows: Pick<LiveWindows, 'count' | 'queries' | 'clicks' | 'opinions'>;
  readonly judged: Pick<JudgedTable, 'graded'>;
  readonly variantDays: VariantDaysTable;
  readonly clock: Clock;
  readonly measurementRetentionDays: number;
}

/** Of the pipelines whose config has `variants`. */
export function createVariantPlans(config: Config): VariantPlan[] {
  return config.pipelines.flatMap(({ name, variants, sampling, privacy, judged }) => {
    if (variants === undefined) return [];
    const { tag, arms, since, difference } = variants;
    const identity = JSON.stringify({ tag, arms: arms.map(({ name, share }) => [name, share]), since });
    return [
      {
        pipeline: name,
        tag,
        comparison: createHash('sha256').update(identity).digest('hex').slice(0, 16),
        since: since === null ? null : new Date(`${since}T00:00:00Z`),
        arms,
        difference,
        measures: variantMeasures.filter((measure) => measure !== 'relevance' || judged !== undefined),
        rates: { rate: sampling.rate, segments: sampling.segments },
        retentionDays: privacy.retention_days,
        judged:
          judged === undefined ? null : { depth: judged.depth, by: judged.judge.kind === 'none' ? 'people' : 'model' },
      },
    ];
  });
}

/** Names whose days they are. */
export interface VariantKey {
  readonly pipeline: string;
  readonly comparison: string;
}

export type VariantDaysTable = ReturnType<typeof createVariantDaysTable>;

export function createVariantDaysTable(pool: Pool) {
  return {
    /** Rising. */
    async list({ pipeline, comparison }: VariantKey): Promise<readonly VariantDay[]> {
      const { rows } = await pool.query<VariantDay>(
        `select day::text, arms, mixed, unnamed from variant_days
          where pipeline = $1::text and comparison = $2::text order by day`,
        [pipeline, comparison],
      );
      return rows;
    },

    /** A day that is there stays as it is. */
    async save({ pipeline, comparison }: VariantKey, day: VariantDay, now: Date): Promise<void> {
      await pool.query(
        `insert into variant_days (pipeline, comparison, day, arms, mixed, unnamed, summed_at)
         values ($1::text, $2::text, $3::date, $4::jsonb, $5::integer, $6::integer, $7::timestamptz)
         on conflict do nothing`,
        [pipeline, comparison, day.day, JSON.stringify(day.arms), day.mixed, day.unnamed, now],
      );
    },

    /** Forgets days of a pipeline before then, of whatever comparison. */
    async prune(pipeline: string, before: Date): Promise<void> {
      await pool.query(
        `delete from variant_days where pipeline = $1::text and day < ($2::timestamptz at time zone 'utc')::date`,
        [pipeline, before],
      );
    },
  };
}
