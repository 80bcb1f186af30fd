import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shareOf } from '../../../../src/golden/rules/retriever-pace.ts';

describe('the share of a retriever', () => {
  it('is everything for one who asks alone', () => {
    expect(shareOf({ concurrency: 4, using: 0, others: [], rank: 0 })).toEqual({ slots: 4, counted: 4 });
  });

  it('waits while another uses everything, and is equal once that one has come down', () => {
    expect(shareOf({ concurrency: 4, using: 0, others: [4], rank: 1 })).toEqual({ slots: 0, counted: 0 });
    expect(shareOf({ concurrency: 4, using: 4, others: [0], rank: 0 })).toEqual({ slots: 2, counted: 4 });
    expect(shareOf({ concurrency: 4, using: 2, others: [0], rank: 0 })).toEqual({ slots: 2, counted: 2 });
    expect(shareOf({ concurrency: 4, using: 0, others: [2], rank: 1 })).toEqual({ slots: 2, counted: 2 });
  });

  it('gives the remainder to the first, and one to each as long as there is one', () => {
    const ranks = [0, 1, 2].map((rank) => shareOf({ concurrency: 4, using: 0, others: [0, 0], rank }).slots);
    expect(ranks).toEqual([2, 1, 1]);
    expect(shareOf({ concurrency: 1, using: 1, others: [0, 0], rank: 2 }).slots).toBe(1);
  });

  it('never lets those who ask have more in flight than the concurrency, in whatever order they speak', () => {
    const anyStep = fc.record({ who: fc.nat(4), inFlight: fc.nat(10) });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.array(anyStep, { maxLength: 60 }),
        (concurrency, steps) => {
          const counted = [0, 0, 0, 0, 0];
          const allowed = [0, 0, 0, 0, 0];
          const inFlight = [0, 0, 0, 0, 0];
          for (const step of steps) {
            const { who } = step;
            // In the meantime it started or ended some, within what it was allowed.
            inFlight[who] = Math.min(step.inFlight, Math.max(inFlight[who] ?? 0, allowed[who] ?? 0));
            const using = Math.max(allowed[who] ?? 0, inFlight[who] ?? 0);
            const others = counted.filter((_, index) => index !== who);
            const share = shareOf({ concurrency, using, others, rank: who });
            counted[who] = share.counted;
            allowed[who] = share.slots;
            expect(counted.reduce((sum, slots) => sum + slots, 0)).toBeLessThanOrEqual(concurrency);
          }
        },
      ),
    );
  });
});
