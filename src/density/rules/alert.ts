/** The two levels of the density alarm, and how much evidence each takes. */

import { DAY_MS } from '../../core/time.ts';
import type { DetectorSettings } from '../../math/stats/sequential.ts';
import type { Baseline, BaselineGrade } from './baseline.ts';
import { type BaselineSpread, nullMean } from './baseline-spread.ts';
import {
  type CombinedSettings,
  type CombinedState,
  type CombinedStep,
  newCombinedDetector,
  stepCombinedDetector,
} from './e-detector.ts';
import { type PooledDensity, pooledDensity, type Scope, type WindowTotals } from './pooled-density.ts';
import { MIN_SESSIONS } from './query-density.ts';
import type { SessionScores } from './sessions.ts';

export type AlertLevel = 'page' | 'ticket';

/** Densities down to these raise no alarm. */
interface Floors {
  readonly global: number;
  readonly region: number;
}

export const FLOORS: Readonly<Record<AlertLevel, Floors>> = {
  page: { global: 0.95, region: 0.4 },
  ticket: { global: 0.97, region: 0.5 },
};

/** `count` false pages are accepted in each `periodMs`. */
export interface FalsePageBudget {
  readonly count: number;
  readonly periodMs: number;
}

/**
 * Evidence at which an alarm is raised: the windows in which one false page is accepted, times the monitors that are
 * paged together. One a year of hourly windows, for one monitor: 8,760.
 */
export function alertThreshold(budget: FalsePageBudget, windowMs: number, monitors: number): number {
  return (budget.periodMs / windowMs / budget.count) * monitors;
}

/** The levels of alarm that a baseline of this grade can raise. */
export function alertLevels(grade: BaselineGrade): readonly AlertLevel[] {
  if (grade === 'page') return ['page', 'ticket'];
  return grade === 'provisional' ? ['ticket'] : [];
}

/** The detectors of a level on a baseline: their null means and overdispersions. */
export function detectorsOf(baseline: Pick<Baseline, 'global' | 'monitored'>, floors: Floors): CombinedSettings {
  return {
    global: settingsOf(baseline.global, floors.global),
    regions: baseline.monitored.map((spread) => ({
      region: spread.region,
      ...settingsOf(spread, floors.region),
    })),
  };
}

function settingsOf(spread: BaselineSpread, floor: number): DetectorSettings {
  return { nullMean: nullMean(spread.meanXUpper, floor), phi: spread.phi };
}

// The density alarm of one level, as a state machine: a closed window and a state in, an event and the next state out.
// It has no clock: the time is the end of the window. An alarm is frozen by not stepping it.

export interface AlertPolicy {
  readonly detectors: CombinedSettings;
  readonly floors: Floors;
  /** Evidence at which the alarm is raised, as `alarmThreshold` gives it. */
  readonly threshold: number;
}

/** Plain values that are stored as they are. */
export interface AlertState {
  readonly detectors: CombinedState;
  /** End of the last closed window. */
  readonly closedMs: number;
  /** End of the last window after which each detector had no evidence (M < 1); densities are measured from there on. */
  readonly calmMs: { readonly global: number; readonly regions: readonly number[] };
  readonly silentUntilMs: number | null;
  readonly incident: AlertIncident | null;
}

interface AlertIncident {
  readonly scope: Scope;
  readonly openedMs: number;
  /** The last time it was raised. */
  readonly raisedMs: number;
  /** Upper 95 % limit of the density that raised it. */
  readonly raisedHigh: number;
}

export type AlertEvent =
  | {
      readonly kind: 'raised';
      /** Where the density is known to be below the floor. */
      readonly scope: Scope;
      /** Where most of the evidence comes from. */
      readonly leading: Scope;
      readonly size: PooledDensity;
      /** The incident was open already. */
      readonly renewed: boolean;
    }
  | { readonly kind: 'resolved'; readonly scope: Scope; readonly size: PooledDensity };

/**
 * `calm`: less evidence than the threshold. `unconfirmed`: evidence enough, but the density is not yet known to be
 * below the floor. `silent`: within a day of an alarm, nothing is gathered.
 */
type AlertStatus =
  | { readonly kind: 'calm' | 'silent' | 'raised' }
  | {
      readonly kind: 'unconfirmed';
      readonly scope: Scope;
      readonly sessions: number;
      readonly needed: number;
    };

export interface AlertStep {
  readonly state: AlertState;
  readonly event: AlertEvent | null;
  readonly status: AlertStatus;
  /** Combined evidence divided by the threshold, finite; from 1 on the alarm is raised once the density confirms it. */
  readonly evidenceRatio: number;
  /** Where most of the evidence comes from. */
  readonly leading: Scope;
}

const SILENCE_MS = DAY_MS;
/** How far back a density is measured at most, and so how much history a step needs. */
export const MAX_POOL_MS = 7 * DAY_MS;
const MIN_RESOLVE_MS = DAY_MS;
/** e^700 is near the largest double. */
const MAX_LOG = 700;

/** @param nowMs end of the last window that does not count */
export function newAlert({ detectors }: AlertPolicy, nowMs: number): AlertState {
  return {
    detectors: newCombinedDetector(detectors),
    closedMs: nowMs,
    calmMs: { global: nowMs, regions: detectors.regions.map(() => nowMs) },
    silentUntilMs: null,
    incident: null,
  };
}

/**
 * Closes one window. Windows must come in the order of time, each once, also those without sessions.
 *
 * The alarm is raised when the combined evidence reaches the threshold and a density since the detector was last calm
 * (at least 200 sessions, at most 7 days) has its upper 95 % limit below the floor: of all traffic, or of the leading
 * region. A day of silence follows in which no evidence is gathered, so that what was mended meanwhile is not raised
 * again; then it starts anew. An open incident is resolved when the density of at least a day after the alarm, and of
 * at least 200 sessions, is above the floor, and its lower 95 % limit above the upper one of what raised the alarm.
 *
 * @param scores of the sessions of the window
 * @param history totals of the windows of the last 7 days, in the order of time, the closed one last
 * @throws RangeError for a window that was closed before: whoever repeats a step must start from the state before it
 */
