/** Stores the statuses and transitions of checks in PostgreSQL, and returns their current states and metrics. */

import type { Pool } from 'pg';
import type { Context, Scope } from '../core/context.ts';
import type { Severity, Verdict } from '../core/model.ts';
import { toDocument } from '../core/text/names.ts';
import type { DensityPlan } from '../density/plan.ts';
import { DENSITY_CHECK_THRESHOLD } from '../density/rules/density-check.ts';
import { type GaugeSample, type GaugesAt, sample } from '../platform/metrics/meter.ts';
import { queryRows } from '../platform/postgres/rows.ts';
import { visible } from '../platform/postgres/visible.ts';
import { alertBefore, alertSince, alertWords } from './rules/alert-text.ts';
import { type CheckState, type CheckStatus, type ConfiguredCheck, stateAt } from './rules/check-state.ts';
import { isPast } from './rules/evaluate.ts';
import { type GoldenCheck, listGoldenChecks } from './rules/golden-checks.ts';
import { isolationCheckOf } from './rules/isolation-check.ts';
import { isBlind } from './rules/regression.ts';
import { type ThresholdCheck, thresholdCheckName } from './rules/threshold.ts';

export interface StoredCheckStatus extends CheckStatus {
  readonly revision: number;
}

export interface CheckStep {
  /** State after the previous evaluation; null if the check has never been evaluated. */
  readonly previous: Pick<StoredCheckStatus, 'verdict' | 'revision'> | null;
  readonly status: CheckStatus;
}

export interface CheckTransition {
  readonly id: string;
  readonly pipeline: string;
  readonly check: string;
  readonly severity: Severity;
  /** Previous verdict; null for the first verdict of a check. */
  readonly from: Verdict | null;
  readonly to: Verdict;
  readonly occurredAt: Date;
  /** Time of the next transition; null if this transition is the latest. */
  readonly endedAt: Date | null;
  readonly threshold: number;
  readonly value: number | null;
  readonly segment: string | null;
  readonly explanation: string;
}

