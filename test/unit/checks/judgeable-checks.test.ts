import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/app/config/parse.ts';
import { runMeasures } from '../../../src/golden/rules/score-run.ts';

function problemOf(golden: string, checks: string): string {
  const text = `pipelines: [{name: docs, retriever: {kind: http, url: u}, golden: [${golden}], checks: [${checks}]}]`;
  try {
    parseConfig(text, 'recalld.yaml', {}, () => '');
    return 'accepted';
  } catch (error) {
    return (error instanceof Error ? error.message : String(error)).replace('recalld.yaml: pipelines[0].', '');
  }
}

const aFloor = (measure: string): string => `{measure: ${measure}, below: 0.8}`;

describe('the name of a check', () => {
  const named = (name: string, below = 0.8): string => `{name: "${name}", measure: ndcg@10, below: ${below}}`;

  it('may contain only certain characters, and may differ between two checks of the same measure', () => {
    expect(problemOf('{set: faq}', `${named('quality')}, ${named('quality (must)', 0.5)}`)).toContain(
      'checks[1].name must be up to 64 letters',
    );
    expect(problemOf('{set: faq}', `${named('quality: promised')}, ${named('quality: usual', 0.9)}`)).toBe('accepted');
  });

  it.each([
    ['that of another check on the same sets', `${named('quality')}, ${named('quality', 0.5)}`, 'quality on faq'],
    [
      'the default name of another check',
      `${named('mrr@10 below 0.5')}, {measure: mrr@10, below: 0.5}`,
      'mrr@10 below 0.5 on faq',
    ],
    [
      'a name that another check has on a golden set',
      `${named('x')}, {name: x on faq, measure: error_ratio, above: 0.1}`,
      'x on faq',
    ],
  ])('must not be %s', (_, checks, name) => {
    expect(problemOf('{set: faq}', checks)).toContain(`has the same name "${name}" as checks[0]`);
  });
});

describe('a check', () => {
  it.each(runMeasures)('may use %s at a cutoff of its golden set', (measure) => {
    expect(problemOf('{set: faq, cutoffs: [7]}', aFloor(`${measure}@7`))).toBe('accepted');
    expect(problemOf('{set: faq, cutoffs: [7]}', `{regression: ${measure}@7, drop: 0.1}`)).toBe('accepted');
  });

  it.each([
    [
      'a cutoff at which the set is not scored',
      '{set: faq, cutoffs: [10, 5, 5]}',
      aFloor('ndcg@20'),
      'checks[0].measure is ndcg@20, but the golden set "faq" is scored only at 5, 10; add 20 to its cutoffs, or use one of these cutoffs.',
    ],
    [
      'a cutoff at which only the other set is scored',
      '{set: a, cutoffs: [20]}, {set: b, cutoffs: [10]}',
      aFloor('ndcg@20'),
      'checks[0].measure is ndcg@20, but the golden set "b" is scored only at 10; add 20 to its cutoffs, or use one of these cutoffs.',
    ],
    [
      'a cutoff outside the defaults',
      '{set: faq}',
      aFloor('recall@100'),
      'checks[0].measure is recall@100, but the golden set "faq" is scored only at 1, 3, 5, 10; add 100 to its cutoffs, or use one of these cutoffs.',
    ],
    [
      'a cutoff outside the defaults for a set that only runs manually',
      '',
      aFloor('recall@100'),
      'checks[0].measure is recall@100, but golden sets that are not listed under `golden` are scored only at 1, 3, 5, 10; list the set under `golden` with 100 in its cutoffs, or use one of these cutoffs.',
    ],
    [
      'a regression at a cutoff outside the defaults',
      '{set: faq}',
      '{regression: mrr@7, drop: 0.1}',
      'checks[0].regression is mrr@7, but the golden set "faq" is scored only at 1, 3, 5, 10; add 7 to its cutoffs, or use one of these cutoffs.',
    ],
    [
      'a measure without a cutoff',
      '{set: faq}',
      aFloor('mrr'),
      'checks[0].measure is mrr without a cutoff; add one of the cutoffs of the golden scores, such as mrr@10.',
    ],
    [
      'a measure that golden runs do not compute',
      '{set: faq}',
      aFloor('dcg@10'),
      'checks[0].measure is dcg@10, which golden runs do not compute; use one of hit_rate, mrr, ndcg, ndcg_exp, recall, precision, map, f1, union_recall, all_found, unjudged.',
    ],
    [
      'a measure that golden runs do not compute, without a cutoff',
      '{set: faq}',
      aFloor('dcg'),
      'checks[0].measure is dcg, which golden runs do not compute; use one of hit_rate, mrr, ndcg, ndcg_exp, recall, precision, map, f1, union_recall, all_found, unjudged.',
    ],
    [
      'a misspelt measure',
      '{set: faq}',
      aFloor('precison@5'),
      'checks[0].measure is not a measure; did you mean "precision@5"?',
    ],
    [
      'a measure in capitals',
      '{set: faq}',
      aFloor('NDCG@5'),
      'checks[0].measure is not a measure; did you mean "ndcg@5"?',
    ],
    [
      'a misspelt live measure',
      '{set: faq}',
      aFloor('error_ratios'),
      'checks[0].measure is not a measure; did you mean "error_ratio"?',
    ],
    [
      'a word that is not a measure',
      '{set: faq}',
      aFloor('latency'),
      'checks[0].measure is not a measure; use one of hit_rate, mrr, ndcg, ndcg_exp, recall, precision, map, f1, union_recall, all_found, unjudged with a cutoff, such as ndcg@10.',
    ],
    [
      'a cutoff of 0',
      '{set: faq}',
      aFloor('ndcg@0'),
      'checks[0].measure is not a measure; use one of hit_rate, mrr, ndcg, ndcg_exp, recall, precision, map, f1, union_recall, all_found, unjudged with a cutoff, such as ndcg@10.',
    ],
  ])('is rejected with a fix if it names %s', (_, golden, checks, sentence) => {
    expect(problemOf(golden, checks)).toBe(sentence);
  });

  it('needs no cutoff for live traffic', () => {
    expect(problemOf('{set: faq}', '{measure: feedback_positive_ratio, below: 0.6, severity: warning}')).toBe(
      'accepted',
    );
  });

  it('may use the default cutoffs if its golden set only runs manually', () => {
    expect(problemOf('', aFloor('ndcg@10'))).toBe('accepted');
  });
});
