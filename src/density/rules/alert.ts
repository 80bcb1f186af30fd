import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import type { BaselineGrade } from './baseline.ts';
import {
  type CombinedState,
  type CombinedStep,
  detectorsOf,
  newCombinedDetector,
  stepCombinedDetector,
} from './e-detector.ts';
import { type PooledDensity, pooledDensity, type Scope, type WindowTotals } from './pooled-density.ts';
import { CONFIDENCE, DENSITY_THRESHOLD, MIN_SESSIONS } from './query-density.ts';
import type { SessionScores } from './sessions.ts';

export type AlertLevel = 'page' | 'ticket';

/** Density thresholds: an alert fires only if a density is confirmed to be below its threshold. */
export const DENSITY_THRESHOLDS: Readonly<Record<AlertLevel, { readonly global: number; readonly region: number }>> = {
  page: { global: 0.95, region: 0.4 },
  ticket: { global: DENSITY_THRESHOLD, region: 0.5 },
};

/** Number of false pages that are accepted per period. */
export interface FalsePageBudget {
  readonly count: number;
  readonly periodMs: number;
}

/**
 * Minimum e-value of an alert: the number of windows per accepted false page, times the number of monitors that share
 * the budget. For one false page per year, hourly windows and one monitor: 8,760.
 */
export function alertThreshold(budget: FalsePageBudget, windowMs: number, monitors: number): number {
  return (budget.periodMs / windowMs / budget.count) * monitors;
}

export function alertLevels(grade: BaselineGrade): readonly AlertLevel[] {
  if (grade === 'page') return ['page', 'ticket'];
  return grade === 'provisional' ? ['ticket'] : [];
}

export type AlertPolicy = ReturnType<typeof alertPolicy>;

/** @param threshold minimum e-value of an alert (see `alertThreshold`) */
export function alertPolicy(baseline: Parameters<typeof detectorsOf>[0], level: AlertLevel, threshold: number) {
  const floors = DENSITY_THRESHOLDS[level];
  return { detectors: detectorsOf(baseline, floors), floors, threshold };
}

// The density alert of one level as a state machine. A step maps a closed window and a state to an event and the next
// state. A step reads no clock; its time is the end of the window. To freeze an alert, the caller omits its steps.

/** State of the alert, stored as JSON. */
export interface AlertState {
  readonly detectors: CombinedState;
  /** End of the last closed window. */
  readonly closedMs: number;
  /**
   * For each detector, the end of the last window after which the detector's e-value was below 1. The density that
   * confirms an alert is measured from that time on.
   */
  readonly calmMs: { readonly global: number; readonly regions: readonly number[] };
  readonly silentUntilMs: number | null;
  readonly incident: AlertIncident | null;
  /** End of the window that resolved the last incident; null if there was none. */
  readonly resolvedMs: number | null;
}

interface AlertIncident {
  readonly scope: Scope;
  readonly openedMs: number;
  /** When the alert last fired. */
  readonly raisedMs: number;
  /** Upper bound of the 95 % CI of the density when the alert fired. */
  readonly raisedHigh: number;
  /**
   * True if the alert fired again soon after its resolution. To avoid flapping, only the density of a full day can then
   * resolve it.
   */
  readonly hasReturned: boolean;
}

export type AlertEvent =
  | {
      readonly kind: 'raised';
      /** Scope whose density is confirmed to be below the threshold. */
      readonly scope: Scope;
      /** Scope that contributes most to the combined e-value. */
      readonly leading: Scope;
      readonly size: PooledDensity;
      /** True if the alert fired again while its incident was still open. */
      readonly renewed: boolean;
    }
  | { readonly kind: 'resolved'; readonly scope: Scope; readonly size: PooledDensity };

/**
 * `calm`: the combined e-value is below its threshold. `unconfirmed`: the e-value has reached its threshold, but no
 * density is confirmed to be below the density threshold. `silent`: the alert fired less than a day ago, so no tests
 * run.
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
  /** Combined e-value relative to the threshold; finite. At 1 or more, the alert fires once the density confirms it. */
  readonly evidenceRatio: number;
  /** Scope that contributes most to the combined e-value. */
  readonly leading: Scope;
}

const SILENCE_MS = DAY_MS;
/** Longest period that a density covers; a step needs the windows of this period. */
export const MAX_POOL_MS = 7 * DAY_MS;
const MIN_RESOLVE_MS = DAY_MS;
/** An early resolution needs at least this much time and this many sessions. */
const MIN_EARLY_MS = 2 * HOUR_MS;
const MIN_EARLY_SESSIONS = 100;
/**
 * Confidence level of the intervals that can resolve an alert early. It is high because many intervals are tested: one
 * for each window and each possible start of the period.
 */
const EARLY_CONFIDENCE = 0.999;
/** An alert that fires again within this time after its resolution counts as returned. */
const RETURN_MS = 2 * DAY_MS;
/** Maximum logarithm; e^700 is near the largest double. */
const MAX_LOG = 700;

/** @param nowMs end of the last window before the first tested window */
export function newAlert({ detectors }: AlertPolicy, nowMs: number): AlertState {
  return {
    detectors: newCombinedDetector(detectors),
    closedMs: nowMs,
    calmMs: { global: nowMs, regions: detectors.regions.map(() => nowMs) },
    silentUntilMs: null,
    incident: null,
    resolvedMs: null,
  };
}

