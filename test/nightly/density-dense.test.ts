import { describe, expect, it } from 'vitest';
import { measureDense } from '../../bench/density-dense.ts';
import { measureLooks } from '../../bench/density-looks.ts';

describe('the quick simulation on dense vectors', () => {
  it('compares every candidate score, and simulates streams with and without an uncovered topic', async () => {
    const { scores, quiet, changed } = await measureDense(true, 1, () => {});
    expect(scores.map(({ world }) => world)).toEqual([
      'dense articles',
      'lexical articles',
      'synthetic, near topic',
      'synthetic, far topic',
      'synthetic, deleted topics',
    ]);
    const [dense] = scores;
    expect(dense?.auc['nearest minus half of the mean to the store']).toBeGreaterThan(
      dense?.auc['mean of the top 10'] ?? 1,
    );
    expect(quiet.map(({ alerts }) => alerts.page.count)).toEqual([0, 0]);
    expect(changed.map(({ change }) => change)).toEqual(
      Array.from({ length: 2 }, () => 'uncovered topic (article), 20 % of traffic'),
    );
  }, 120_000);

  it('measures a lower density with a topic that the store lacks than without', async () => {
    const { looks } = await measureLooks(true, 1, () => {});
    expect(looks.map(({ world, change }) => [world, change])).toEqual([
      ['dense articles, repeated questions', 'none'],
      ['dense articles, repeated questions', 'topic that the store lacks, 20 %'],
      ['dense articles', 'none'],
      ['dense articles', 'topic that the store lacks, 20 %'],
    ]);
    for (const { change, density } of looks) {
      if (change === 'none') expect(density).toBeGreaterThan(0.85);
      else expect(density).toBeLessThan(0.85);
    }
  }, 120_000);
});
