import { describe, expect, it } from 'vitest';
import { RecalldError } from '../../../../src/core/errors.ts';
import { formatMetricKey, parseMetricKey } from '../../../../src/math/ir/metric-key.ts';

describe('parseMetricKey', () => {
  it.each([
    ['hit_rate@5', { measure: 'hit_rate', k: 5 }],
    ['precision@1', { measure: 'precision', k: 1 }],
    ['recall@100', { measure: 'recall', k: 100 }],
    ['f1@3', { measure: 'f1', k: 3 }],
    ['mrr', { measure: 'mrr', k: null }],
    ['mrr@10', { measure: 'mrr', k: 10 }],
    ['map', { measure: 'map', k: null }],
    ['map@10', { measure: 'map', k: 10 }],
    ['dcg', { measure: 'dcg', k: null }],
    ['dcg@10', { measure: 'dcg', k: 10 }],
    ['ndcg', { measure: 'ndcg', k: null }],
    ['ndcg@10', { measure: 'ndcg', k: 10 }],
    ['ndcg_exp', { measure: 'ndcg_exp', k: null }],
    ['ndcg_exp@10', { measure: 'ndcg_exp', k: 10 }],
    ['unjudged@20', { measure: 'unjudged', k: 20 }],
  ])('reads %s and writes it back', (text, key) => {
    expect(parseMetricKey(text)).toEqual(key);
    expect(formatMetricKey(parseMetricKey(text))).toBe(text);
  });

  it.each(['hit_rate', 'precision', 'recall', 'f1', 'unjudged'])('requires a cutoff for %s', (text) => {
    expect(() => parseMetricKey(text)).toThrow(`The metric "${text}" needs a cutoff, for example "${text}@10".`);
  });

  it.each([
    'ndcg@0',
    'ndcg@',
    'ndcg@-1',
    'ndcg@1.5',
    'ndcg@1e1',
    'ndcg@ten',
    'ndcg@010',
    'ndcg@5@5',
    'ndcg@9007199254740993',
  ])('rejects the cutoff of %s', (text) => {
    expect(() => parseMetricKey(text)).toThrow(`The cutoff of the metric "${text}" must be a whole number`);
  });

  it.each(['', '@10', 'err@10', 'toString', '__proto__', 'constructor@3', ' ndcg@10'])(
    'refuses the unknown metric %j',
    (text) => {
      expect(() => parseMetricKey(text)).toThrow(RecalldError);
      expect(() => parseMetricKey(text)).toThrow(
        /Metrics are: hit_rate@k, .*ndcg_exp, ndcg_exp@k, union_recall@k, all_found@k, unjudged@k\./,
      );
    },
  );

  it('suggests the closest metric for a misspelled one', () => {
    expect(() => parseMetricKey('nDCG@10')).toThrow('There is no metric "nDCG@10". Did you mean "ndcg"?');
    expect(() => parseMetricKey('recal@10')).toThrow('Did you mean "recall"?');
  });

  it('throws an input error with the code metric_unknown', () => {
    expect(() => parseMetricKey('x')).toThrow(expect.objectContaining({ code: 'metric_unknown', kind: 'input' }));
  });
});
