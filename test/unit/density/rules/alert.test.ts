import { describe, expect, it } from 'vitest';
import {
  type AlertEvent,
  type AlertPolicy,
  type AlertState,
  type AlertStep,
  alertLevels,
  alertPolicy,
  alertThreshold,
  newAlert,
  stepAlert,
} from '../../../../src/density/rules/alert.ts';
import { type WindowTotals, windowAt, windowTotals } from '../../../../src/density/rules/pooled-density.ts';
import { detectorScores } from '../../../../src/density/rules/sessions.ts';
import { uniforms } from '../../../support/uniforms.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const BASELINE = { global: { sessions: 4000, meanX: 0.99, variance: 0.9, phi: 1, meanXUpper: 1.02 } };
const POLICY = alertPolicy(BASELINE, 'page', 8760);

/**
 * Evaluates an alert on consecutive simulated hours, with the history that each step needs; `lost` is the share of
 * uncovered sessions.
 */
function stream(policy: AlertPolicy, seed = 1) {
  const uniform = uniforms(seed);
  let state: AlertState = newAlert(policy, 0);
  let history: WindowTotals[] = [];
  let hour = 0;
  const step = (sessions: number, lost: number): AlertStep => {
    const surprise = (): number =>
      uniform() < lost ? Math.log(100) : Math.min(-Math.log(1 - uniform()), Math.log(100));
    const means = { all: Float64Array.from({ length: sessions }, surprise), regions: new Map() };
    const span = windowAt(hour * HOUR, HOUR);
    hour++;
    history = [...history, windowTotals(span, means)].slice(-7 * 24);
    const result = stepAlert(policy, state, detectorScores(means), history);
    state = JSON.parse(JSON.stringify(result.state));
    return result;
  };
  const run = (hours: number, sessions: number, lost: number) =>
    Array.from({ length: hours }, () => ({ hour, ...step(sessions, lost) }));
  return { run, state: () => state };
}

const none = 0;

function eventsOf(steps: readonly (AlertStep & { readonly hour: number })[]) {
  return steps.flatMap(({ event, hour }) => (event === null ? [] : [{ ...event, hour }]));
}

function kindsOf(events: readonly AlertEvent[]): string[] {
  return events.map(({ kind }) => kind);
}

