/** The stored state and measurements of query density -> metric samples. What is too old to trust is withheld. */

import { judgeDensityDrift } from '../../core/checks/density-drift.ts';
import type { CheckResult } from '../../core/checks/result.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { admissionChance } from '../../core/sampling/admission.ts';
import type { DensityGaugeName } from '../../metrics/density-metrics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DensityStates, StoredDensityState } from '../../ports/density-states.ts';
import type { LatestMeasurement, Measurements } from '../../ports/measurements.ts';
import { type GaugeSample, sample } from '../../ports/metrics.ts';
import type { QueryCoverage } from '../../ports/query-coverage.ts';
import type { CheckState } from '../checks/check-states.ts';
import { checkStateSamples } from '../publish/publish-checks.ts';
import { densityEvidence, isStale } from './density-evidence.ts';
import { type DensityMeasure, densityMeasures } from './density-outcomes.ts';
import type { DensityPlan } from './plan.ts';

export interface DensityGaugesDeps {
  readonly states: Pick<DensityStates, 'all'>;
  readonly coverage: Pick<QueryCoverage, 'admissions'>;
  readonly measurements: Pick<Measurements, 'latest'>;
  readonly clock: Clock;
  readonly plans: readonly DensityPlan[];
}

const DAY_SECONDS = 86_400;
/** It is decided every minute, on what is four minutes old. */
const ADMISSION_TRUST_MS = 10 * 60_000;

const gaugeOf: Readonly<Partial<Record<DensityMeasure, DensityGaugeName>>> = {
  query_density: 'recalld_query_density',
  query_uncovered_ratio: 'recalld_query_uncovered_ratio',
  query_uncovered_excess_ratio: 'recalld_query_uncovered_excess_ratio',
};

/** Every gauge of query density as it is now. */
export async function readDensityGauges(deps: DensityGaugesDeps): Promise<GaugeSample[]> {
  if (deps.plans.length === 0) return [];
  const now = deps.clock.now();
  const [states, latest, admissions] = await Promise.all([
    deps.states.all(),
    deps.measurements.latest(now),
    deps.coverage.admissions(),
  ]);
  return deps.plans.flatMap((plan) => {
    const stored = states.get(plan.pipeline) ?? null;
    const own = latest.filter(({ pipeline }) => pipeline === plan.pipeline);
    const admission = admissions.find(({ pipeline }) => pipeline === plan.pipeline);
    return [
      ...stateSamples(plan, stored, now),
      ...(admission === undefined || now.getTime() - admission.until.getTime() > ADMISSION_TRUST_MS
        ? []
        : [
            sample(
              'recalld_density_admission_ratio',
              { pipeline: plan.pipeline },
              admissionChance(admission),
            ),
          ]),
      ...own.flatMap((one) => (isDensity(one.measure) ? measureSamples(plan, one, one.measure, now) : [])),
      ...densityStates([plan], states, own, now).flatMap(checkStateSamples),
    ];
  });
}

/** The check `density_drift` of a pipeline as it stands; null when the config has none. */
export function densityCheck(
  plan: DensityPlan,
  stored: StoredDensityState | null,
  latest: readonly LatestMeasurement[],
  now: Date,
): CheckResult | null {
  if (plan.severity === null) return null;
  const page = latest.find(
    ({ pipeline, measure }) => pipeline === plan.pipeline && measure === 'density_page_evidence_ratio',
  );
  const evidence = densityEvidence(plan, stored, page?.newest?.value ?? null, now);
  return judgeDensityDrift({ severity: plan.severity }, evidence);
}

/** The checks `density_drift` of the config, in the order of the plans. */
export function densityStates(
  plans: readonly DensityPlan[],
  states: ReadonlyMap<string, StoredDensityState>,
  latest: readonly LatestMeasurement[],
  now: Date,
): CheckState[] {
  return plans.flatMap((plan): CheckState[] => {
    const stored = states.get(plan.pipeline) ?? null;
    const judged = densityCheck(plan, stored, latest, now);
    if (judged === null) return [];
    const { name, severity, threshold, verdict } = judged;
    return [
      {
        pipeline: plan.pipeline,
        goldenSet: null,
        name,
        severity,
        threshold,
        verdict,
        judged,
        evaluatedAt: stored?.updatedAt ?? null,
        isTooOld: false,
        // A baseline takes days to be learnt, and nothing is broken meanwhile.
        isQuiet: verdict === 'no_data' && stored?.state.phase.kind !== 'watching',
      },
    ];
  });
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
  const { grade, days, sessions, untilMs, alarms } = phase;
  const version = String(phase.baselineVersion);
  return [
    sample('recalld_density_baseline_info', { pipeline, version, grade }, 1),
    sample('recalld_density_baseline_age_seconds', { pipeline }, (now.getTime() - untilMs) / 1000),
    sample('recalld_density_baseline_span_seconds', { pipeline }, days * DAY_SECONDS),
    sample('recalld_density_baseline_sessions', { pipeline }, sessions),
    sample('recalld_density_window_end_timestamp_seconds', { pipeline }, closedMs / 1000),
    ...Object.entries(alarms).map(([level, { incident }]) =>
      sample('recalld_density_incident', { pipeline, level }, incident === null ? 0 : 1),
    ),
  ];
}

function measureSamples(
  plan: DensityPlan,
  { pipeline, segment, newest, gap }: LatestMeasurement,
  measure: DensityMeasure,
  now: Date,
): GaugeSample[] {
  if (newest === null || gap !== null || isStale(plan, newest.windowEnd.getTime(), now)) return [];
  const { value, ciLow, ciHigh, details } = newest;
  if (measure === 'density_page_evidence_ratio' || measure === 'density_ticket_evidence_ratio') {
    const level = measure === 'density_page_evidence_ratio' ? 'page' : 'ticket';
    return [sample('recalld_density_drift_evidence_ratio', { pipeline, level }, value)];
  }
  const name = gaugeOf[measure];
  if (name === undefined) {
    return [
      sample('recalld_density_sessions', { pipeline, segment }, value),
      ...(segment === ALL_SEGMENT ? unmeasuredSamples(pipeline, details) : []),
    ];
  }
  return [
    sample(name, { pipeline, segment }, value),
    ...(ciLow === null ? [] : [sample(`${name}_ci_low`, { pipeline, segment }, ciLow)]),
    ...(ciHigh === null ? [] : [sample(`${name}_ci_high`, { pipeline, segment }, ciHigh)]),
  ];
}

function unmeasuredSamples(pipeline: string, details: Readonly<Record<string, unknown>>): GaugeSample[] {
  const reasons = details['not_measurable'];
  if (typeof reasons !== 'object' || reasons === null) return [];
  return Object.entries(reasons).flatMap(([reason, queries]) =>
    typeof queries === 'number'
      ? [sample('recalld_density_unmeasured_queries', { pipeline, reason }, queries)]
      : [],
  );
}

function isDensity(measure: string): measure is DensityMeasure {
  return (densityMeasures as readonly string[]).includes(measure);
}