interface TransitionFilter {
  readonly pipeline?: string | null | undefined;
  readonly check?: string | null | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date;
  /** Id of the last transition on the previous page. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** Every call rejects with RecalldError database_unreachable if the database does not respond. */
export type CheckStore = ReturnType<typeof createCheckStore>;

declare module '../core/context.ts' {
  interface Db {
    readonly checks: CheckStore;
  }
}

/**
 * Columns of `check_states` whose names are the field names of `CheckStatus` in snake case. The other columns are
 * `check_name` and `revision`.
 */
const columns = `pipeline, severity, threshold, measure, verdict, since, last_known, candidate, seen, value, ci_low, ci_high, n,
  smallest_detectable_drop, compared_with, before, breached_since, outage_until, segment, explanation, is_quiet,
  evidence_at, evaluated_at, trusted_until, updated_at`;

const statusesSql = `select check_name as name, ${columns}, revision::integer
  from check_states where ${visible('pipeline', 1)} order by pipeline, check_name`;

/**
 * Stores steps, each with its transition if the verdict changes. Skips a step if another worker has already advanced
 * the check, so that no change is counted or reported twice. Writes rows in a fixed order, so that workers cannot
 * deadlock.
 */
const advanceSql = `
  with steps as (
    select s.*, step ->> 'from' as "from", step ->> 'because' as because
      from jsonb_array_elements($1::jsonb) step, jsonb_populate_record(null::check_states, step) s
  ), taken as (
    insert into check_states as old (check_name, revision, ${columns})
    select check_name, revision, ${columns} from steps order by pipeline, check_name
    on conflict (pipeline, check_name) do update
      set (revision, ${columns}) = (excluded.revision, ${columns.replaceAll(/\w+/g, 'excluded.$&')})
      where old.revision = excluded.revision - 1
    returning pipeline, check_name
  ), noted as (
    insert into check_transitions
      (pipeline, check_name, severity, from_verdict, to_verdict, occurred_at, threshold, value, segment, explanation)
    select s.pipeline, s.check_name, s.severity, s."from", s.verdict, s.since, s.threshold, s.value, s.segment, s.because
      from steps s join taken t on t.pipeline = s.pipeline and t.check_name = s.check_name
     where s."from" is distinct from s.verdict
     order by s.pipeline, s.check_name
  )
  select pipeline, check_name as name from taken`;

const transitionsSql = `
  select t.id, t.pipeline, t.check_name as "check", t.severity, t.from_verdict as "from", t.to_verdict as "to",
         t.occurred_at, next.occurred_at as ended_at, t.threshold, t.value, t.segment, t.explanation
    from check_transitions t
    left join lateral (select occurred_at from check_transitions
                        where pipeline = t.pipeline and check_name = t.check_name and id > t.id
                        order by id limit 1) next on true
   where ($1::text is null or t.pipeline = $1::text)
     and ($2::text is null or t.check_name = $2::text)
     and ($3::timestamptz is null or t.occurred_at >= $3::timestamptz)
     and ($4::timestamptz is null or t.occurred_at < $4::timestamptz)
     and ($5::bigint is null or t.id < $5::bigint) and ${visible('t.pipeline', 7)}
   order by t.id desc
   limit $6::integer`;

export function createCheckStore(pool: Pool, scope: Scope = null) {
  const seen = scope?.pipelines ?? null;
  return {
    /** Returns the status of every check that has ever been evaluated, ordered by pipeline and name. */
    statuses: (): Promise<readonly StoredCheckStatus[]> => queryRows<StoredCheckStatus>(pool, statusesSql, [seen]),

    /** @returns the steps that were stored */
    async advance(steps: readonly CheckStep[]): Promise<readonly CheckStep[]> {
      if (steps.length === 0) return [];
      const rows = steps.map((step) => ({
        ...toDocument(step.status),
        check_name: step.status.name,
        revision: (step.previous?.revision ?? 0) + 1,
        from: step.previous?.verdict ?? null,
        because: reasonOf(step),
      }));
      const taken = await queryRows<Pick<CheckStatus, 'pipeline' | 'name'>>(pool, advanceSql, [JSON.stringify(rows)]);
      return steps.filter(({ status }) =>
        taken.some(({ pipeline, name }) => pipeline === status.pipeline && name === status.name),
      );
    },

    /** Returns transitions, newest first. */
    transitions: (filter: TransitionFilter): Promise<readonly CheckTransition[]> => {
      const { pipeline, check, since, until, before, limit } = filter;
      return queryRows<CheckTransition>(pool, transitionsSql, [pipeline, check, since, until, before, limit, seen]);
    },

    /** Deletes transitions before the given time, and the states of checks that were last evaluated before it. */
    async prune(before: Date): Promise<void> {
      await pool.query('delete from check_transitions where occurred_at < $1::timestamptz', [before]);
      await pool.query('delete from check_states where updated_at < $1::timestamptz', [before]);
    },
  };
}

/** The configured pipelines and density plans, which define the checks. */
export type WatchedChecks = Pick<Context, 'pipelines' | 'densityPlans'>;

/** Returns the current state of every configured check, in config order. */
export async function readCheckStates(context: Context): Promise<CheckState[]> {
  const { db, clock } = context;
  return statesOf(context, await db.checks.statuses(), clock.now());
}

/** Returns the current verdict of a pipeline's density drift check; null if it is not configured. */
export async function readDensityVerdict(context: Context, pipeline: string) {
  const states = await readCheckStates(context);
  const check = states.find((one) => one.pipeline === pipeline && one.kind === 'density_drift');
  return check === undefined ? null : { ...check, explanation: explain(check.explanation, check.isTooOld) };
}

function explain(explanation: string | null, isTooOld: boolean): string {
  if (explanation === null) return 'Not evaluated yet.';
  return isTooOld ? `The last evaluation is too old to trust: ${explanation}` : explanation;
}

export function reasonOf({ status }: CheckStep): string {
  return explain(status.explanation, isPast(status.trustedUntil, status.updatedAt));
}

export function statesOf(watched: WatchedChecks, statuses: readonly CheckStatus[], now: Date): CheckState[] {
  const stored = new Map(statuses.map((one) => [keyOf(one), one]));
  return configuredChecks(watched).map((check) => stateAt(check, stored.get(keyOf(check)) ?? null, now));
}

/** Returns a key that identifies a check among the checks of all pipelines. */
export function keyOf({ pipeline, name }: { readonly pipeline: string; readonly name: string }): string {
  return JSON.stringify([pipeline, name]);
}

/** Lists every configured check, in config order. */
export function configuredChecks({ pipelines, densityPlans }: WatchedChecks): ConfiguredCheck[] {
  return pipelines.flatMap((pipeline) => [
    ...pipeline.golden.flatMap(({ set }) => goldenChecksOf(pipeline.name, pipeline.checks, set)),
    ...pipeline.thresholds.map((rule) => thresholdOf(pipeline.name, rule)),
    ...pipeline.isolation.map((rule) => isolationCheckOf(pipeline.name, rule.name)),
    ...densityPlans.flatMap((plan) => (plan.pipeline === pipeline.name ? densityChecksOf(plan) : [])),
  ]);
}

export function thresholdOf(pipeline: string, rule: ThresholdCheck): ConfiguredCheck {
  return {
    kind: 'threshold',
    measure: rule.measure,
    pipeline,
    goldenSet: null,
    name: thresholdCheckName(rule),
    severity: rule.severity,
    threshold: rule.threshold,
    isQuietAtFirst: false,
  };
}

/** Returns a list with the density drift check of a pipeline; an empty list if none is configured. */
export function densityChecksOf(plan: DensityPlan): ConfiguredCheck[] {
  if (plan.severity === null) return [];
  return [
    {
      kind: 'density_drift',
      measure: 'density_drift',
      pipeline: plan.pipeline,
      goldenSet: null,
      name: plan.checkName,
      severity: plan.severity,
      threshold: DENSITY_CHECK_THRESHOLD,
      // recalld takes days to learn a baseline, so missing data is not a fault.
      isQuietAtFirst: true,
    },
  ];
}

export function goldenChecksOf(pipeline: string, checks: readonly GoldenCheck[], goldenSet: string): ConfiguredCheck[] {
  const listed = listGoldenChecks(checks, goldenSet);
  return listed.map((check) => ({ ...check, pipeline, goldenSet, isQuietAtFirst: false }));
}

const verdicts: readonly Verdict[] = ['ok', 'warning', 'critical', 'no_data'];

/** Returns the metrics of every configured check. A check without a recent evaluation is `no_data`. */
export async function readCheckGauges(context: Context): Promise<GaugesAt> {
  const { db } = context;
  const statuses = await db.checks.statuses();
  return (now) => statesOf(context, statuses, now).flatMap(gaugesOf);
}

export function gaugesOf(check: CheckState): GaugeSample[] {
  const { severity, threshold, verdict, kind, outageUntil, value, ciLow, ciHigh, n } = check;
  const labels = { pipeline: check.pipeline, check: check.name };
  const words = alertWords(check);
  const isTime = words.unit === 'seconds';
  const valued = isTime ? 'recalld_check_value_seconds' : 'recalld_check_value';
  const isBad = verdict !== 'ok';
  const known = (name: NumberOfACheck, number: number | null): GaugeSample[] =>
    number === null ? [] : [sample(name, labels, number)];
  return [
    sample(isTime ? 'recalld_threshold_seconds' : 'recalld_threshold', { ...labels, severity }, threshold),
    sample('recalld_check_info', { ...labels, kind, ...words }, 1),
    ...verdicts.map((state) => sample('recalld_check_state', { ...labels, state }, state === verdict ? 1 : 0)),
    sample('recalld_check_quiet', labels, check.isQuiet ? 1 : 0),
    sample('recalld_check_outage', labels, outageUntil === null ? 0 : 1),
    sample('recalld_check_blind', labels, isBlind(check) ? 1 : 0),
    ...known('recalld_check_smallest_detectable_drop', check.smallestDetectableDrop),
    ...known(valued, value),
    ...known(`${valued}_ci_low`, ciLow),
    ...known(`${valued}_ci_high`, ciHigh),
    ...known('recalld_check_n', n),
    ...known(isTime ? 'recalld_check_before_seconds' : 'recalld_check_before', isBad ? alertBefore(check) : null),
    ...known('recalld_check_since_timestamp_seconds', isBad ? seconds(alertSince(check)) : null),
    ...known('recalld_check_last_evaluation_timestamp_seconds', seconds(check.evaluatedAt)),
  ];
}

type Unit = '' | '_seconds';
type NumberOfACheck =
  | `recalld_check_value${Unit}${'' | '_ci_low' | '_ci_high'}`
  | `recalld_check_before${Unit}`
  | `recalld_check_${'n' | 'smallest_detectable_drop' | 'since_timestamp_seconds' | 'last_evaluation_timestamp_seconds'}`;

function seconds(at: Date | null): number | null {
  return at === null ? null : at.getTime() / 1000;
}
