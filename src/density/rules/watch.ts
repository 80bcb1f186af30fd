/**
 * Density monitoring of one pipeline as a state machine. The caller loads the state, makes an observation, and stores
 * the result of the transition atomically.
 *
 * learning   --baseline_built-->          watching      enough traffic
 * watching   --window_measured-->         watching      drift test, alerts, measurements
 * watching   --baseline_built-->          watching      a page-grade baseline replaces a provisional one
 * any        --measurement_changed-->     replaying     baseline queries are searched again
 * any        --measurement_changed-->     learning      the baseline queries are no longer stored
 * replaying  --baseline_built-->          watching      the replay has finished
 * replaying  --replay_insufficient-->     learning      too few queries could be replayed
 * any        --startOver-->               learning      a new baseline was requested manually
 */

import { ALL_SEGMENT } from '../../core/model.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import type { Measurement, MeasurementOutcome } from '../../measures/rules/measurement.ts';
import {
  type AlertLevel,
  type AlertState,
  type AlertStep,
  alertLevels,
  alertPolicy,
  alertThreshold,
  newAlert,
  stepAlert,
} from './alert.ts';
import type { BaselineTraffic } from './baseline.ts';
import type { MeasurementFingerprint } from './measurement-change.ts';
import { type PooledCoverage, pooledCoverage } from './pooled-density.ts';
import { densityOf } from './query-density.ts';
import { baselineEvent, changeEvent, changeReason, requestEvent, resolvedEvent } from './watch-sentences.ts';
import type {
  BuiltBaseline,
  ClosedWindow,
  DensityPhase,
  DensityState,
  MeasuredWindow,
  RebaselineRequest,
  ReplayingPhase,
  WatchingPhase,
  WatchObservation,
  WatchSettings,
  WatchStep,
} from './watch-state.ts';

export const densityMeasures = [
  'query_density',
  'query_uncovered_ratio',
  'query_uncovered_excess_ratio',
  'density_sessions',
  'density_page_evidence_ratio',
  'density_ticket_evidence_ratio',
] as const;

/** @param window the closing window, which is the last window in `history` */
function windowMeasurements(
  pipeline: string,
  version: number,
  measured: MeasuredWindow,
  window: ClosedWindow,
  steps: readonly { readonly level: AlertLevel; readonly step: AlertStep }[],
): MeasurementOutcome[] {
  const segments = new Set([ALL_SEGMENT, ...Object.keys(window.segments)]);
  return [
    ...[...segments].flatMap((segment) => segmentOutcomes(measured, version, frameOf(pipeline, segment, window))),
    ...steps.map(
      ({ level, step }): MeasurementOutcome => ({
        kind: 'value',
        ...frameOf(pipeline, ALL_SEGMENT, window),
        measure: `density_${level}_evidence_ratio`,
        ...unbounded,
        value: step.evidenceRatio,
        n: window.totals.all.sessions,
        details: { status: step.status, baseline: version },
      }),
    ),
  ];
}

function frameOf(pipeline: string, segment: string, { startMs, endMs, measuredMs }: ClosedWindow) {
  const [windowStart, windowEnd, measuredAt] = [new Date(startMs), new Date(endMs), new Date(measuredMs)];
  return { pipeline, segment, windowStart, windowEnd, measuredAt };
}

const unbounded = { ciLow: null, ciHigh: null, ciMethod: null } as const;

function segmentOutcomes(
  { history, baseline, notMeasurable }: MeasuredWindow,
  version: number,
  frame: ReturnType<typeof frameOf>,
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
    const gap = { kind: 'no_data', ...frame, reason: 'too_few_sessions', details } as const;
    return [...coverageMeasures.map((measure) => ({ ...gap, measure })), counted];
  }
  const shared = {
    kind: 'value',
    ...frame,
    windowStart: new Date(pooled.startMs),
    n: pooled.sessions,
    details: { baseline: version, queries: pooled.queries },
  } as const;
  return [...coverageValues(pooled).map((value) => ({ ...shared, ...value })), counted];
}

const coverageMeasures = ['query_density', 'query_uncovered_ratio', 'query_uncovered_excess_ratio'] as const;

function coverageValues({ density, low, high, uncovered }: PooledCoverage) {
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
  ] as const;
}

export const NO_TRAFFIC: BaselineTraffic = { days: 0, sessions: 0 };
/** Maximum time that a window waits after its grace period for its queries to be measured. */
export const MEASURING_PATIENCE_MS = HOUR_MS;

/** Initial state, also used after a baseline becomes invalid. Uses only measurements since `sinceMs`. */
export function learningState(fingerprint: MeasurementFingerprint, sinceMs: number | null): DensityState {
  const phase: DensityPhase = { kind: 'learning', progress: NO_TRAFFIC };
  return { phase, closedMs: sinceMs ?? 0, sinceMs, fingerprint };
}

/** Returns the end of the last window whose grace period is over. */
export function lastClosable({ windowMs, graceMs }: WatchSettings, now: Date): number {
  return Math.floor((now.getTime() - graceMs) / windowMs) * windowMs;
}

/**
 * True if recalld should try to replace a provisional baseline now: at most once a day, and only if no window is due to
 * close and no incident is open.
 */
export function isUpgradeDue(settings: WatchSettings, state: DensityState, now: Date): boolean {
  const { phase, closedMs } = state;
  if (phase.kind !== 'watching' || phase.upgradeMs === null || closedMs < phase.upgradeMs) return false;
  return closedMs >= lastClosable(settings, now) && !hasIncident(phase);
}

