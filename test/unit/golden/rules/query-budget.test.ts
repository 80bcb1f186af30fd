import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BudgetQuestion, fitsBudget } from '../../../../src/golden/rules/schedule.ts';

const ask = (parts: Partial<BudgetQuestion>): boolean =>
  fitsBudget({
    purpose: 'full',
    limit: 1000,
    asked: 0,
    planned: 300,
    full: 300,
    hasSentinel: false,
    ...parts,
  });

describe('the budget of a day', () => {
  it('holds runs up to the limit and not one query more', () => {
    expect(ask({ asked: 700 })).toBe(true);
    expect(ask({ asked: 701 })).toBe(false);
  });

  it('is no matter without a limit, nor to a person who starts a run by hand', () => {
    expect(ask({ limit: null, asked: 1_000_000 })).toBe(true);
    expect(ask({ purpose: 'manual', asked: 1_000_000 })).toBe(true);
  });

  it('keeps one full run for a sentinel that falls, which neither schedule may touch', () => {
    const watched = { hasSentinel: true };
    expect(ask({ ...watched, asked: 400 })).toBe(true);
    expect(ask({ ...watched, asked: 401 })).toBe(false);
    expect(ask({ ...watched, purpose: 'sentinel', planned: 50, asked: 651 })).toBe(false);
    expect(ask({ ...watched, purpose: 'escalation', asked: 700 })).toBe(true);
    expect(ask({ ...watched, purpose: 'escalation', asked: 701 })).toBe(false);
  });

  it('always holds the first full run of the day when the limit does, reserve or not', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(10_000), (full, more) => {
        expect(ask({ limit: full + more, planned: full, full, hasSentinel: true })).toBe(true);
      }),
    );
  });
});
