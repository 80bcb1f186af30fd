/**
 * How the variants of a pipeline are compared, their days in PostgreSQL, and what is known, for commands, routes,
 * pages and gauges.
 */
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Config } from '../app/config/schema.ts';
import { count } from '../console/format.ts';
import { RecalldError } from '../errors.ts';
import type { JudgedTable } from '../judging/judged-table.ts';
import type { SamplingPolicy } from '../live/rules/sampling/decision.ts';
import type { LiveWindows } from '../live/sql/live-windows.ts';
import type { SummedRatio } from '../math/stats/session-sums.ts';
import { boundedSamples } from '../measures/measurements.ts';
import { ageSeconds } from '../measures/rules/measurement.ts';
import { type GaugeSample, type GaugesAt, sample } from '../metrics/meter.ts';
import { percent } from '../text/spelling.ts';
import type { Clock } from '../time.ts';
import {
  type ArmComparison,
  compareArms,
  FALSE_CALLS,
  type Split,
  splitVerdicts,
  type VariantComparison,
  type VariantDay,
  type VariantDesign,
  type VariantMeasure,
  type VariantVerdict,
  variantMeasures,
  variantVerdicts,
} from './rules/compare-arms.ts';

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
interface VariantKey {
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

export const measureTitles: Readonly<Record<VariantMeasure, string>> = {
  positive_feedback: 'Positive feedback',
  clicked_queries: 'Queries with a click',
  relevance: 'Judged nDCG',
};

export const verdictSentences: Readonly<Record<VariantVerdict, string>> = {
  worse: 'It is worse.',
  better: 'It is better.',
  alike: 'It is as good: no difference that matters is left possible.',
  undecided: 'Nothing is decided: neither a difference that matters nor its absence is shown.',
  no_data: 'Too few sessions are known to tell.',
  withheld: 'Nothing is said while the split is not what was declared.',
};

export function splitSentence({ verdict, calledOn, arms }: Split): string {
  const found = arms
    .map(({ name, sessions, share, declared }) =>
      share === null
        ? `${name} none`
        : `${name} ${count(sessions)} (${percent(share, 2)}, declared ${percent(declared, 2)})`,
    )
    .join(', ');
  switch (verdict) {
    case 'mismatch':
      return `The split is not what was declared, as was seen on ${calledOn ?? ''}: sessions of ${found}. Find out which sessions are missing; until then no difference between the arms can be trusted.`;
    case 'as_declared':
      return `The split is as declared: sessions of ${found}.`;
    case 'no_data':
      return 'No session of an arm was counted yet; the first day is summed six hours after its end.';
  }
}

/** Sessions that no arm counts; none when there is nothing to say. */
export function leftOutSentences({ mixed, unnamed, plan }: VariantReport): string[] {
  return [
    ...(mixed === 0 ? [] : [`${count(mixed)} sessions saw more than one arm and count for none.`]),
    ...(unnamed === 0
      ? []
      : [`${count(unnamed)} sessions have a value of \`${plan.tag}\` that is no arm of the config.`]),
  ];
}

const ratioJson = (ratio: SummedRatio | null) =>
  ratio === null ? null : { value: ratio.value, standard_error: Math.sqrt(ratio.variance), n: ratio.sessions };

function comparisonJson({ measure, verdict, control, arm, difference, calledOn }: ArmComparison) {
  return {
    measure,
    verdict,
    control: ratioJson(control),
    arm: ratioJson(arm),
    difference: difference?.value ?? null,
    ci_low: difference?.low ?? null,
    ci_high: difference?.high ?? null,
    called_on: calledOn,
  };
}

export function variantsJson(report: VariantReport) {
  const { plan, split, arms, days, mixed, unnamed } = report;
  return {
    pipeline: plan.pipeline,
    tag: plan.tag,
    first_day: days?.first ?? null,
    last_day: days?.last ?? null,
    split: {
      verdict: split.verdict,
      explanation: splitSentence(split),
      called_on: split.calledOn,
      arms: split.arms,
      mixed_sessions: mixed,
      unnamed_sessions: unnamed,
    },
    control: plan.arms[0]?.name ?? '',
    difference: plan.difference,
    confidence: 1 - FALSE_CALLS,
    arms: arms.map(({ name, verdict, comparisons }) => ({
      name,
      verdict,
      explanation: verdictSentences[verdict],
      measures: comparisons.map(comparisonJson),
    })),
  };
}

/** A day is summed six hours after its end, so that the last one is up to 30 hours and three days old. */
const TRUST_SECONDS = 4.25 * 86_400;

export async function readVariantGauges(deps: ReadVariantsDeps): Promise<GaugesAt> {
  const reports: VariantReport[] = [];
  for (const plan of deps.variantPlans) reports.push(await readVariants(deps, plan));
  return (now) => reports.flatMap((report) => samplesOf(report, now));
}

function samplesOf({ plan: { pipeline }, split, arms, days }: VariantReport, now: Date): GaugeSample[] {
  const isOld = days === null || ageSeconds(new Date(days.last), now) > TRUST_SECONDS;
  return [
    ...splitVerdicts.map((verdict) =>
      sample('recalld_variant_split', { pipeline, verdict }, verdict === split.verdict ? 1 : 0),
    ),
    ...split.arms.map(({ name: arm, sessions }) => sample('recalld_variant_sessions', { pipeline, arm }, sessions)),
    ...arms.flatMap(({ name: arm, comparisons }) =>
      comparisons.flatMap(({ measure, verdict: found, difference }) => {
        const labels = { pipeline, arm, measure };
        return [
          ...variantVerdicts.map((verdict) =>
            sample('recalld_variant_verdict', { ...labels, verdict }, verdict === found ? 1 : 0),
          ),
          ...(difference === null || found === 'withheld' || isOld
            ? []
            : boundedSamples('recalld_variant_difference', labels, {
                value: difference.value,
                ciLow: difference.low,
                ciHigh: difference.high,
              })),
        ];
      }),
    ),
  ];
}
