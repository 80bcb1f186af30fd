import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { equalChance } from '../../../../src/density/rules/sessions.ts';
import { uniforms } from '../../../support/uniforms.ts';

describe('the common probability of differently sampled traffic', () => {
  it('is the probability that all groups share', () => {
    expect(equalChance([{ chance: 0.1, queries: 30, sessions: 10 }])).toBe(0.1);
  });

  it('is the smaller probability, at which only a tenth of a fully sampled tenant counts', () => {
    const found = equalChance([
      { chance: 1, queries: 1000, sessions: 500 },
      { chance: 0.1, queries: 100, sessions: 50 },
    ]);
    expect(found).toBe(0.1);
  });

  it('skips a burst that is a small share of the traffic', () => {
    const hour = { chance: 0.1, queries: 200, sessions: 100 };
    expect(equalChance([hour, { chance: 0.025, queries: 1, sessions: 1 }])).toBe(0.1);
    expect(equalChance([hour, { chance: 0.025, queries: 20, sessions: 20 }])).toBe(0.025);
  });

  it('skips a burst with so small a probability that little else would remain', () => {
    const hour = { chance: 0.1, queries: 200, sessions: 100 };
    expect(equalChance([hour, { chance: 0.0001, queries: 5, sessions: 5 }])).toBe(0.1);
  });

  it('is lowered until the expected number of queries fits', () => {
    const found = equalChance([{ chance: 1, queries: 1000, sessions: 1000 }], 300);
    expect(found).toBe(0.25);
  });

  it('is null without traffic', () => {
    expect(equalChance([])).toBeNull();
  });

  it('never exceeds the largest probability', () => {
    const group = fc.record({
      chance: fc.double({ min: 1e-4, max: 1, noNaN: true }),
      queries: fc.integer({ min: 1, max: 1000 }),
      sessions: fc.integer({ min: 1, max: 1000 }),
    });
    fc.assert(
      fc.property(fc.array(group, { minLength: 1, maxLength: 6 }), (groups) => {
        expect(equalChance(groups)).toBeLessThanOrEqual(Math.max(...groups.map(({ chance }) => chance)));
      }),
    );
  });

  it('makes unweighted means estimate the means of all traffic', () => {
    const uniform = uniforms(3);
    // 4,000 sessions of a fully sampled tenant have the value 1. The other 12,000 sessions have the value 0, and each
    // of them is sampled with probability 0.1.
    const sessions = Array.from({ length: 16_000 }, (_, i) => ({
      value: i < 4_000 ? 1 : 0,
      chance: i < 4_000 ? 1 : 0.1,
      draw: uniform(),
    }));
    const sampled = sessions.filter(({ draw, chance }) => draw < chance);
    const mean = (kept: typeof sampled) => kept.reduce((sum, { value }) => sum + value, 0) / kept.length;
    const groups = [1, 0.1].map((chance) => {
      const n = sampled.filter((one) => one.chance === chance).length;
      return { chance, queries: n, sessions: n };
    });
    const chance = equalChance(groups) ?? 0;
    expect(mean(sampled)).toBeGreaterThan(0.7);
    // The true value is 0.25; with about 1,600 sessions, four standard errors are 0.043.
    expect(Math.abs(mean(sampled.filter(({ draw }) => draw < chance)) - 0.25)).toBeLessThan(0.043);
  });
});
