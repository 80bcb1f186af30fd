import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countArrival, type MinuteLoad } from '../../../../../src/live/rules/sampling/decision.ts';

/** The load after `count` queries in one minute, all with the sampling rate `rate`. */
function after(count: number, rate: number, budget: number, minute = 1, start: MinuteLoad | null = null): MinuteLoad {
  let load = start;
  for (let i = 0; i < count; i++) load = countArrival(load, minute, rate, budget);
  if (load === null) throw new Error('count must be at least 1');
  return load;
}

describe('the level of a minute', () => {
  it.each([
    [600, 1, 0],
    [601, 1, 1],
    [1200, 1, 1],
    [1201, 1, 2],
    [6000, 0.1, 0],
    [12_000, 0.1, 1],
    [4801, 1, 4],
  ])('after %s queries at rate %s under a budget of 600 is %s', (count, rate, level) => {
    expect(after(count, rate, 600.000001).level).toBe(level);
  });

  it('starts at the level that the load of the previous minute required, not at its final level', () => {
    const heavy = after(2400, 1, 600);
    const next = countArrival(heavy, 2, 1, 600);
    expect(next).toEqual({ minute: 2, expected: 1, level: 2 });
    const quiet = after(100, 1, 600, 2, heavy);
    expect(countArrival(quiet, 3, 1, 600).level).toBe(0);
  });

  it('starts at 0 after a minute without traffic', () => {
    expect(countArrival(after(2400, 1, 600), 3, 1, 600)).toEqual({ minute: 3, expected: 1, level: 0 });
  });

  it('includes arrivals with an earlier time if the clock is set back', () => {
    const load = after(10, 1, 600, 5);
    expect(countArrival(load, 4, 1, 600)).toEqual({ minute: 5, expected: 11, level: 0 });
  });

  it('never drops within a minute, and keeps every closed minute within the budget', () => {
    const arrivals = fc.array(
      fc.tuple(
        fc.integer({ min: 0, max: 3 }),
        fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100),
      ),
      {
        maxLength: 200,
      },
    );
    fc.assert(
      fc.property(
        arrivals,
        fc.integer({ min: 1, max: 40 }).map((halves) => halves / 2),
        (steps, budget) => {
          let load: MinuteLoad | null = null;
          for (const [ahead, rate] of steps) {
            const minute: number = (load?.minute ?? 0) + (ahead === 3 ? 1 : 0);
            const next: MinuteLoad = countArrival(load, minute, rate, budget);
            const minimumLevel: number = load !== null && next.minute === load.minute ? load.level : 0;
            expect(next.level).toBeGreaterThanOrEqual(minimumLevel);
            expect(next.expected * 2 ** -next.level).toBeLessThanOrEqual(budget);
            load = next;
          }
        },
      ),
    );
  });
});
