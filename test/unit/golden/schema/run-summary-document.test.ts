import { describe, expect, it } from 'vitest';
import { metricJson, metricsJson } from '../../../../src/golden/runs/run-summary.ts';
import { aScore } from '../../../support/builders.ts';

describe('scores as JSON', () => {
  it('are a mean with n, bounds and the method of the bounds', () => {
    expect(metricJson(aScore())).toEqual({ mean: 0.9, n: 40, ci_low: 0.85, ci_high: 0.95, ci_method: 'bca' });
  });

  it('are keyed as on the command line, those of one segment apart from those of all queries', () => {
    const scores = [
      aScore(),
      aScore({ measure: 'mrr', k: 1, mean: 0.5 }),
      aScore({ segment: 'lang=en', mean: 0.1 }),
    ];
    expect(Object.keys(metricsJson(scores))).toEqual(['ndcg@10', 'mrr@1']);
    expect(metricsJson(scores, 'lang=en')['ndcg@10']?.mean).toBe(0.1);
    expect(metricsJson(scores, 'lang=fr')).toEqual({});
  });
});
