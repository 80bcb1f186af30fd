import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { type DetectorState, newDetector, stepDetector } from '../../math/stats/sequential.ts';
import type { BaselineGrade } from './baseline.ts';
import { type BaselineSpread, nullMeanX, sessionVariance } from './baseline-spread.ts';
import { type PooledDensity, pooledDensity, type WindowTotals } from './pooled-density.ts';
import { CONFIDENCE, DENSITY_THRESHOLD, MIN_SESSIONS } from './query-density.ts';
import { detectorScore } from './sessions.ts';

export type AlertLevel = 'page' | 'ticket';

/** Density thresholds: an alert fires only if a density is confirmed to be below its threshold. */
export const DENSITY_THRESHOLDS: Readonly<Record<AlertLevel, number>> = { page: 0.95, ticket: DENSITY_THRESHOLD };

/** Accepted number of false pages per period. */
export interface FalsePageBudget {
  readonly count: number;
  readonly periodMs: number;
}

/**
 * Minimum e-value of an alert: the number of windows per accepted false page, times the number of monitors that share
 * the budget. The result is 8,760 for one false page per year, hourly windows and one monitor.
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
export function alertPolicy(baseline: { readonly global: BaselineSpread }, level: AlertLevel, threshold: number) {
  const { meanXUpper, phi } = baseline.global;
  const densityThreshold = DENSITY_THRESHOLDS[level];
  const nullX = nullMeanX(meanXUpper, densityThreshold);
  const detector = { nullMean: detectorScore(nullX), phi };
  return { detector, nullX, variance: sessionVariance(baseline.global), densityThreshold, threshold };
}

// The density alert of one level as a state machine. A step maps a closed window and a state to an event and the next
// state. A step reads no clock; its time is the end of the window. To freeze an alert, the caller does not step it.

/** State of the alert, stored as JSON. */
export interface AlertState {
  readonly detector: DetectorState;
  /** End of the last closed window. */
  readonly closedMs: number;
  /** End of the last window before the tests started or resumed. */
  readonly testedFromMs: number;
  readonly silentUntilMs: number | null;
  readonly incident: AlertIncident | null;
  /** End of the window that resolved the last incident; null if there was none. */
  readonly resolvedMs: number | null;
}

interface AlertIncident {
  readonly openedMs: number;
  /** Time at which the alert last fired. */
  readonly raisedMs: number;
  /** Upper bound of the 95 % CI of the density when the alert fired. */
  readonly raisedHigh: number;
  /**
   * True if the alert fired again soon after its resolution. To avoid flapping, only the density of a full day can then
   * resolve the alert.
   */
  readonly hasReturned: boolean;
}

export type AlertEvent =
  | {
      readonly kind: 'raised';
      readonly size: PooledDensity;
      /** True if the alert fired again while its incident was still open. */
      readonly renewed: boolean;
    }
  | { readonly kind: 'resolved'; readonly size: PooledDensity };

/**
 * `calm`: the e-value is below the alert threshold. `unconfirmed`: the e-value has reached the alert threshold, but the
 * density is not confirmed to be below the density threshold. `silent`: the alert fired less than a day ago, so no
 * tests run.
 */
type AlertStatus = 'calm' | 'unconfirmed' | 'silent' | 'raised';

export interface AlertStep {
  readonly state: AlertState;
  readonly event: AlertEvent | null;
  readonly status: AlertStatus;
  /**
   * E-value divided by the alert threshold; always finite. At 1 or more, the alert fires once the density is confirmed
   * to be below the density threshold.
   */
  readonly evidenceRatio: number;
}

const SILENCE_MS = DAY_MS;
/** Longest period over which a density is computed. Each evaluation of the alert reads the windows in this period. */
export const MAX_POOL_MS = 7 * DAY_MS;
const MIN_RESOLVE_MS = DAY_MS;
/** Minimum duration of the recovery for an early resolution. */
const MIN_EARLY_MS = 2 * HOUR_MS;
/** Minimum number of sessions for an early resolution. */
const MIN_EARLY_SESSIONS = 100;
/**
 * Confidence level of the intervals that can resolve an alert early. The level is high because many intervals are
 * tested: one for each window and each possible start of the period.
 */
const EARLY_CONFIDENCE = 0.999;
/** An alert that fires again within this time after its resolution counts as returned (`hasReturned`). */
const RETURN_MS = 2 * DAY_MS;
/** Maximum logarithm; e^700 is near the largest double. */
const MAX_LOG = 700;

/** @param nowMs end of the last window before the first tested window */
export function newAlert({ detector }: AlertPolicy, nowMs: number): AlertState {
  return {
    detector: newDetector(detector),
    closedMs: nowMs,
    testedFromMs: nowMs,
    silentUntilMs: null,
    incident: null,
    resolvedMs: null,
  };
}

/**
 * Tests one closed window. Windows must come in order, each exactly once, including windows without sessions.
 *
 * The alert fires if the e-value reaches its threshold and the 95 % upper bound of the density is below the density
 * threshold. The density covers the period since coverage probably dropped (see `sizeOfDrop`). After an alert, no tests
 * run for a day, so that the alert does not fire again for a drop that has already been fixed. Then the test starts
 * over. A recovery (see `resolution`) closes an open incident and, if tests are suspended, resumes them.
 *
 * @param scores one score per session in the window, from `detectorScores`
 * @param history totals of the windows in the last 7 days, in order; the closed window is last
 * @throws RangeError for a window that was tested before; to repeat a step, pass the state from before that step
 */
