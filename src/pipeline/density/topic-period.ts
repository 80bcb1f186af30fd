/** The time that a look for uncovered topics is made over. */
import type { DensityStates, WatchingPhase } from '../../ports/density-states.ts';
import type { CoveragePeriod, QueryCoverage } from '../../ports/query-coverage.ts';
import type { DensityPlan } from './plan.ts';

export interface TopicPeriodDeps {
  readonly states: Pick<DensityStates, 'events'>;
  readonly coverage: Pick<QueryCoverage, 'tally'>;
}

const DAY_MS = 86_400_000;
/** Whole days, so that no hour of the day is taken for a topic. */
const LENGTHS_DAYS = [1, 2, 4, 7] as const;
/** From so many on a topic of a twentieth of the traffic is found. */
const ENOUGH_SESSIONS = 500;
/** As the size of an alarm needs. */
const ENOUGH_IN_ALARM = 200;
const EVENTS_READ = 20;

/**
 * As few of the latest days as have 500 sessions, at most seven, and nothing of the baseline itself. While an alarm is
 * open, the time since the coverage fell, when it is shorter: a topic of some hours is not diluted by a day without it.
 */
export async function topicPeriod(
  deps: TopicPeriodDeps,
  { pipeline }: DensityPlan,
  phase: WatchingPhase,
  { closedMs, scoredSince }: { readonly closedMs: number; readonly scoredSince: Date | null },
): Promise<CoveragePeriod> {
  const earliestMs = Math.min(phase.untilMs, closedMs);
  const fell = await fellAt(deps, pipeline, phase);
  const starts = [
    ...(fell === null || fell <= closedMs - DAY_MS ? [] : [{ startMs: fell, enough: ENOUGH_IN_ALARM }]),
    ...LENGTHS_DAYS.map((days) => ({ startMs: closedMs - days * DAY_MS, enough: ENOUGH_SESSIONS })),
  ];
  let period = periodFrom(closedMs);
  for (const { startMs, enough } of starts) {
    period = periodFrom(Math.max(startMs, earliestMs));
    const { chances } = await deps.coverage.tally(period);
    if (startMs <= earliestMs || chances.reduce((sum, { sessions }) => sum + sessions, 0) >= enough) break;
  }
  return period;

  function periodFrom(startMs: number): CoveragePeriod {
    return { pipeline, from: new Date(startMs), until: new Date(closedMs), scoredSince };
  }
}

/** Since when the coverage is worse by the open alarm, the latest when there are two; null without one. */
async function fellAt(
  { states }: TopicPeriodDeps,
  pipeline: string,
  { alarms }: WatchingPhase,
): Promise<number | null> {
  const raised = Object.values(alarms).flatMap(({ incident }) => incident?.raisedMs ?? []);
  if (raised.length === 0) return null;
  const events = await states.events({ pipeline, limit: EVENTS_READ });
  const since = events.flatMap(({ kind, occurredAt, details }) => {
    const isOpen = (kind === 'page' || kind === 'ticket') && raised.includes(occurredAt.getTime());
    const { since: start } = details;
    return isOpen && typeof start === 'string' ? [Date.parse(start)] : [];
  });
  return since.length === 0 ? null : Math.max(...since);
}
