import { describe, expect, it } from 'vitest';
import { familiarity, novelBelow, noveltyOf } from '../../../../src/density/rules/cause.ts';
import { evenQuestions, queryWorld } from '../../../support/query-world.ts';

const NOW = new Date('2026-11-02T00:00:00Z');
const HOUR = 3_600_000;
const world = queryWorld(9, 7, 6);
const asked = (count: number, topics: readonly number[]) =>
  world.ask(evenQuestions(count, topics, NOW, HOUR)).vectors;
const baseline = asked(600, [0, 1, 2, 3, 4, 5]);
const threshold = novelBelow(baseline) ?? 0;

const novelty = (topics: readonly number[], excess: number) =>
  noveltyOf(familiarity(asked(400, topics), baseline), threshold, excess);

describe('live queries beside those of the baseline', () => {
  it('are as novel as those are among themselves, about one in twenty', () => {
    const { share, explains } = novelty([0, 1, 2, 3, 4, 5], 0);
    expect(share).toBeGreaterThan(0.01);
    expect(share).toBeLessThan(0.1);
    expect(explains).toBe(false);
  });

  it('are novel when a fifth of them ask for something else, which explains what is uncovered', () => {
    const { share, low, explains } = novelty([0, 1, 2, 3, 6], 0.2);
    expect(share).toBeGreaterThan(0.2);
    expect(low).toBeGreaterThan(0.05);
    expect(explains).toBe(true);
  });

  it('are not novel when they only ask in other shares, so that a loss is no new demand', () => {
    expect(novelty([0, 0, 0, 1], 0.2).explains).toBe(false);
  });

  it('do not explain a loss that is much larger than what is new', () => {
    expect(novelty([0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6], 0.6).explains).toBe(false);
  });

  it('cannot be told apart from a handful', () => {
    expect(novelBelow(asked(11, [0]))).toBeNull();
    expect(novelBelow(asked(12, [0]))).not.toBeNull();
  });
});
