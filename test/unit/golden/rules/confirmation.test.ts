import { describe, expect, it } from 'vitest';
import {
  type ComparedRun,
  type ComparisonVerdict,
  confirmRegression,
} from '../../../../src/golden/rules/verdict.ts';

const words: Readonly<Record<string, ComparisonVerdict>> = {
  R: 'regression',
  I: 'improvement',
  n: 'no_change',
  '?': 'inconclusive',
};

/** One letter per run, oldest first. */
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
  ] as const)('%s with %d runs in a row needed is %s', (letters, runs, verdict, consecutive) => {
    expect(confirmRegression(history(letters), runs)).toEqual({ verdict, consecutive });
  });

  it('starts anew with another baseline', () => {
    const runs = [...history('RR', 'old'), ...history('R', 'new')];
    expect(confirmRegression(runs, 2)).toEqual({ verdict: 'unconfirmed_regression', consecutive: 1 });
  });

  it('counts a run once that was compared twice', () => {
    const once = history('R');
    expect(confirmRegression([...once, ...once], 2)?.verdict).toBe('unconfirmed_regression');
  });

  it('knows nothing without a run', () => {
    expect(confirmRegression([], 2)).toBeNull();
  });
});
