/** What a closed window says of a pipeline, as measurements over time. */
import type { AlarmLevel } from '../../core/drift/alarm/alarm-levels.ts';
import type { AlarmStep } from '../../core/drift/alarm/alarm-policy.ts';
import type { WindowMeasurement } from '../../core/drift/coverage/measure-window.ts';
import { type PooledCoverage, pooledCoverage } from '../../core/drift/coverage/pooled-coverage.ts';
import type { Measurement, MeasurementOutcome } from '../../core/measurement.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import type { FrozenBaseline } from '../../ports/density-baselines.ts';
import type { ClosedWindow } from '../../ports/density-states.ts';
import type { DensityPlan } from './plan.ts';
import type { Traffic } from './read-traffic.ts';

export const densityMeasures = [
  'query_density',
  'query_uncovered_ratio',
  'query_uncovered_excess_ratio',
  'density_sessions',
  'density_page_evidence_ratio',
  'density_ticket_evidence_ratio',
] as const;

export type DensityMeasure = (typeof densityMeasures)[number];

interface ClosedTraffic {
  readonly plan: DensityPlan;
  readonly baseline: FrozenBaseline;
  readonly version: number;
  readonly history: readonly ClosedWindow[];
  readonly measurement: WindowMeasurement;
  readonly traffic: Traffic;
  readonly steps: readonly { readonly level: AlarmLevel; readonly step: AlarmStep }[];
  readonly now: Date;
}

interface Frame {
  readonly pipeline: string;
  readonly segment: string;
  readonly windowStart: Date;
  readonly windowEnd: Date;
  readonly measuredAt: Date;
}

export function densityOutcomes(closed: ClosedTraffic): MeasurementOutcome[] {
  const { plan, history, now } = closed;
  const window = history.at(-1);
  if (window === undefined) return [];
  const frameOf = (segment: string): Frame => ({
    pipeline: plan.pipeline,
    segment,
    windowStart: new Date(window.startMs),
    windowEnd: new Date(window.endMs),
    measuredAt: now,
  });
  const segments = new Set([ALL_SEGMENT, ...Object.keys(window.segments)]);
  return [
    ...[...segments].flatMap((segment) => segmentOutcomes(closed, segment, frameOf(segment))),
    ...closed.steps.map(
      ({ level, step }): MeasurementOutcome => ({
        kind: 'value',
        ...frameOf(ALL_SEGMENT),
        measure: `density_${level}_evidence_ratio`,
        ...unbounded,
        value: step.evidenceRatio,
        n: window.totals.all.sessions,
        details: { standing: step.standing.kind, leading: step.leading, baseline: closed.version },
      }),
    ),
  ];
}

const unbounded = { ciLow: null, ciHigh: null, ciMethod: null } as const;

function segmentOutcomes(closed: ClosedTraffic, segment: string, frame: Frame): MeasurementOutcome[] {
  const { history, baseline, version } = closed;
  const windows = history.map(({ startMs, endMs, segments }) => ({
    startMs,
    endMs,
    totals: segments[segment] ?? null,
  }));
  const sessions = windows.at(-1)?.totals?.sessions ?? 0;
  const counted: Measurement = {
    kind: 'value',
    ...frame,
    measure: 'density_sessions',
    ...unbounded,
    value: sessions,
    n: windows.at(-1)?.totals?.queries ?? 0,
    details: segment === ALL_SEGMENT ? countDetails(closed) : {},
  };
  const pooled = pooledCoverage(windows, baseline.global.phi);
  if (pooled.kind === 'insufficient_data') {
    const details = { have: pooled.have, need: pooled.need };
    const gaps = coverageMeasures.map(
      (measure): MeasurementOutcome => ({
        kind: 'no_data',
        ...frame,
        measure,
        reason: 'too_few_sessions',
        details,
      }),
    );
    return [...gaps, counted];
  }
  const start = { windowStart: new Date(pooled.startMs) };
  const values = coverageValues(pooled).map(
    (value): MeasurementOutcome => ({
      kind: 'value',
      ...frame,
      ...start,
      ...value,
      n: pooled.sessions,
      details: { baseline: version, queries: pooled.queries },
    }),
  );
  return [...values, counted];
}

const coverageMeasures = ['query_density', 'query_uncovered_ratio', 'query_uncovered_excess_ratio'] as const;

function coverageValues({
  density,
  low,
  high,
  uncovered,
}: PooledCoverage): Pick<Measurement, 'measure' | 'value' | 'ciLow' | 'ciHigh' | 'ciMethod'>[] {
  const { share, ciLow, ciHigh, excess, excessLow, excessHigh } = uncovered;
  return [
    { measure: 'query_density', value: density, ciLow: low, ciHigh: high, ciMethod: 'log_normal' },
    { measure: 'query_uncovered_ratio', value: share, ciLow, ciHigh, ciMethod: 'wilson' },
    {
      measure: 'query_uncovered_excess_ratio',
      value: excess,
      ciLow: excessLow,
      ciHigh: excessHigh,
      ciMethod: 'wilson',
    },
  ];
}

function countDetails({ traffic, measurement }: ClosedTraffic): Measurement['details'] {
  const { dropped } = measurement;
  const late = traffic.tally.open + traffic.tally.untouched;
  return {
    not_measurable: {
      ...traffic.tally.notMeasurable,
      ...(traffic.otherDimension > 0 ? { dimension_mismatch: traffic.otherDimension } : {}),
      ...(dropped.zeroVector > 0 ? { zero_vector: dropped.zeroVector } : {}),
      ...(dropped.notFiniteVector > 0 ? { not_finite_vector: dropped.notFiniteVector } : {}),
      ...(late > 0 ? { not_measured_in_time: late } : {}),
    },
  };
}
