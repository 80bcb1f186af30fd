/** One closed window of live queries -> evidence, alarms and measurements. */
import { type AlarmLevel, alarmLevels } from '../../core/drift/alarm/alarm-levels.ts';
import { type AlarmStep, LONGEST_POOL_MS, stepAlarm } from '../../core/drift/alarm/alarm-policy.ts';
import type { WindowSpan } from '../../core/drift/coverage/evidence-windows.ts';
import type { MeasurementOutcome } from '../../core/measurement.ts';
import type { ClosedWindow, DensityStates, WatchingPhase } from '../../ports/density-states.ts';
import { densityOutcomes } from './density-outcomes.ts';
import { measureLateSamples } from './late-samples.ts';
import { type MeasureClosedDeps, measureClosed } from './measure-closed.ts';
import { alarmPolicy } from './policy.ts';
import type { DensityReference } from './reference.ts';

export interface CloseWindowDeps extends MeasureClosedDeps {
  readonly states: Pick<DensityStates, 'windows'>;
}

export interface WindowClosing {
  readonly closed: ClosedWindow;
  /** Earlier windows that late samples belong to, measured again. */
  readonly late: readonly ClosedWindow[];
  /** Of the last week, the closed one last. */
  readonly history: readonly ClosedWindow[];
  readonly steps: readonly { readonly level: AlarmLevel; readonly step: AlarmStep }[];
  readonly outcomes: readonly MeasurementOutcome[];
}

/** Computes what follows from closing the window; it writes nothing. */
export async function closeWindow(
  deps: CloseWindowDeps,
  reference: DensityReference,
  phase: WatchingPhase,
  span: WindowSpan,
  signal: AbortSignal,
): Promise<WindowClosing> {
  const { plan, stored } = reference;
  const { baseline, version } = stored;
  const { closed, measurement, traffic } = await measureClosed(deps, reference, span, signal);
  const before = await deps.states.windows(plan.pipeline, new Date(span.endMs - LONGEST_POOL_MS));
  const comparable = before.filter(
    ({ endMs, baselineVersion }) => endMs <= span.startMs && baselineVersion === version,
  );
  const late = await measureLateSamples(deps, reference, comparable, signal);
  const remeasured = new Map(late.map((window) => [window.endMs, window]));
  const history = [...comparable.map((window) => remeasured.get(window.endMs) ?? window), closed];
  const steps = alarmLevels(baseline.grade).flatMap((level) => {
    const state = phase.alarms[level];
    if (state === undefined) return [];
    const policy = alarmPolicy(plan, baseline, level);
    const sums = history.map(({ totals }) => totals);
    return [{ level, step: stepAlarm(policy, state, measurement.scores, sums) }];
  });
  const now = new Date(closed.measuredMs);
  const outcomes = densityOutcomes({ plan, baseline, version, history, measurement, traffic, steps, now });
  return { closed, late, history, steps, outcomes };
}
