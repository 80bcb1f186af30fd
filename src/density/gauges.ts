/** Converts stored density measurements and topics to gauges. Stale values are not exported. */

import type { Context } from '../core/context.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { MINUTE_MS } from '../core/time.ts';
import { admissionChance } from '../live/rules/sampling/admission.ts';
import { type LatestMeasurement, type MeasuredRows, valueSamples } from '../measures/measurements.ts';
import { type GaugeSample, type GaugesAt, sample } from '../platform/metrics/meter.ts';
import type { CoverageAdmission } from './coverage-table.ts';
import { searchIntervalMs } from './detect-uncovered-topics.ts';
import type { DensityPlan } from './plan.ts';
import { isStale } from './rules/density-check.ts';
import { densityMeasures } from './rules/watch.ts';
import type { StoredDensityState } from './watch-table.ts';

const DAY_SECONDS = 86_400;
/**
 * Maximum age of an exported admission decision. Admission is decided every minute, for queries that are four minutes
 * old.
 */
const ADMISSION_TRUST_MS = 10 * MINUTE_MS;

export async function readDensityGauges(context: Context, { measurements }: MeasuredRows): Promise<GaugesAt> {
  if (context.densityPlans.length === 0) return () => [];
  const states = await context.db.density.watch.all();
  const admissions = new Map((await context.db.density.coverage.admissions()).map((one) => [one.pipeline, one]));
  const watched = context.densityPlans.map((plan) => ({
    plan,
    measured: measurements.filter(({ pipeline }) => pipeline === plan.pipeline),
  }));
  return (now) =>
    watched.flatMap(({ plan, measured }) => [
      ...stateSamples(plan, states.get(plan.pipeline) ?? null, now),
      ...admissionSamples(admissions.get(plan.pipeline), now),
      ...measured.flatMap((one) => measureSamples(plan, one, now)),
    ]);
}

function admissionSamples(admission: CoverageAdmission | undefined, now: Date): GaugeSample[] {
  if (admission === undefined || now.getTime() - admission.until.getTime() > ADMISSION_TRUST_MS) return [];
  const { pipeline } = admission;
  return [sample('recalld_density_admission_ratio', { pipeline }, admissionChance(admission.level))];
}

function stateSamples(plan: DensityPlan, stored: StoredDensityState | null, now: Date): GaugeSample[] {
  const { pipeline } = plan;
  if (stored === null) return [];
  const { phase, closedMs } = stored.state;
  if (phase.kind === 'replaying') return [];
  if (phase.kind === 'learning') {
    return [
      sample('recalld_density_baseline_span_seconds', { pipeline }, phase.progress.days * DAY_SECONDS),
      sample('recalld_density_baseline_sessions', { pipeline }, phase.progress.sessions),
    ];
  }
  const { grade, days, sessions, untilMs, alerts } = phase;
  const version = String(phase.baselineVersion);
  return [
    sample('recalld_density_baseline_info', { pipeline, version, grade }, 1),
    sample('recalld_density_baseline_age_seconds', { pipeline }, (now.getTime() - untilMs) / 1000),
    sample('recalld_density_baseline_span_seconds', { pipeline }, days * DAY_SECONDS),
    sample('recalld_density_baseline_sessions', { pipeline }, sessions),
    sample('recalld_density_window_end_timestamp_seconds', { pipeline }, closedMs / 1000),
    ...Object.entries(alerts).map(([level, { incident }]) =>
      sample('recalld_density_incident', { pipeline, level }, incident === null ? 0 : 1),
    ),
  ];
}

function measureSamples(
  plan: DensityPlan,
  { pipeline, segment, measure, newest, gap }: LatestMeasurement,
  now: Date,
): GaugeSample[] {
  if (!densityMeasures.some((one) => one === measure)) return [];
  if (newest === null || gap !== null || isStale(plan, newest.windowEnd.getTime(), now)) return [];
  const { value, details } = newest;
  if (measure === 'density_page_evidence_ratio' || measure === 'density_ticket_evidence_ratio') {
    const level = measure === 'density_page_evidence_ratio' ? 'page' : 'ticket';
    return [sample('recalld_density_drift_evidence_ratio', { pipeline, level }, value)];
  }
  if (measure === 'density_sessions') {
    return [
      sample('recalld_density_sessions', { pipeline, segment }, value),
      ...(segment === ALL_SEGMENT ? unmeasuredSamples(pipeline, details) : []),
    ];
  }
  return valueSamples({ pipeline, segment, measure, newest });
}

function unmeasuredSamples(pipeline: string, details: Readonly<Record<string, unknown>>): GaugeSample[] {
  const reasons = details['not_measurable'];
  if (typeof reasons !== 'object' || reasons === null) return [];
  return Object.entries(reasons).flatMap(([reason, queries]) =>
    typeof queries === 'number' ? [sample('recalld_density_unmeasured_queries', { pipeline, reason }, queries)] : [],
  );
}

/**
 * Reads the numbers of open topics as gauges; a pipeline has no gauge if its latest search is stale or covered too
 * little traffic.
 */
export async function readTopicGauges({ densityPlans: plans, db }: Context): Promise<GaugesAt> {
  if (plans.length === 0) return () => [];
  const latest = await db.density.topics.latestSearches();
  const searches = new Map(latest.map((search) => [search.pipeline, search]));
  return (now) =>
    plans.flatMap((plan) => {
      const { pipeline, graceMs } = plan;
      const search = searches.get(pipeline);
      if (search === undefined || search.lacking !== null) return [];
      if (isStale({ windowMs: searchIntervalMs(plan), graceMs }, search.until.getTime(), now)) return [];
      return [sample('recalld_topics_uncovered', { pipeline }, search.unclosed)];
    });
}
