/** The watch over query density: learns a baseline, closes windows in order, raises alarms, follows changes. */
import type { WindowSpan } from '../../core/drift/coverage/evidence-windows.ts';
import { windowsToClose } from '../../core/drift/coverage/evidence-windows.ts';
import type {
  DensityState,
  DensityStates,
  StoredDensityState,
  WatchingPhase,
} from '../../ports/density-states.ts';
import type { Measurements } from '../../ports/measurements.ts';
import { alarmEvents } from './alarm-events.ts';
import { closeWindow } from './close-window.ts';
import { currentFingerprint } from './fingerprint.ts';
import { finishReplay } from './finish-replay.ts';
import { type FollowChangeDeps, followChange } from './follow-change.ts';
import type { InvestigateDeps } from './investigate.ts';
import { learn, learningState } from './learn.ts';
import type { NextStep } from './next-step.ts';
import type { DensityPlan } from './plan.ts';
import { lastClosable, MEASURING_PATIENCE_MS } from './policy.ts';

export interface EvaluateDensityDeps extends FollowChangeDeps, Omit<InvestigateDeps, keyof FollowChangeDeps> {
  readonly states: DensityStates;
  readonly measurements: Pick<Measurements, 'record'>;
  readonly plans: readonly DensityPlan[];
}

/** Steps of one pipeline in one call; after a long stop the rest is left for the next minute. */
const MOST_STEPS = 48;
const DAY_MS = 86_400_000;

/**
 * Takes the steps that are due in every pipeline. Any number of workers may do it at once and at any time: each step
 * starts from a revision of the state, and of two from the same revision one is stored.
 *
 * @throws the first failure, after all pipelines were tried; the reason of `signal` when it aborts
 */
export async function evaluateDensity(deps: EvaluateDensityDeps, signal: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (const plan of deps.plans) {
    try {
      await evaluatePipeline(deps, plan, signal);
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

async function evaluatePipeline(
  deps: EvaluateDensityDeps,
  plan: DensityPlan,
  signal: AbortSignal,
): Promise<void> {
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    signal.throwIfAborted();
    const stored = (await deps.states.find(plan.pipeline)) ?? (await firstState(deps, plan));
    const step = await nextStep(deps, plan, stored, signal);
    if (step === null) return;
    const { outcomes, ...rest } = step;
    await deps.measurements.record(outcomes);
    const isTaken = await deps.states.advance({
      pipeline: plan.pipeline,
      revision: stored.revision,
      at: deps.clock.now(),
      ...rest,
    });
    // Another worker is at it, and goes on.
    if (!isTaken) return;
    const { phase } = step.state;
    if (phase.kind === 'watching') await releaseFormer(deps, plan, stored, phase);
    for (const { kind, sentence } of step.events) {
      const fields = { pipeline: plan.pipeline, event: kind };
      if (kind === 'page') deps.logger.error(sentence, fields);
      else deps.logger.info(sentence, fields);
    }
  }
}

/** Of a baseline that is no longer used the queries go, which are personal data, and the numbers stay. */
async function releaseFormer(
  { baselines }: EvaluateDensityDeps,
  { pipeline }: DensityPlan,
  { state: { phase: before } }: StoredDensityState,
  { baselineVersion }: WatchingPhase,
): Promise<void> {
  if (before.kind === 'watching' && before.baselineVersion === baselineVersion) return;
  await baselines.releaseBefore(pipeline, baselineVersion);
}

async function firstState(deps: EvaluateDensityDeps, plan: DensityPlan): Promise<StoredDensityState> {
  const { fields } = await currentFingerprint(deps.deployments, plan.pipeline, plan.k);
  return { state: learningState(fields, null), revision: 0, updatedAt: deps.clock.now() };
}

async function nextStep(
  deps: EvaluateDensityDeps,
  plan: DensityPlan,
  stored: StoredDensityState,
  signal: AbortSignal,
): Promise<NextStep | null> {
  const { state } = stored;
  const isDue = lastClosable(plan, deps.clock.now()) > state.closedMs;
  // The parts are looked at before anything is said of coverage: what they changed is no drift.
  if (isDue) await deps.lookAgain(plan, signal);
  const change = await followChange(deps, plan, state, signal);
  if (change === 'wait') return null;
  if (change !== null) return change;
  switch (state.phase.kind) {
    case 'learning':
      return isDue ? learn(deps, plan, state, signal) : null;
    case 'replaying':
      return finishReplay(deps, plan, state, state.phase, signal);
    case 'watching':
      return isDue ? watch(deps, plan, state, state.phase, signal) : null;
  }
}

async function watch(
  deps: EvaluateDensityDeps,
  plan: DensityPlan,
  state: DensityState,
  phase: WatchingPhase,
  signal: AbortSignal,
): Promise<NextStep | null> {
  const now = deps.clock.now();
  const { windowMs, graceMs, pipeline } = plan;
  const [span] = windowsToClose(state.closedMs, now.getTime(), { windowMs, graceMs, most: 1 });
  if (span === undefined || (await isAwaited(deps, plan, span, now))) return null;
  const stored = await deps.baselines.find(pipeline, phase.baselineVersion);
  if (stored === null)
    throw new Error(`the density baseline ${phase.baselineVersion} of ${pipeline} is gone`);
  const reference = { plan, stored, scoredSince: state.sinceMs === null ? null : new Date(state.sinceMs) };
  const closing = await closeWindow(deps, reference, phase, span, signal);
  const alarms = Object.fromEntries(closing.steps.map(({ level, step }) => [level, step.state]));
  const closed = { ...state, closedMs: span.endMs, phase: { ...phase, alarms } };
  const events = await alarmEvents(deps, reference, closing, signal);
  const step = {
    state: closed,
    windows: [...closing.late, closing.closed],
    events,
    outcomes: closing.outcomes,
  };
  const hasIncident = closing.steps.some(({ step: { state: alarm } }) => alarm.incident !== null);
  const isBehind = span.endMs < lastClosable(plan, now);
  if (phase.upgradeMs === null || span.endMs < phase.upgradeMs || isBehind || hasIncident) return step;
  const upgrade = await learn(deps, plan, { ...closed, closedMs: 0 }, signal, 'page');
  if (upgrade?.state.phase.kind === 'watching') {
    return {
      ...upgrade,
      windows: step.windows,
      events: [...events, ...upgrade.events],
      outcomes: step.outcomes,
    };
  }
  const later = { ...closed.phase, upgradeMs: phase.upgradeMs + DAY_MS };
  return { ...step, state: { ...closed, phase: later } };
}

/** Whether queries of the window wait to be measured, and are worth waiting for. */
async function isAwaited(
  { coverage }: EvaluateDensityDeps,
  { pipeline, graceMs }: DensityPlan,
  { startMs, endMs }: WindowSpan,
  now: Date,
): Promise<boolean> {
  if (now.getTime() > endMs + graceMs + MEASURING_PATIENCE_MS) return false;
  const period = { pipeline, from: new Date(startMs), until: new Date(endMs), scoredSince: null };
  const { open, untouched } = await coverage.tally(period);
  return open + untouched > 0;
}