export function hasIncident(phase: DensityPhase): boolean {
  return phase.kind === 'watching' && Object.values(phase.alerts).some(({ incident }) => incident !== null);
}

/**
 * Returns the next state and what to store with it.
 *
 * @throws Error if a window closes while there is no baseline
 */
export function transition(settings: WatchSettings, state: DensityState, observed: WatchObservation): WatchStep {
  switch (observed.kind) {
    case 'measurement_identified':
      return { state: { ...state, fingerprint: observed.fingerprint } };
    case 'measurement_changed':
      return afterChange(settings, state, observed);
    case 'traffic_insufficient': {
      const phase: DensityPhase = { kind: 'learning', progress: observed.progress };
      return { state: { ...state, phase, closedMs: observed.untilMs } };
    }
    case 'baseline_built':
      return startWatching(settings, state, observed);
    case 'upgrade_insufficient': {
      const phase = watchingPhase(state);
      const upgradeMs = phase.upgradeMs === null ? null : phase.upgradeMs + DAY_MS;
      return { state: { ...state, phase: { ...phase, upgradeMs } } };
    }
    case 'replay_insufficient':
      return { state: learningState(state.fingerprint, state.sinceMs) };
    case 'window_measured':
      return closeWindow(settings, state, observed);
  }
}

/** Discards the baseline and its open alerts. Can be called in any phase. */
export function startOver(pipeline: string, state: DensityState, request: RebaselineRequest) {
  const { since } = request;
  const from = since === null ? state.sinceMs : Math.max(since.getTime(), state.sinceMs ?? 0);
  return {
    // With `closedMs` 0, recalld checks immediately whether there is enough traffic for a baseline, without waiting for
    // the end of the next window.
    state: { ...learningState(state.fingerprint, from), closedMs: 0 },
    events: [requestEvent(pipeline, request)],
  };
}

function afterChange(
  { pipeline }: WatchSettings,
  state: DensityState,
  observed: Extract<WatchObservation, { kind: 'measurement_changed' }>,
): WatchStep {
  const { fingerprint, changed, at, consequence } = observed;
  const events = [changeEvent(pipeline, state.phase.kind === 'learning', observed)];
  const startedMs = at.getTime();
  switch (consequence.kind) {
    case 'keep':
      return { state: { ...state, fingerprint }, events };
    case 'learn':
      return { state: learningState(fingerprint, startedMs), events };
    case 'replay': {
      const phase: ReplayingPhase = {
        kind: 'replaying',
        baselineVersion: consequence.baselineVersion,
        fromMs: consequence.from.getTime(),
        untilMs: consequence.until.getTime(),
        startedMs,
        reason: changeReason(changed),
      };
      return { state: { phase, closedMs: startedMs, sinceMs: startedMs, fingerprint }, events };
    }
  }
}

function thresholdOf({ budget, windowMs, monitors }: WatchSettings): number {
  return alertThreshold(budget, windowMs, monitors);
}

function startWatching(settings: WatchSettings, state: DensityState, built: BuiltBaseline): WatchStep {
  const { baseline, version, closedMs } = built;
  const alerts: Partial<Record<AlertLevel, AlertState>> = {};
  for (const level of alertLevels(baseline.grade)) {
    alerts[level] = newAlert(alertPolicy(baseline, level, thresholdOf(settings)), closedMs);
  }
  const isPage = baseline.grade === 'page';
  const phase: WatchingPhase = {
    kind: 'watching',
    baselineVersion: version,
    grade: isPage ? 'page' : 'provisional',
    days: baseline.days,
    sessions: baseline.sessions,
    density: densityOf(baseline.global.meanX),
    untilMs: baseline.period.until.getTime(),
    upgradeMs: isPage ? null : closedMs + DAY_MS,
    alerts,
  };
  return {
    state: { ...state, phase, closedMs },
    events: [baselineEvent(settings.pipeline, built)],
    releaseBefore: version,
  };
}

function closeWindow(settings: WatchSettings, state: DensityState, measured: MeasuredWindow): WatchStep {
  const phase = watchingPhase(state);
  const { baseline, history, remeasured, scores } = measured;
  const closed = history.at(-1);
  if (closed === undefined) throw new Error('The history must contain the closing window.');
  const totals = history.map((window) => window.totals);
  const threshold = thresholdOf(settings);
  const steps = alertLevels(baseline.grade).flatMap((level) => {
    const alert = phase.alerts[level];
    if (alert === undefined) return [];
    return [{ level, step: stepAlert(alertPolicy(baseline, level, threshold), alert, scores, totals) }];
  });
  const alerts = Object.fromEntries(steps.map(({ level, step }) => [level, step.state]));
  return {
    state: { ...state, closedMs: closed.endMs, phase: { ...phase, alerts } },
    measurements: windowMeasurements(settings.pipeline, phase.baselineVersion, measured, closed, steps),
    windows: [...remeasured, closed],
    events: steps.flatMap(({ level, step: { event, evidenceRatio } }): NonNullable<WatchStep['events']> => {
      if (event === null) return [];
      if (event.kind === 'resolved') return [resolvedEvent(settings.pipeline, level, event, new Date(closed.endMs))];
      return [{ level, raised: event, evidenceRatio, baselineVersion: phase.baselineVersion, history }];
    }),
  };
}

function watchingPhase({ phase }: DensityState): WatchingPhase {
  if (phase.kind !== 'watching')
    throw new Error(`In phase ${phase.kind} there is no baseline to compare windows with.`);
  return phase;
}
