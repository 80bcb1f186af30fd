import { describe, expect, it, onTestFinished } from 'vitest';
import { watchClock } from '../../../src/app/clock-watch.ts';
import type { Clock } from '../../../src/core/time.ts';
import { contextOf } from '../../support/context.ts';
import { MemoryLogger, MemoryMeter } from '../../support/memory-telemetry.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const MINUTE_MS = 60_000;
const TWO_HOURS_MS = 7_200_000;

/** Watches a clock that the test sets, and compares it with a database clock that is always correct. */
async function aWatchedClock(aheadMs = 0) {
  const time = new SteerableClock();
  const state = { aheadMs, away: false, comparisons: 0 };
  const clock: Clock = {
    now: () => new Date(time.now().getTime() + state.aheadMs),
    monotonicMs: () => time.monotonicMs(),
    sleep: (ms, signal) => time.sleep(ms, signal),
  };
  const logger = new MemoryLogger();
  const meter = new MemoryMeter();
  const watch = await watchClock(contextOf({ clock, logger, meter }), async () => {
    state.comparisons += 1;
    if (state.away) throw new Error('the database is down');
    return { sentAtMs: clock.now().getTime(), tookMs: 0, otherMs: time.now().getTime() };
  });
  onTestFinished(() => watch.stop());
  const events: string[] = [];
  watch.whenRightAgain(() => events.push('right again'));
  return { time, state, watch, events, levels: () => logger.lines.map(({ level }) => level), meter };
}

describe('a watched clock', () => {
  it('is compared with the database clock at the start and every two minutes, and its skew is exported', async () => {
    const { time, state, watch, meter } = await aWatchedClock(2000);
    expect(watch.problem()).toBeNull();
    expect(await watch.isRight()).toBe(true);
    await time.advance(10 * MINUTE_MS);
    expect(state.comparisons).toBe(6);
    expect(meter.settings.at(-1)).toEqual({ name: 'recalld_clock_skew_seconds', labels: {}, value: 2 });
  });

  it('that is wrong at the start is reported immediately, in one log line', async () => {
    const { time, watch, levels } = await aWatchedClock(TWO_HOURS_MS);
    expect(watch.problem()).toMatch(/^The clock of this machine is 2 h ahead of the database clock\..*NTP\.$/);
    expect(await watch.isRight()).toBe(false);
    await time.advance(10 * MINUTE_MS);
    expect(levels()).toEqual(['error']);
  });

  it('that drifts is detected by the next comparison, and its correction within 15 seconds', async () => {
    const { time, state, watch, events, levels } = await aWatchedClock();
    for (let step = 0; step < 70; step += 1) {
      state.aheadMs -= 1000;
      await time.advance(2000);
    }
    await time.advance(2 * MINUTE_MS);
    expect(watch.problem()).toContain('70 s behind');
    state.aheadMs = 0;
    await time.advance(15_000);
    expect(watch.problem()).toBeNull();
    expect(events).toEqual(['right again']);
    expect(levels()).toEqual(['error', 'info']);
  });

  it('that was changed is compared again before a scheduled start, not only at the next interval', async () => {
    const { state, watch } = await aWatchedClock();
    state.aheadMs = TWO_HOURS_MS;
    const comparisons = state.comparisons;
    expect(await Promise.all([watch.isRight(), watch.isRight()])).toEqual([false, false]);
    expect(state.comparisons).toBe(comparisons + 1);
    state.aheadMs = 0;
    expect(await watch.isRight()).toBe(true);
  });

  it('keeps its last known state while the database is unavailable', async () => {
    const right = await aWatchedClock();
    const wrong = await aWatchedClock(TWO_HOURS_MS);
    for (const { state, time } of [right, wrong]) {
      state.away = true;
      await time.advance(10 * MINUTE_MS);
    }
    expect(await right.watch.isRight()).toBe(true);
    expect(await wrong.watch.isRight()).toBe(false);
  });

  it('is compared again as soon as the database recovers', async () => {
    const { state, watch } = await aWatchedClock();
    state.away = true;
    state.aheadMs = TWO_HOURS_MS;
    expect(await watch.isRight()).toBe(true);
    state.away = false;
    expect(await watch.isRight()).toBe(false);
  });
});
