import { describe, expect, it } from 'vitest';
import { isChanged, normalRange } from '../../../../src/measures/rules/measure-change.ts';
import type { Measurement } from '../../../../src/measures/rules/measurement.ts';
import { aMeasurement, hours } from '../../../support/measurements.ts';

const budget = { count: 1, periodMs: 90 * 86_400_000, series: 13 };
const quiet = { incidents: [], deployments: [] };

/** Returns a measurement with this value for the hour that ended `hour` hours after noon. */
function valueAt(hour: number, value: number, measure = 'context_characters'): Measurement {
  return aMeasurement({
    measure,
    value,
    ciLow: value * 0.98,
    ciHigh: value * 1.02,
    windowStart: hours(hour - 1),
    windowEnd: hours(hour),
  });
}

/** Returns measurements of the hours up to `until`, oldest first, each with a slightly different value. */
const past = (value: number, { from = -48, until = -1, measure = 'context_characters' } = {}): Measurement[] =>
  Array.from({ length: until - from + 1 }, (_, i) => valueAt(from + i, value * (1 + 0.02 * (i % 3)), measure));

function changed(
  newest: Measurement,
  earlier: readonly Measurement[],
  disturbed: Parameters<typeof normalRange>[2] = quiet,
) {
  const range = normalRange(newest, earlier, disturbed, budget);
  return range === null ? null : isChanged(newest, range);
}

describe('the normal range of a measure', () => {
  it.each([
    ['a context at a quarter of its length', 'context_characters', 4000, 1000],
    ['3 results per query instead of 10', 'results_per_answer', 10, 3],
    ['a latency of four times the normal value', 'retriever_latency_p95_seconds', 0.1, 0.4],
    ['a lower candidate recall', 'candidates_recall', 0.95, 0.7],
    ['a context with new repetitions', 'context_repeated_ratio', 0.0002, 0.5],
    ['an agent that makes every call twice', 'episode_retrievals', 1.8, 3.6],
    ['an agent that never calls again', 'episode_retrievals', 1.8, 1.02],
    ['repeated calls of an agent', 'episode_repeats', 0.2, 0.5],
  ])('excludes %s', (_what, measure, before, now) => {
    expect(changed(valueAt(0, now, measure), past(before, { measure }))).toBe(true);
  });

  it.each([
    ['a usual value', 4010],
    ['a change too small to matter', 3000],
  ])('includes %s', (_what, value) => {
    expect(changed(valueAt(0, value), past(4000))).toBe(false);
  });

  it('includes improvements, and latencies of up to twice the normal value', () => {
    const measure = 'candidates_recall';
    expect(changed(valueAt(0, 0.95, measure), past(0.7, { measure }))).toBe(false);
    const latency = 'retriever_latency_p95_seconds';
    expect(changed(valueAt(0, 1.9, latency), past(1, { measure: latency }))).toBe(false);
    expect(changed(valueAt(0, 2.1, latency), past(1, { measure: latency }))).toBe(true);
  });

  it.each([
    ['fewer calls per episode, as after an improvement of the retriever', 'episode_retrievals', 1.8, 1.2],
    ['a few more repeated calls where almost none were repeated', 'episode_repeats', 0.01, 0.05],
  ])('includes %s', (_what, measure, before, now) => {
    expect(changed(valueAt(0, now, measure), past(before, { measure }))).toBe(false);
  });

  it('ignores values that were compared with another pinned run', () => {
    const against = (one: Measurement, id: string): Measurement => ({ ...one, details: { against: id } });
    const before = past(0.98, { measure: 'rbo' }).map((one) => against(one, 'run-1'));
    expect(changed(against(valueAt(0, 0.6, 'rbo'), 'run-1'), before)).toBe(true);
    expect(changed(against(valueAt(0, 0.6, 'rbo'), 'run-2'), before)).toBe(null);
  });

  it('includes a delay of less than a fifth of a second, which users do not notice', () => {
    const latency = 'latency_p95_seconds';
    expect(changed(valueAt(0, 0.17, latency), past(0.04, { measure: latency }))).toBe(false);
    expect(changed(valueAt(0, 0.3, latency), past(0.04, { measure: latency }))).toBe(true);
  });

  it('widens with the scatter of earlier values', () => {
    const restless = past(4000).map((_, i) => valueAt(-48 + i, i % 2 === 0 ? 2000 : 6000));
    expect(changed(valueAt(0, 1000), restless)).toBe(false);
  });

  it('is robust against a few bad hours', () => {
    const withBad = past(4000).map((one, i) => (i >= 20 && i < 30 ? valueAt(-48 + i, 900) : one));
    expect(changed(valueAt(0, 1000), withBad)).toBe(true);
  });

  it('includes a value whose interval overlaps the range', () => {
    const uncertain = { ...valueAt(0, 1000), ciLow: 0, ciHigh: 3000 };
    expect(changed(uncertain, past(4000))).toBe(false);
  });

  it('ignores earlier values that were measured during an incident', () => {
    const earlier = [...past(4000, { from: -60, until: -41 }), ...past(1000, { from: -40, until: -1 })];
    const incidents = [{ from: hours(-41), until: hours(0) }];
    expect(changed(valueAt(0, 1000), earlier)).toBe(false);
    expect(changed(valueAt(0, 1000), earlier, { incidents, deployments: [] })).toBe(true);
  });

  it('excludes values that a deployment changed until 12 later values span three windows', () => {
    const deployments = [hours(-20)];
    const before = past(4000, { from: -60, until: -20 });
    const since = (count: number) => past(1000, { from: -19, until: -20 + count });
    expect(changed(valueAt(0, 1000), [...before, ...since(5)], { incidents: [], deployments })).toBe(true);
    expect(changed(valueAt(0, 1000), [...before, ...since(12)], { incidents: [], deployments })).toBe(false);
  });

  it('is unknown with fewer than 12 values, or when they span less than three windows', () => {
    expect(changed(valueAt(0, 1000), past(4000, { from: -11 }))).toBe(null);
    const often = Array.from({ length: 40 }, (_, i) => valueAt(-3 + i / 20, 4000));
    expect(changed(valueAt(0, 1000), often)).toBe(null);
  });
});