describe('the density alert', () => {
  it('does not fire for months without change', () => {
    const steps = stream(POLICY).run(90 * 24, 75, none);
    expect(eventsOf(steps)).toEqual([]);
    expect(Math.max(...steps.map(({ evidenceRatio }) => evidenceRatio))).toBeLessThan(1);
  });

  it('fires once when 15 % of the traffic loses its coverage, states the size, and is then silent', () => {
    const { run, state } = stream(POLICY);
    run(48, 75, none);
    const steps = run(20, 75, 0.15);
    const [raised, ...more] = eventsOf(steps);
    expect(raised?.kind).toBe('raised');
    expect(more).toEqual([]);
    expect(raised?.size.high).toBeLessThan(0.95);
    expect(raised?.size.sessions).toBeGreaterThanOrEqual(200);
    expect(state().incident?.raisedMs).toBe(((raised?.hour ?? 0) + 1) * HOUR);
    const statuses = steps.map(({ status }) => status);
    expect(statuses).toContain('silent');
    expect(statuses.filter((kind) => kind === 'raised')).toHaveLength(1);
  });

  it('fires again after the silence if nothing is fixed, on new evidence only, as the same incident', () => {
    const { run } = stream(POLICY);
    const events = eventsOf(run(24 * 4, 75, 0.3));
    expect(kindsOf(events).every((kind) => kind === 'raised')).toBe(true);
    expect(events.map((event) => event.kind === 'raised' && event.renewed)).toEqual(events.map((_, i) => i > 0));
    const hours = events.map(({ hour }) => hour);
    for (const [i, hour] of hours.slice(1).entries()) expect(hour - (hours[i] ?? 0)).toBeGreaterThanOrEqual(24);
  });

  it('resolves after a few well-covered hours, and then stays resolved', () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const { run, state } = stream(POLICY, seed);
      const [raised] = eventsOf(run(24, 75, 0.3));
      const [resolved, ...more] = eventsOf(run(24 * 3, 75, none));
      expect([raised?.kind, resolved?.kind, more.length], `seed ${seed}`).toEqual(['raised', 'resolved', 0]);
      expect((resolved?.hour ?? 99) - 24, `seed ${seed}`).toBeLessThan(6);
      expect(resolved?.size.density).toBeGreaterThan(0.95);
      expect(resolved?.size.low).toBeGreaterThan(raised?.size.high ?? 1);
      expect(state().incident).toBeNull();
    }
  });

  it('does not resolve within a week while a small drift goes on', () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const events = eventsOf(stream(POLICY, seed).run(24 * 7, 30, 0.12));
      expect(new Set(kindsOf(events)), `seed ${seed}`).toEqual(new Set(['raised']));
    }
  });

  it('resolves only once for a drift that pauses every night, because a returned drift resolves after a whole good day', () => {
    const { run, state } = stream(POLICY);
    const daily = Array.from({ length: 10 }, () => [...run(12, 75, none), ...run(12, 75, 0.4)]).flat();
    expect(kindsOf(eventsOf(daily)).filter((kind) => kind === 'resolved')).toHaveLength(1);
    expect(state().incident).toMatchObject({ hasReturned: true });
    run(48, 75, none);
    expect(state().incident).toBeNull();
  });

  it('resolves within two days on a small site', () => {
    const ticket = alertPolicy(BASELINE, 'ticket', 8760);
    for (let seed = 1; seed <= 20; seed += 1) {
      const { run, state } = stream(ticket, seed);
      expect(kindsOf(eventsOf(run(24, 50, 0.3)))).toEqual(['raised']);
      run(48, 50, none);
      expect(state().incident, `seed ${seed}`).toBeNull();
    }
  });

  it('stays open while the drift continues or is only partly fixed', () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { run } = stream(POLICY, seed);
      const events = eventsOf([...run(24 * 4, 75, 0.3), ...run(24 * 4, 75, 0.12)]);
      expect(new Set(kindsOf(events)), `seed ${seed}`).toEqual(new Set(['raised']));
    }
  });

  it('measures the drop from the time when coverage probably dropped, however long traffic was well covered before', () => {
    const { run } = stream(POLICY);
    run(14 * 24, 75, none);
    const dropMs = 14 * DAY;
    const [raised] = eventsOf(run(24, 75, 0.15));
    expect(raised?.size.startMs).toBeGreaterThanOrEqual(dropMs - 3 * HOUR);
    expect(raised?.size.startMs).toBeLessThanOrEqual(dropMs + 3 * HOUR);
    expect(raised?.size.density).toBeLessThan(0.75);
  });

  it('does not page for a certain but tiny change', () => {
    const events = eventsOf(stream(POLICY).run(30 * 24, 300, 0.012));
    expect(events).toEqual([]);
  });

  it('waits for 200 sessions before it fires with a size', () => {
    const { run } = stream(POLICY);
    const steps = run(60, 8, 1);
    expect(steps.some(({ status }) => status === 'unconfirmed')).toBe(true);
    expect(steps.every(({ evidenceRatio }) => Number.isFinite(evidenceRatio))).toBe(true);
    const [raised] = eventsOf(steps);
    expect(raised?.size.sessions).toBeGreaterThanOrEqual(200);
    expect(raised?.size.sessions).toBeLessThan(216);
  });

  it('rejects a window that was already counted', () => {
    const totals = { ...windowAt(0, HOUR), all: { sessions: 0, sumX: 0 }, regions: [] };
    const { state } = stepAlert(POLICY, newAlert(POLICY, 0), [], [totals]);
    expect(() => stepAlert(POLICY, state, [], [totals])).toThrow(RangeError);
    expect(() => stepAlert(POLICY, state, [], [])).toThrow(RangeError);
  });

  it('creates a ticket for a drift that is too small for a page', () => {
    const ticket: AlertPolicy = alertPolicy(BASELINE, 'ticket', 8760);
    const mild = 0.021;
    expect(eventsOf(stream(POLICY, 5).run(14 * 24, 400, mild))).toEqual([]);
    expect(kindsOf(eventsOf(stream(ticket, 5).run(14 * 24, 400, mild)))).toContain('raised');
  });
});

describe('the alert levels', () => {
  it('depend on the grade of the baseline: a provisional one only allows tickets', () => {
    expect(alertLevels('page')).toEqual(['page', 'ticket']);
    expect(alertLevels('provisional')).toEqual(['ticket']);
    expect(alertLevels('insufficient')).toEqual([]);
  });

  it('require evidence equal to the number of windows per budgeted alert, times the number of monitors', () => {
    const yearly = { count: 1, periodMs: 365 * DAY };
    expect(alertThreshold(yearly, HOUR, 1)).toBe(8760);
    expect(alertThreshold(yearly, HOUR, 12)).toBe(12 * 8760);
    expect(alertThreshold({ count: 2, periodMs: 365 * DAY }, HOUR, 1)).toBe(4380);
  });

  it('derive the null mean of the detector from the upper limit of the baseline mean and the threshold', () => {
    const { nullMean } = POLICY.detector;
    expect(nullMean).toBeCloseTo((1.02 - Math.log(0.95) - 0.99 + 3) / (Math.log(100) + 4), 14);
    expect(alertPolicy(BASELINE, 'ticket', 8760).detector.nullMean).toBeLessThan(nullMean);
  });
});
