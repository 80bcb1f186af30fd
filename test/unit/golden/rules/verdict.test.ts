import { describe, expect, it } from 'vitest';
import {
  type ComparedRun,
  type ComparisonVerdict,
  classifyDifference,
  confirmRegression,
  defaultMinEffect,
  type MeasuredDifference,
  minEffectOf,
  primaryOf,
} from '../../../../src/golden/rules/verdict.ts';
import type { Measure } from '../../../../src/math/ir/metric-key.ts';
import { SETTINGS } from './scores.ts';

const words: Readonly<Record<string, ComparisonVerdict>> = {
  R: 'regression',
  I: 'improvement',
  n: 'no_change',
  '?': 'inconclusive',
};

/** Builds a history of runs in which each letter stands for a run's verdict, oldest first. */
function history(letters: string, baselineRunId = 'pinned'): ComparedRun[] {
  return Array.from(letters, (letter, i) => ({
    runId: `${baselineRunId}-${i}`,
    baselineRunId,
    verdict: words[letter] ?? 'no_change',
  }));
}

describe('confirmRegression', () => {
  it.each([
    ['R', 1, 'regression', 1],
    ['R', 2, 'unconfirmed_regression', 1],
    ['nR', 2, 'unconfirmed_regression', 1],
    ['nRR', 2, 'regression', 2],
    ['RRRR', 2, 'regression', 4],
    ['RnR', 2, 'unconfirmed_regression', 1],
    ['R?R', 2, 'unconfirmed_regression', 1],
    ['RRn', 2, 'no_change', 0],
    ['RR?', 2, 'inconclusive', 0],
    ['RRI', 2, 'improvement', 0],
  ] as const)('%s with %d consecutive runs required is %s', (letters, runs, verdict, consecutive) => {
    expect(confirmRegression(history(letters), runs)).toEqual({ verdict, consecutive });
  });

  it('restarts the count for another baseline', () => {
    const runs = [...history('RR', 'old'), ...history('R', 'new')];
    expect(confirmRegression(runs, 2)).toEqual({ verdict: 'unconfirmed_regression', consecutive: 1 });
  });

  it('counts a run only once even if it was compared twice', () => {
    const once = history('R');
    expect(confirmRegression([...once, ...once], 2)?.verdict).toBe('unconfirmed_regression');
  });

  it('returns null without a run', () => {
    expect(confirmRegression([], 2)).toBeNull();
  });
});

function measured(difference: number, p: number, parts: Partial<MeasuredDifference> = {}): MeasuredDifference {
  return {
    measure: 'ndcg',
    difference,
    ciLow: difference - 0.01,
    ciHigh: difference + 0.01,
    p,
    ciMethod: 'bca',
    wins: 24,
    losses: 26,
    ...parts,
  };
}

describe('classifyDifference', () => {
  it.each([
    ['a significant drop of more than the minimum effect', measured(-0.03, 0.01), 'regression'],
    ['a significant drop of exactly the minimum effect', measured(0.78 - 0.8, 0.01), 'regression'],
    [
      'a significant drop that is below the minimum effect only by rounding',
      measured(-0.02 + 1e-15, 0.01),
      'regression',
    ],
    ['a significant rise of more than the minimum effect', measured(0.03, 0.01), 'improvement'],
    ['a drop of more than the minimum effect that may be chance', measured(-0.03, 0.06), 'inconclusive'],
    ['a drop whose p equals the significance level', measured(-0.03, 0.05), 'inconclusive'],
    ['a significant drop that may or may not reach the minimum effect', measured(-0.015, 0.001), 'inconclusive'],
    ['a significant drop that is too small to matter', measured(-0.009, 0.001), 'no_change'],
    ['a small drop with wide bounds', measured(-0.005, 0.8, { ciLow: -0.06, ciHigh: 0.05 }), 'inconclusive'],
    [
      'a difference of 0 with wide bounds if no query changed',
      measured(0, 1, { ciLow: -0.4, ciHigh: 0.4, wins: 0, losses: 0 }),
      'no_change',
    ],
    ['a larger share of unjudged documents', measured(0.3, 0.001, { measure: 'unjudged' }), 'inconclusive'],
  ] as const)('classifies %s', (_what, given, expected) => {
    expect(classifyDifference(given, SETTINGS)).toBe(expected);
  });

  it('takes the default minimum effect from the measure', () => {
    const byDefault = { alpha: 0.05, minEffect: null };
    expect(classifyDifference(measured(-0.025, 0.01), byDefault)).toBe('regression');
    expect(classifyDifference(measured(-0.025, 0.01, { measure: 'hit_rate' }), byDefault)).toBe('inconclusive');
    expect([defaultMinEffect('mrr'), defaultMinEffect('hit_rate')]).toEqual([0.02, 0.03]);
    expect(minEffectOf('hit_rate', SETTINGS)).toBe(0.02);
  });
});

describe('the deciding metric', () => {
  const of = (measure: Measure) => ({ key: { measure, k: 10 } });

  it('is the first in the given order', () => {
    expect(primaryOf([of('mrr'), of('ndcg')])).toEqual(of('mrr'));
  });

  it('is unjudged@k only if there is no other metric', () => {
    expect(primaryOf([of('unjudged'), of('ndcg')])).toEqual(of('ndcg'));
    expect(primaryOf([of('unjudged')])).toEqual(of('unjudged'));
    expect(primaryOf([])).toBeNull();
  });
});

describe('a change of many queries in one direction', () => {
  it('is never classified as no change, however small the mean difference (43 queries worse, none better)', () => {
    const small = measured(-0.005, 0.3, { ciLow: -0.012, ciHigh: 0.002, wins: 0, losses: 43 });
    expect(classifyDifference(small, SETTINGS)).toBe('inconclusive');
    expect(classifyDifference({ ...small, wins: 22, losses: 21 }, SETTINGS)).toBe('no_change');
  });

  it('is not tested if the baseline is the mean of noisy reruns, because an unusual pinned run would shift all queries', () => {
    const small = measured(-0.005, 0.3, { ciLow: -0.012, ciHigh: 0.002, wins: 0, losses: 43, ciMethod: 'reruns' });
    expect(classifyDifference(small, SETTINGS)).toBe('no_change');
  });
});
