/** The watch over query density: what happened in each pipeline since the last step, what follows, and that it is kept. */
import { type DensityDeps, forEachPlan } from './dependencies.ts';
import { investigateAlarm } from './investigate-alarm.ts';
import { observeBaselineTraffic, observeReplay } from './learn-baseline.ts';
import { observeWindow } from './measure-live-window.ts';
import { currentFingerprint, observeChange } from './observe-change.ts';
import type { DensityPlan } from './plan.ts';
import { isUpgradeDue, lastClosable, learningState, transition } from './rules/watch.ts';
import type {
  DensityState,
  NewDensityEvent,
  WatchEffect,
  WatchObservation,
  WatchStep,
} from './rules/watch-state.ts';
import type { StoredDensityState } from './watch-table.ts';

/** Steps of one pipeline in one call; after a long stop the rest is left for the next minute. */
const MAX_STEPS = 48;

/**
 * Takes the steps that are due in every pipeline. Any number of workers may do it at once and at any time: each step
 * starts from a revision of the state, and of two from the same revision one is stored.
 *
 * @throws the first failure, after all pipelines were tried; the reason of `signal` when it aborts
 */
export async function evaluateDensity(deps: DensityDeps, signal: AbortSignal): Promise<void> {
  await forEachPlan(deps.plans, signal, async (plan) => {
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      signal.throwIfAborted();
      const stored = (await deps.tables.watch.find(plan.pipeline)) ?? (await firstState(deps, plan));
      const observed = await observe(deps, plan, stored.state, signal);
      if (observed === null) return;
      const step = transition(plan, stored.state, observed);
      // Otherwise another worker is at it, and goes on.
      if (!(await store(deps, plan, stored, step, signal))) return;
    }
  });
}

async function firstState(deps: DensityDeps, plan: DensityPlan): Promise<StoredDensityState> {
  const { fields } = await currentFingerprint(deps, plan);
  return { state: learningState(fields, null), revision: 0, updatedAt: deps.clock.now() };
}

/** The next thing that the watch has to know; null while nothing is due. */
async function observe(
  deps: DensityDeps,
  plan: DensityPlan,
  state: DensityState,
  signal: AbortSignal,
): Promise<WatchObservation | null> {
  const now = deps.clock.now();
  const isDue = lastClosable(plan, now) > state.closedMs;
  // The parts are looked at before anything is said of coverage: what they changed is no drift.
  if (isDue) await deps.probeParts(plan, signal);
  const change = await observeChange(deps, plan, state, signal);
  if (change === 'unknown') return null;
  if (change !== null) return change;
  switch (state.phase.kind) {
    case 'learning':
      return isDue ? observeBaselineTraffic(deps, plan, state, now, signal) : null;
    case 'replaying':
      return observeReplay(deps, plan, state.phase, now, signal);
    case 'watching':
      if (isUpgradeDue(plan, state, now)) return observeBaselineTraffic(deps, plan, state, now, signal);
      return isDue ? observeWindow(deps, plan, state, state.phase, now, signal) : null;
  }
}

/** Measurements go first, and are the same whoever writes them. @returns false when another worker was faster */
async function store(
  deps: DensityDeps,
  plan: DensityPlan,
  { revision }: StoredDensityState,
  { state, effects }: WatchStep,
  signal: AbortSignal,
): Promise<boolean> {
  const { pipeline } = plan;
  const events: NewDensityEvent[] = [];
  for (const effect of effects) {
    if (effect.kind === 'record_measurements') await deps.measurements.record(effect.outcomes);
    if (effect.kind === 'record_event') events.push(effect.event);
    if (effect.kind === 'investigate_alarm') {
      events.push(await investigateAlarm(deps, plan, effect.alarm, state.sinceMs, signal));
    }
  }
  const windows = effects.flatMap((effect) => (effect.kind === 'store_windows' ? effect.windows : []));
  const at = deps.clock.now();
  if (!(await deps.tables.watch.advance({ pipeline, revision, state, windows, events, at }))) return false;
  await releaseBaselines(deps, pipeline, effects);
  for (const { kind, sentence } of events) {
    const fields = { pipeline, event: kind };
    if (kind === 'page') deps.logger.error(sentence, fields);
    else deps.logger.info(sentence, fields);
  }
  return true;
}

async function releaseBaselines(
  { tables }: DensityDeps,
  pipeline: string,
  effects: readonly WatchEffect[],
): Promise<void> {
  for (const effect of effects) {
    if (effect.kind === 'release_baselines_before') {
      await tables.baselines.releaseBefore(pipeline, effect.version);
    }
  }
}