/**
 * Tests one closed window. Windows must come in order, each exactly once, including windows without sessions.
 *
 * The alert fires if the combined e-value reaches its threshold and the 95 % upper bound of a density is below the
 * density threshold. That density is measured for all traffic or for the leading region, over the time since the
 * e-value of this scope was last below 1 (at least 200 sessions, at most 7 days). A day without tests follows, so that
 * a drop that has been fixed does not fire again; then the test starts over. A recovery (see `resolution`) closes an
 * open incident and, if tests are suspended, resumes them.
 *
 * @param scores session scores in the window
 * @param history totals of the windows in the last 7 days, in order; the closed window is last
 * @throws RangeError for a window that was tested before; to repeat a step, pass the state before it
 */
export function stepAlert(
  policy: AlertPolicy,
  state: AlertState,
  scores: SessionScores,
  history: readonly WindowTotals[],
): AlertStep {
  const closed = history.at(-1);
  if (closed === undefined || closed.startMs < state.closedMs) {
    throw new RangeError('Each window must be tested exactly once, in chronological order.');
  }
  const nowMs = closed.endMs;
  const resolved = resolution(policy, state.incident, history, nowMs);
  if (state.silentUntilMs !== null && nowMs <= state.silentUntilMs) {
    const calm = newAlert(policy, nowMs);
    const silent = { evidenceRatio: 0, leading: state.incident?.scope ?? 'global' } as const;
    return resolved === null
      ? {
          ...silent,
          state: { ...state, calmMs: calm.calmMs, closedMs: nowMs },
          event: null,
          status: { kind: 'silent' },
        }
      : { ...silent, state: { ...calm, resolvedMs: nowMs }, event: resolved, status: { kind: 'calm' } };
  }
  const step = stepCombinedDetector(policy.detectors, state.detectors, scores);
  const next = {
    ...state,
    closedMs: nowMs,
    detectors: step.state,
    calmMs: calmAfter(step, state.calmMs, nowMs),
  };
  const scopes = scopesByContribution(step);
  const logRatio = step.logEvidence - Math.log(policy.threshold);
  const leading = scopes[0] ?? 'global';
  const reading = { evidenceRatio: Math.exp(Math.min(logRatio, MAX_LOG)), leading };
  const notRaised: AlertStep = {
    ...reading,
    state: resolved === null ? next : { ...next, incident: null, resolvedMs: nowMs },
    event: resolved,
    status: { kind: 'calm' },
  };
  if (logRatio < 0) return notRaised;
  const sizes = scopes.map((scope) => ({ scope, size: sizeSinceCalm(policy, next, scope, history, nowMs) }));
  for (const { scope, size } of sizes) {
    if (size === null || size.sessions < MIN_SESSIONS || size.high >= floorOf(policy, scope)) continue;
    const openedMs = state.incident?.openedMs ?? nowMs;
    const { resolvedMs } = state;
    return {
      ...reading,
      state: {
        ...newAlert(policy, nowMs),
        silentUntilMs: nowMs + SILENCE_MS,
        incident: {
          scope,
          openedMs,
          raisedMs: nowMs,
          raisedHigh: size.high,
          hasReturned: state.incident?.hasReturned ?? (resolvedMs !== null && nowMs - resolvedMs <= RETURN_MS),
        },
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

/** All traffic and the leading region; the scope with the larger contribution comes first. */
function scopesByContribution({ logGlobal, logRegions }: CombinedStep): readonly Scope[] {
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

/**
 * The alert is resolved if the density of a day is above the threshold and the lower bound of this density is above the
 * upper bound of the density at which the alert fired. Unless the alert has returned, a few hours suffice if their
 * density shows a recovery with higher confidence.
 */
function resolution(
  policy: AlertPolicy,
  incident: AlertIncident | null,
  history: readonly WindowTotals[],
  nowMs: number,
): AlertEvent | null {
  if (incident === null) return null;
  const { scope, raisedHigh, hasReturned } = incident;
  const floor = floorOf(policy, scope);
  /**
   * Densities of the periods with a length from `minMs` to `maxMs` that start after the alert and end now; shortest
   * first.
   */
  function* sizes(minMs: number, maxMs: number, confidence: number): Generator<PooledDensity> {
    for (const { startMs } of history.toReversed()) {
      if (startMs < Math.max(incident?.raisedMs ?? 0, nowMs - maxMs)) return;
      if (startMs > nowMs - minMs) continue;
      const size = pooledDensity(history, scope, startMs, phiOf(policy, scope), confidence);
      if (size !== null) yield size;
    }
  }
  // A small region may have too few sessions in a day. In that case, the period is extended to earlier windows, at most
  // back to the alert. The lower bound is not compared with the threshold, because a healthy small site would rarely
  // exceed it: 1,200 sessions per day determine a density to within 5 %, and a ticket's threshold is 3 % below the
  // healthy value.
  for (const size of sizes(MIN_RESOLVE_MS, MAX_POOL_MS, CONFIDENCE)) {
    if (size.sessions < MIN_SESSIONS) continue;
    if (size.density > floor && size.low > raisedHigh) return { kind: 'resolved', scope, size };
    break;
  }
  if (hasReturned) return null;
  // The required lower bound is nearer to the threshold than to the density at which the alert fired, so that a partial
  // fix does not resolve the alert.
  const healthy = raisedHigh ** (1 / 3) * floor ** (2 / 3);
  for (const { sessions, density, low, startMs } of sizes(MIN_EARLY_MS, MIN_RESOLVE_MS, EARLY_CONFIDENCE)) {
    if (sessions < MIN_EARLY_SESSIONS || density <= floor || low <= healthy) continue;
    const size = pooledDensity(history, scope, startMs, phiOf(policy, scope));
    return size && { kind: 'resolved', scope, size };
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