export function stepAlert(
  policy: AlertPolicy,
  state: AlertState,
  scores: ArrayLike<number>,
  history: readonly WindowTotals[],
): AlertStep {
  const closed = history.at(-1);
  if (closed === undefined || closed.startMs < state.closedMs) {
    throw new RangeError('Each window must be tested exactly once, in chronological order.');
  }
  const nowMs = closed.endMs;
  const resolved = resolution(policy, state.incident, history, nowMs);
  if (state.silentUntilMs !== null && nowMs <= state.silentUntilMs) {
    const next =
      resolved === null
        ? { ...state, testedFromMs: nowMs, closedMs: nowMs }
        : { ...newAlert(policy, nowMs), resolvedMs: nowMs };
    return { evidenceRatio: 0, state: next, event: resolved, status: resolved === null ? 'silent' : 'calm' };
  }
  const step = stepDetector(policy.detector, state.detector, scores);
  const next = { ...state, closedMs: nowMs, detector: step.state };
  const logRatio = step.logEvidence - Math.log(policy.threshold);
  const evidenceRatio = Math.exp(Math.min(logRatio, MAX_LOG));
  const notRaised: AlertStep = {
    evidenceRatio,
    state: resolved === null ? next : { ...next, incident: null, resolvedMs: nowMs },
    event: resolved,
    status: 'calm',
  };
  if (logRatio < 0) return notRaised;
  const size = sizeOfDrop(policy, history, Math.max(state.testedFromMs, nowMs - MAX_POOL_MS));
  if (size === null || size.sessions < MIN_SESSIONS || size.high >= policy.densityThreshold) {
    return { ...notRaised, status: 'unconfirmed' };
  }
  const { incident, resolvedMs } = state;
  return {
    evidenceRatio,
    state: {
      ...newAlert(policy, nowMs),
      silentUntilMs: nowMs + SILENCE_MS,
      incident: {
        openedMs: incident?.openedMs ?? nowMs,
        raisedMs: nowMs,
        raisedHigh: size.high,
        hasReturned: incident?.hasReturned ?? (resolvedMs !== null && nowMs - resolvedMs <= RETURN_MS),
      },
    },
    event: { kind: 'raised', size, renewed: incident !== null },
    status: 'raised',
  };
}

/**
 * Density of the period since coverage probably dropped. To find this period, compares all periods that end now and
 * have at least 200 sessions. Chooses the period with the largest sum of differences between the surprises and the null
 * mean, as in a CUSUM chart (Page, 1954). A period that begins before the drop would understate the drop. If there are
 * fewer than 200 sessions, uses all of them.
 *
 * @param fromMs start of the longest period to consider
 */
function sizeOfDrop({ nullX, variance }: AlertPolicy, history: readonly WindowTotals[], fromMs: number) {
  let sessions = 0;
  let sum = 0;
  let largest = Number.NEGATIVE_INFINITY;
  let dropMs = fromMs;
  for (const { startMs, all } of history.toReversed()) {
    if (startMs < fromMs) break;
    sessions += all.sessions;
    sum += all.sumX - all.sessions * nullX;
    if (sessions < MIN_SESSIONS || sum <= largest) continue;
    largest = sum;
    dropMs = startMs;
  }
  return pooledDensity(history, dropMs, variance);
}

/**
 * The alert is resolved if a day's density is above the threshold and its lower bound is above the upper bound of the
 * density at which the alert fired. The density of a few hours can also resolve the alert if it shows a
 * recovery with higher confidence, unless the alert fired again soon after its last resolution (`hasReturned`).
 */
function resolution(
  policy: AlertPolicy,
  incident: AlertIncident | null,
  history: readonly WindowTotals[],
  nowMs: number,
): AlertEvent | null {
  if (incident === null) return null;
  const { raisedHigh, hasReturned } = incident;
  const { variance, densityThreshold } = policy;
  /**
   * Densities of the periods with a length from `minMs` to `maxMs` that start after the alert and end now; shortest
   * first.
   */
  function* sizes(minMs: number, maxMs: number, confidence: number): Generator<PooledDensity> {
    for (const { startMs } of history.toReversed()) {
      if (startMs < Math.max(incident?.raisedMs ?? 0, nowMs - maxMs)) return;
      if (startMs > nowMs - minMs) continue;
      const size = pooledDensity(history, startMs, variance, confidence);
      if (size !== null) yield size;
    }
  }
  // If a small site has too few sessions in a day, the period is extended to earlier windows, at most back to the
  // alert. The lower bound of the density is not compared with the threshold, because even at a healthy small site this
  // bound would rarely exceed the threshold. With 1,200 sessions per day, a density is accurate to within 5 %, but a
  // ticket's threshold is only 3 % below the healthy value.
  for (const size of sizes(MIN_RESOLVE_MS, MAX_POOL_MS, CONFIDENCE)) {
    if (size.sessions < MIN_SESSIONS) continue;
    if (size.density > densityThreshold && size.low > raisedHigh) return { kind: 'resolved', size };
    break;
  }
  if (hasReturned) return null;
  // The required lower bound is nearer to the threshold than to the density at which the alert fired, so that a partial
  // fix does not resolve the alert.
  const healthy = raisedHigh ** (1 / 3) * densityThreshold ** (2 / 3);
  for (const { sessions, density, low, startMs } of sizes(MIN_EARLY_MS, MIN_RESOLVE_MS, EARLY_CONFIDENCE)) {
    if (sessions < MIN_EARLY_SESSIONS || density <= densityThreshold || low <= healthy) continue;
    const size = pooledDensity(history, startMs, variance);
    return size && { kind: 'resolved', size };
  }
  return null;
}