export function stepAlert(
  policy: AlertPolicy,
  state: AlertState,
  scores: SessionScores,
  history: readonly WindowTotals[],
): AlertStep {
  const closed = history.at(-1);
  if (closed === undefined || closed.startMs < state.closedMs) {
    throw new RangeError('A window counts once as evidence, and in the order of time.');
  }
  const nowMs = closed.endMs;
  if (state.silentUntilMs !== null && nowMs <= state.silentUntilMs) {
    const calmMs = newAlert(policy, nowMs).calmMs;
    return {
      state: { ...state, calmMs, closedMs: nowMs },
      event: null,
      status: { kind: 'silent' },
      evidenceRatio: 0,
      leading: state.incident?.scope ?? 'global',
    };
  }
  const step = stepCombinedDetector(policy.detectors, state.detectors, scores);
  const next = {
    ...state,
    closedMs: nowMs,
    detectors: step.state,
    calmMs: calmAfter(step, state.calmMs, nowMs),
  };
  const scopes = scopesByEvidence(step);
  const logRatio = step.logEvidence - Math.log(policy.threshold);
  const leading = scopes[0] ?? 'global';
  const reading = { evidenceRatio: Math.exp(Math.min(logRatio, MAX_LOG)), leading };
  const resolved = resolution(policy, state.incident, history, nowMs);
  const notRaised: AlertStep = {
    ...reading,
    state: resolved === null ? next : { ...next, incident: null },
    event: resolved,
    status: { kind: 'calm' },
  };
  if (logRatio < 0) return notRaised;
  const sizes = scopes.map((scope) => ({ scope, size: sizeSinceCalm(policy, next, scope, history, nowMs) }));
  for (const { scope, size } of sizes) {
    if (size === null || size.sessions < MIN_SESSIONS || size.high >= floorOf(policy, scope)) continue;
    const openedMs = state.incident?.openedMs ?? nowMs;
    return {
      ...reading,
      state: {
        ...newAlert(policy, nowMs),
        silentUntilMs: nowMs + SILENCE_MS,
        incident: { scope, openedMs, raisedMs: nowMs, raisedHigh: size.high },
      },
      event: { kind: 'raised', scope, leading, size, renewed: state.incident !== null },
      status: { kind: 'raised' },
    };
  }
  const sessions = sizes[0]?.size?.sessions ?? 0;
  return { ...notRaised, status: { kind: 'unconfirmed', scope: leading, sessions, needed: MIN_SESSIONS } };
}

function calmAfter(step: CombinedStep, calmMs: AlertState['calmMs'], nowMs: number): AlertState['calmMs'] {
  return {
    global: step.logGlobal < 0 ? nowMs : calmMs.global,
    regions: step.logRegions.map(({ logEvidence }, i) => (logEvidence < 0 ? nowMs : (calmMs.regions[i] ?? nowMs))),
  };
}

/** All traffic and the leading region, the one with the larger part in the combined evidence first. */
function scopesByEvidence({ logGlobal, logRegions }: CombinedStep): readonly Scope[] {
  const leading = logRegions.toSorted((a, b) => b.logEvidence - a.logEvidence || a.region - b.region)[0];
  if (leading === undefined) return ['global'];
  return leading.logEvidence - Math.log(logRegions.length) > logGlobal
    ? [leading.region, 'global']
    : ['global', leading.region];
}

function sizeSinceCalm(
  policy: AlertPolicy,
  state: AlertState,
  scope: Scope,
  history: readonly WindowTotals[],
  nowMs: number,
): PooledDensity | null {
  const index = policy.detectors.regions.findIndex(({ region }) => region === scope);
  const calmMs = scope === 'global' ? state.calmMs.global : (state.calmMs.regions[index] ?? nowMs);
  return pooledDensity(history, scope, Math.max(calmMs, nowMs - MAX_POOL_MS), phiOf(policy, scope));
}

function resolution(
  policy: AlertPolicy,
  incident: AlertIncident | null,
  history: readonly WindowTotals[],
  nowMs: number,
): AlertEvent | null {
  if (incident === null || nowMs - incident.raisedMs < MIN_RESOLVE_MS) return null;
  const { scope, raisedHigh } = incident;
  // A day of a small region may have too few sessions; then as many windows more as it takes, back to the alarm.
  const starts = history
    .map(({ startMs }) => startMs)
    .filter((startMs) => startMs >= incident.raisedMs && startMs <= nowMs - MIN_RESOLVE_MS)
    .toReversed();
  for (const startMs of starts) {
    const size = pooledDensity(history, scope, startMs, phiOf(policy, scope));
    if (size === null || size.sessions < MIN_SESSIONS) continue;
    // A lower limit above the floor would ask a healthy small site for more luck than it has: 1,200 sessions a day know
    // a density to 5 %, and the floor of a ticket is 3 % below the healthy one.
    const isBack = size.density > floorOf(policy, scope) && size.low > raisedHigh;
    return isBack ? { kind: 'resolved', scope, size } : null;
  }
  return null;
}

function floorOf({ floors }: AlertPolicy, scope: Scope): number {
  return scope === 'global' ? floors.global : floors.region;
}

function phiOf({ detectors }: AlertPolicy, scope: Scope): number {
  const detector = scope === 'global' ? detectors.global : detectors.regions.find(({ region }) => region === scope);
  return detector?.phi ?? 1;
}
