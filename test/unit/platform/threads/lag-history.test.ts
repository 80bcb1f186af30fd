import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/core/system-clock.ts';
import { MINUTE_MS } from '../../../../src/core/time.ts';
import { createLagHistory } from '../../../../src/platform/threads/lag-history.ts';
import { NOON } from '../../../support/builders.ts';

const later = (minutes: number): Date => new Date(NOON.getTime() + minutes * MINUTE_MS);

describe('the history of the event loop', () => {
  let now = NOON;
  const history = createLagHistory({ ...systemClock, now: () => now }, 0.1);
  for (const [minute, lag] of [
    [0, 0.001],
    [10, 0.1],
    [20, 0.04],
  ] as const) {
    now = later(minute);
    for (let tick = 0; tick < 100; tick++) history.record(lag, minute === 10 ? 2.5 : 0.5);
  }

  it('returns the share of time in which the event loop was blocked', () => {
    expect(history.lateShare(later(10), later(11))).toBeCloseTo(0.5, 12);
    expect(history.lateShare(later(9), later(10.5))).toBeCloseTo(0.5, 12);
  });

  it('returns the share of time in which the processors were busy', () => {
    expect(history.queuedShare(later(10), later(11))).toBe(1);
    expect(history.queuedShare(later(0), later(5))).toBe(0);
    expect(history.queuedShare(later(30), later(40))).toBeNull();
  });

  it('ignores delays below 50 ms', () => {
    expect(history.lateShare(later(0), later(5))).toBe(0);
    expect(history.lateShare(later(20), later(21))).toBe(0);
  });

  it('returns no value for a time in which the process did not run', () => {
    expect(history.lateShare(later(30), later(40))).toBeNull();
  });

  it('drops samples after two hours', () => {
    now = later(131);
    history.record(0, 0);
    expect(history.lateShare(later(0), later(11))).toBeNull();
    expect(history.lateShare(later(20), later(21))).toBe(0);
  });
});
