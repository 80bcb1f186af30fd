import { describe, expect, it } from 'vitest';
import { MINUTE_MS } from '../../../../src/core/time.ts';
import { createLagHistory } from '../../../../src/platform/threads/lag-history.ts';
import { NOON } from '../../../support/builders.ts';

const later = (minutes: number): Date => new Date(NOON.getTime() + minutes * MINUTE_MS);

describe('the history of the event loop', () => {
  let now = NOON;
  const history = createLagHistory({ now: () => now }, 0.1);
  for (const [minute, lag] of [
    [0, 0.001],
    [10, 0.1],
    [20, 0.04],
  ] as const) {
    now = later(minute);
    for (let tick = 0; tick < 100; tick++) history.record(lag, minute === 10 ? 2.5 : 0.5);
  }

  it('has the share of the time in which the loop was held up', () => {
    expect(history.lateShare(later(10), later(11))).toBeCloseTo(0.5, 12);
    expect(history.lateShare(later(9), later(10.5))).toBeCloseTo(0.5, 12);
  });

  it('has the share of the time in which the processors were taken', () => {
    expect(history.queuedShare(later(10), later(11))).toBe(1);
    expect(history.queuedShare(later(0), later(5))).toBe(0);
    expect(history.queuedShare(later(30), later(40))).toBeNull();
  });

  it('takes delays below 50 ms for none', () => {
    expect(history.lateShare(later(0), later(5))).toBe(0);
    expect(history.lateShare(later(20), later(21))).toBe(0);
  });

  it('knows nothing of a time in which the process did not run', () => {
    expect(history.lateShare(later(30), later(40))).toBeNull();
  });

  it('forgets what is two hours old', () => {
    now = later(131);
    history.record(0, 0);
    expect(history.lateShare(later(0), later(11))).toBeNull();
    expect(history.lateShare(later(20), later(21))).toBe(0);
  });
});
