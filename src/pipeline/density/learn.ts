/** From traffic to a baseline: provisional as soon as there is some, for pages when there is enough. */
import {
  type BaselineGrade,
  baselineGrade,
  daysWithTraffic,
} from '../../core/drift/baseline/baseline-period.ts';
import type { MeasurementFingerprint } from '../../core/drift/baseline/rebaseline-rule.ts';
import type { DensityPhase, DensityState, NewDensityEvent } from '../../ports/density-states.ts';
import { type BuildBaselineDeps, type BuiltBaseline, buildBaseline } from './build-baseline.ts';
import { type NextStep, quietStep } from './next-step.ts';
import type { DensityPlan } from './plan.ts';
import { lastClosable, watchWith } from './policy.ts';

const DAY_MS = 86_400_000;
/** A period of the configured days is doubled so often for the sessions that it lacks. */
const DOUBLINGS = 2;

const NOTHING = { days: 0, sessions: 0, problem: null } as const;

/** A watch without a baseline. */
export function learningState(fingerprint: MeasurementFingerprint, sinceMs: number | null): DensityState {
  return { phase: { kind: 'learning', progress: NOTHING }, closedMs: sinceMs ?? 0, sinceMs, fingerprint };
}

/**
 * Builds a baseline of what was measured up to now, of at least the configured number of days.
 *
 * @param least grade that is good enough
 * @returns the watch with it, or how far the traffic is from one
 */
export async function learn(
  deps: BuildBaselineDeps,
  plan: DensityPlan,
  state: DensityState,
  signal: AbortSignal,
  least: 'page' | 'provisional' = 'provisional',
): Promise<NextStep | null> {
  const untilMs = lastClosable(plan, deps.clock.now());
  const since = state.sinceMs === null ? null : new Date(state.sinceMs);
  const fromMs = await startOfTraffic(deps, plan, state, untilMs);
  if (fromMs === null) return stillLearning(state, untilMs, NOTHING);
  const progress = await progressOf(deps, plan, fromMs, untilMs, since);
  const isEnough = progress.grade === 'page' || (progress.grade === 'provisional' && least === 'provisional');
  if (!isEnough) return stillLearning(state, untilMs, progress);
  const period = { from: new Date(fromMs), until: new Date(untilMs), scoredSince: since };
  const reason = least === 'page' ? 'enough traffic for pages' : 'enough traffic';
  const built = await buildBaseline(deps, plan, period, reason, signal);
  if (built.kind === 'insufficient') return stillLearning(state, untilMs, built);
  return startedWatch(plan, state, built, { reason, closedMs: untilMs });
}

export interface WatchStart {
  /** Why the baseline was built, for people. */
  readonly reason: string;
  /** Windows that end after this are watched. */
  readonly closedMs: number;
  /** What the event tells beside the baseline. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The watch with a baseline that was just built, and the event that tells of it. */
export function startedWatch(
  plan: DensityPlan,
  state: DensityState,
  built: Extract<BuiltBaseline, { kind: 'built' }>,
  { reason, closedMs, details = {} }: WatchStart,
): NextStep {
  const { baseline, version } = built;
  const phase = watchWith(plan, baseline, version, closedMs);
  const event: NewDensityEvent = {
    kind: 'rebaseline',
    occurredAt: new Date(closedMs),
    sentence: `Query density of ${plan.pipeline} is now held against baseline ${version}, ${baseline.sessions} sessions of ${baseline.days} days: ${reason}.${phase.grade === 'provisional' ? ' It is provisional: tickets, no pages.' : ''}`,
    details: {
      baseline: version,
      grade: baseline.grade,
      days: baseline.days,
      sessions: baseline.sessions,
      from: baseline.period.from.toISOString(),
      until: baseline.period.until.toISOString(),
      ...details,
    },
  };
  return { state: { ...state, phase, closedMs }, windows: [], events: [event], outcomes: [] };
}

function stillLearning(
  state: DensityState,
  untilMs: number,
  { days, sessions, problem = null }: { days: number; sessions: number; problem?: 'days' | null },
): NextStep {
  const phase: DensityPhase = { kind: 'learning', progress: { days, sessions, problem } };
  return quietStep({ ...state, phase, closedMs: untilMs });
}

/** From when the baseline is taken: as few multiples of the configured days as have the sessions, at most four. */
async function startOfTraffic(
  { coverage }: BuildBaselineDeps,
  { pipeline, needs }: DensityPlan,
  { sinceMs }: DensityState,
  untilMs: number,
): Promise<number | null> {
  const scoredSince = sinceMs === null ? null : new Date(sinceMs);
  let fromMs: number | null = null;
  for (let doubled = 0; doubled <= DOUBLINGS; doubled++) {
    const startMs = Math.max(sinceMs ?? 0, untilMs - needs.days * 2 ** doubled * DAY_MS);
    const period = { pipeline, from: new Date(startMs), until: new Date(untilMs), scoredSince };
    const { chances, first } = await coverage.tally(period);
    if (first === null) continue;
    fromMs = startMs;
    if (chances.reduce((sum, { sessions }) => sum + sessions, 0) >= needs.sessions) break;
  }
  return fromMs;
}

async function progressOf(
  { coverage }: BuildBaselineDeps,
  { pipeline, needs }: DensityPlan,
  fromMs: number,
  untilMs: number,
  scoredSince: Date | null,
): Promise<{ readonly grade: BaselineGrade; readonly days: number; readonly sessions: number }> {
  const period = { pipeline, from: new Date(fromMs), until: new Date(untilMs), scoredSince };
  const { chances, first, last } = await coverage.tally(period);
  const sessions = chances.reduce((sum, group) => sum + group.sessions, 0);
  const days = first === null || last === null ? 0 : daysWithTraffic(period, [first, last]);
  return { grade: baselineGrade(days, sessions, needs), days, sessions };
}
