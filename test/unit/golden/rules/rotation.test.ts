import { describe, expect, it } from 'vitest';
import { byKey, describeLevels, overlapLevels } from '../../../../src/golden/rules/rotation.ts';
import { aScore } from '../../../support/builders.ts';

describe('the overlap of two versions', () => {
  it('has the mean level of each, metric by metric, over all queries', () => {
    const levels = overlapLevels([
      { from: [aScore({ mean: 0.75 })], to: [aScore({ mean: 0.5 })] },
      { from: [aScore({ mean: 0.25 })], to: [aScore({ mean: 0.75 })] },
    ]);
    expect(levels).toEqual({ 'ndcg@10': { from: 0.5, to: 0.625 } });
  });

  it('leaves out segments, and metrics that one version lacks', () => {
    const from = [aScore(), aScore({ segment: 'language=de' }), aScore({ measure: 'mrr' })];
    expect(Object.keys(overlapLevels([{ from, to: [aScore()] }]))).toEqual(['ndcg@10']);
    expect([...byKey(from).keys()]).toEqual(['ndcg@10', 'mrr@10']);
  });

  it('is told in one sentence', () => {
    const levels = { 'ndcg@10': { from: 0.8, to: 0.75 } };
    expect(describeLevels(levels, 'ndcg@10')).toBe(
      'On the overlap ndcg@10 was 0.8000 before and 0.7500 after (-0.0500).',
    );
    expect(describeLevels({}, 'ndcg@10')).toBe('The versions share no metric.');
  });
});
