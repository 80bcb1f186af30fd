import type { Context } from '../core/context.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { DAY_MS, type TimeSpan } from '../core/time.ts';
import type { Measurement } from '../measures/rules/measurement.ts';
import { toWire } from '../platform/http/wire.ts';
import { type DensityAnswer, densityAnswer } from './http-contract.ts';
import { GROWTH_DAYS, outgrewBaseline } from './rules/measurement-change.ts';
import { densityMeasures } from './rules/watch.ts';
import type { DensityPhase } from './rules/watch-state.ts';

const MAX_EVENTS = 50;
/** Maximum length of a series: two weeks of hourly windows. */
const MAX_SERIES = 336;

export async function describeDensity(
  { db, clock, densityPlans: plans }: Context,
  { pipeline, segment, from, until }: TimeSpan & Readonly<Record<'pipeline' | 'segment', string>>,
  check: DensityAnswer['check'],
): Promise<DensityAnswer> {
  const now = clock.now();
  const plan = plans.find((one) => one.pipeline === pipeline) ?? null;
  const [stored, events, all] = await Promise.all([
    db.density.watch.find(pipeline),
    db.density.watch.events({ pipeline, limit: MAX_EVENTS }),
    db.measurements.latest(now),
  ]);
  const latest = all.filter((one) => one.pipeline === pipeline);
  const measures = Object.fromEntries(
    await Promise.all(
      densityMeasures.map(async (measure) => {
        const found = latest.find((one) => one.measure === measure && one.segment === segment);
        const series = await db.measurements.series({ pipeline, measure, segment }, from, until, MAX_SERIES);
        const { newest = null, gap = null } = found ?? {};
        const described = {
          latest: newest && pointOf(newest),
          noData: gap,
          series: series.map(pointOf),
        };
        return [measure, described] as const;
      }),
    ),
  );
  const phase = stored?.state.phase ?? null;
  const watching = phase?.kind === 'watching' ? phase : null;
  const progress = phase?.kind === 'learning' ? phase.progress : null;
  return toWire(densityAnswer, {
    pipeline,
    segment,
    phase: phase?.kind ?? 'unwatched',
    baseline: watching && { ...watching, version: watching.baselineVersion, until: new Date(watching.untilMs) },
    progress: progress && plan && { ...progress, needs: plan.needs },
    incidents: Object.fromEntries(
      Object.entries(watching?.alerts ?? {}).flatMap(([level, { incident }]) =>
        incident === null ? [] : [[level, { openedAt: new Date(incident.openedMs) }]],
      ),
    ),
    closedUntil: watching && stored && new Date(stored.state.closedMs),
    check,
    outgrewBaseline: await hasOutgrown(db, phase, pipeline, now),
    measures,
    events,
  });
}

const pointOf = (one: Measurement) => ({ ...one, sessions: one.n });

/** Applies `outgrewBaseline` to the last density of each full day (UTC). */
async function hasOutgrown(
  { measurements }: Context['db'],
  phase: DensityPhase | null,
  pipeline: string,
  now: Date,
): Promise<boolean> {
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
