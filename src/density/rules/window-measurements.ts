/** What a closed window says of a pipeline, as measurements over time. */

import type { Measurement, MeasurementOutcome } from '../../measures/rules/measurement.ts';
import { ALL_SEGMENT } from '../../model.ts';
import type { AlarmLevel, AlarmStep } from './alarm.ts';
import { type PooledCoverage, pooledCoverage } from './pooled-density.ts';
import type { MeasuredWindow } from './watch-state.ts';

export const densityMeasures = [
  'query_density',
  'query_uncovered_ratio',
  'query_uncovered_excess_ratio',
  'density_sessions',
  'density_page_evidence_ratio',
  'density_ticket_evidence_ratio',
] as const;

export type DensityMeasure = (typeof densityMeasures)[number];

interface Frame {
  readonly pipeline: string;
  readonly segment: string;
  readonly windowStart: Date;
  readonly windowEnd: Date;
  readonly measuredAt: Date;
}

/** The measurements of the window that closes, the last one of the history. @param version of the baseline */
export function windowMeasurements(
  pipeline: string,
  version: number,
  measured: MeasuredWindow,
  steps: readonly { readonly level: AlarmLevel; readonly step: AlarmStep }[],
): MeasurementOutcome[] {
  const window = measured.history.at(-1);
  if (window === undefined) return [];
  const frameOf = (segment: string): Frame => ({
    pipeline,
    segment,
    windowStart: new Date(window.startMs),
    windowEnd: new Date(window.endMs),
    measuredAt: new Date(window.measuredMs),
  });
  const segments = new Set([ALL_SEGMENT, ...Object.keys(window.segments)]);
  return [
    ...[...segments].flatMap((segment) => segmentOutcomes(measured, version, frameOf(segment))),
    ...steps.map(
      ({ level, step }): MeasurementOutcome => ({
        kind: 'value',
        ...frameOf(ALL_SEGMENT),
        measure: `density_${level}_evidence_ratio`,
        ...unbounded,
        value: step.evidenceRatio,
        n: window.totals.all.sessions,
        details: { standing: step.standing.kind, leading: step.leading, baseline: version },
      }),
    ),
  ];
}

const unbounded = { ciLow: null, ciHigh: null, ciMethod: null } as const;

function segmentOutcomes(
  { history, baseline, notMeasurable }: MeasuredWindow,
  version: number,
  frame: Frame,
): MeasurementOutcome[] {
  const { segment } = frame;
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
    details: segment === ALL_SEGMENT ? { not_measurable: notMeasurable } : {},
  };
  const pooled = pooledCoverage(windows, baseline.global);
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
