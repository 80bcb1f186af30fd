/** All that is known of the query density of a pipeline. */
import type { CheckResult } from '../../core/checks/result.ts';
import { GROWTH_DAYS, outgrewBaseline } from '../../core/drift/baseline/rebaseline-rule.ts';
import type { Measurement, MeasurementGap } from '../../core/measurement.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DensityEvent, DensityStates, StoredDensityState } from '../../ports/density-states.ts';
import type { Measurements } from '../../ports/measurements.ts';
import { type DensityMeasure, densityMeasures } from './density-outcomes.ts';
import type { DensityPlan } from './plan.ts';
import { densityCheck } from './publish-density.ts';

export interface DescribeDensityDeps {
  readonly states: Pick<DensityStates, 'find' | 'events'>;
  readonly measurements: Pick<Measurements, 'latest' | 'series'>;
  readonly clock: Clock;
  readonly plans: readonly DensityPlan[];
}

export interface DensityRequest {
  readonly pipeline: string;
  readonly segment: string;
  /** Of the series. */
  readonly from: Date;
  readonly until: Date;
}

export interface DensityMeasured {
  readonly measure: DensityMeasure;
  readonly latest: Measurement | null;
  readonly gap: MeasurementGap | null;
  readonly series: readonly Measurement[];
}

export interface DensityDescription extends Pick<DensityRequest, 'pipeline' | 'segment'> {
  /** Null when the config has its density not watched. */
  readonly plan: DensityPlan | null;
  readonly stored: StoredDensityState | null;
  readonly check: CheckResult | null;
  /** Coverage is so much better than in the baseline, and for so long, that a new one should hold it. */
  readonly outgrown: boolean;
  readonly measures: readonly DensityMeasured[];
  readonly events: readonly DensityEvent[];
}

const MOST_EVENTS = 50;
const DAY_MS = 86_400_000;

export async function describeDensity(
  { states, measurements, clock, plans }: DescribeDensityDeps,
  { pipeline, segment, from, until }: DensityRequest,
): Promise<DensityDescription> {
  const now = clock.now();
  const plan = plans.find((one) => one.pipeline === pipeline) ?? null;
  const [stored, events, all] = await Promise.all([
    states.find(pipeline),
    states.events({ pipeline, limit: MOST_EVENTS }),
    measurements.latest(now),
  ]);
  const latest = all.filter((one) => one.pipeline === pipeline);
  const measures = await Promise.all(
    densityMeasures.map(async (measure): Promise<DensityMeasured> => {
      const found = latest.find((one) => one.measure === measure && one.segment === segment);
      const series = await measurements.series({ pipeline, measure, segment }, from, until);
      return { measure, latest: found?.newest ?? null, gap: found?.gap ?? null, series };
    }),
  );
  const check = plan === null ? null : densityCheck(plan, stored, latest, now);
  const outgrown = await hasOutgrown(measurements, stored, pipeline, now);
  return { pipeline, segment, plan, stored, check, outgrown, measures, events };
}

/** By the last density of each full day, UTC. */
async function hasOutgrown(
  measurements: DescribeDensityDeps['measurements'],
  stored: StoredDensityState | null,
  pipeline: string,
  now: Date,
): Promise<boolean> {
  const phase = stored?.state.phase;
  if (phase?.kind !== 'watching') return false;
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  const firstDay = today - GROWTH_DAYS * DAY_MS;
  const series = await measurements.series(
    { pipeline, measure: 'query_density', segment: ALL_SEGMENT },
    new Date(firstDay),
    new Date(today),
  );
  const days: (number | null)[] = Array.from({ length: GROWTH_DAYS }, () => null);
  for (const { windowEnd, value } of series) {
    days[Math.floor((windowEnd.getTime() - firstDay) / DAY_MS)] = value;
  }
  return outgrewBaseline(days, phase.density);
}
