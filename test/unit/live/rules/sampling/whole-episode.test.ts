import { describe, expect, it } from 'vitest';
import { wholeProbability } from '../../../../../src/live/rules/sampling/whole-episode.ts';
import { NOON } from '../../../../support/builders.ts';

const MINUTE_MS = 60_000;

describe('the probability that an episode was sampled as a whole', () => {
  const step = (parts: Partial<Parameters<typeof wholeProbability>[0][number]> = {}) => ({
    cluster: 0.05,
    rateProbability: 0.4,
    upstreamProbability: 0.5,
    level: 0,
    receivedAt: NOON,
    ...parts,
  });
  const minute = Math.floor(NOON.getTime() / MINUTE_MS);

  it('is the lowest probability of its steps, times the upstream probability', () => {
    expect(wholeProbability([step(), step({ rateProbability: 0.2 })], new Map(), 600_000, 0)).toBe(0.1);
  });

  it('includes the sampling level of a minute in which another step may have been dropped', () => {
    const levels = new Map([
      [minute + 5, 2],
      [minute + 20, 9],
    ]);
    expect(wholeProbability([step()], levels, 600_000, 0)).toBe(0.05);
    expect(wholeProbability([step({ cluster: 0.11 })], levels, 600_000, 0)).toBeNull();
    expect(wholeProbability([step({ rateProbability: 0.1, level: 2 })], levels, 600_000, 0)).toBe(0.05);
    expect(wholeProbability([step()], levels, 600_000, 1)).toBeNull();
  });
});
