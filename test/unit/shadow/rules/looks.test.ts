import { describe, expect, it } from 'vitest';
import {
  evidenceOf,
  isLookDue,
  type Look,
  levelOfLook,
  overallVerdict,
  standingOf,
} from '../../../../src/shadow/rules/looks.ts';
import { NOON } from '../../../support/builders.ts';

function aLook(parts: Partial<Look> = {}): Look {
  return {
    look: 1,
    goldenSetVersion: 1,
    runId: 'r1',
    against: 'p1',
    runs: 1,
    k: 10,
    n: 300,
    baseline: 0.8,
    candidate: 0.79,
    difference: -0.01,
    ciLow: -0.03,
    ciHigh: 0.01,
    ciMethod: 't',
    p: 0.3,
    alpha: 0.005,
    standardDeviation: 0.2,
    noise: null,
    smallestDetectableDifference: 0.042,
    verdict: 'inconclusive',
    lookedAt: NOON,
    ...parts,
  };
}

describe('tests of a shadow', () => {
  it('have no more than 0.01 together, of all golden sets, however many come', () => {
    const levels = Array.from({ length: 60 }, (_, i) => levelOfLook(i + 1, 3));
    expect(levels[0]).toBeCloseTo(0.01 / 6, 12);
    expect(3 * levels.reduce((sum, level) => sum + level, 0)).toBeLessThanOrEqual(0.01 + 1e-12);
  });

  it('come when the runs have doubled: after 1, 2, 4, 8, 16, 32 and 64', () => {
    const due: number[] = [];
    for (let runs = 1; runs <= 200; runs++) if (isLookDue(runs, due.length)) due.push(runs);
    expect(due).toEqual([1, 2, 4, 8, 16, 32, 64]);
  });

  it('decide by the first that calls it, whatever later ones say', () => {
    const looks = [aLook(), aLook({ look: 2, verdict: 'regression' }), aLook({ look: 3, verdict: 'no_change' })];
    expect(standingOf(looks)).toEqual({ verdict: 'worse', by: looks[1] });
    expect(standingOf([looks[0], looks[2]].flatMap((one) => one ?? []))).toEqual({ verdict: 'alike', by: looks[2] });
    expect(standingOf([])).toEqual({ verdict: 'no_data', by: null });
  });

  it('make a shadow worse that is worse on one set, and better only where none is undecided', () => {
    expect(overallVerdict(['better', 'worse', 'undecided'], null)).toBe('worse');
    expect(overallVerdict(['better', 'undecided'], null)).toBe('undecided');
    expect(overallVerdict(['better', 'alike', 'no_data'], null)).toBe('better');
    expect(overallVerdict([], null)).toBe('no_data');
  });

  it('are joined by judged live queries when these call it, and without a golden set', () => {
    expect(overallVerdict(['better'], 'undecided')).toBe('better');
    expect(overallVerdict(['better'], 'worse')).toBe('worse');
    expect(overallVerdict(['alike'], 'better')).toBe('better');
    expect(overallVerdict(['undecided'], 'better')).toBe('undecided');
    expect(overallVerdict([], 'undecided')).toBe('undecided');
  });
});

describe('enough evidence', () => {
  it('is there when the latest test would have found the difference', () => {
    expect(evidenceOf([aLook({ standardDeviation: 0.12 })], 0.03, 1)).toEqual({ kind: 'enough' });
  });

  it('is not asked for once it was called', () => {
    expect(evidenceOf([aLook({ verdict: 'regression' }), aLook({ look: 2 })], 0.03, 1)).toEqual({ kind: 'decided' });
  });

  it('is not foretold before the noise is known', () => {
    expect(evidenceOf([], 0.03, 1)).toEqual({ kind: 'unknown' });
    expect(evidenceOf([aLook()], 0.03, 1)).toEqual({ kind: 'unknown' });
  });

  it('comes when more runs have averaged enough of the noise out', () => {
    // 0.05 between questions and 0.28 from run to run: (3.60 + 1.28) (0.05^2 + 0.28^2 / 16)^.5 / 300^.5 = 0.0243 at the 5th test.
    const second = aLook({ look: 2, runs: 2, standardDeviation: Math.hypot(0.05, 0.28 / Math.SQRT2), noise: 0.28 });
    const sixteen = evidenceOf([aLook(), second], 0.025, 1);
    expect(sixteen).toEqual({ kind: 'days', days: 14 });
  });

  it('never comes where questions differ by too much, and then takes more of them', () => {
    const second = aLook({ look: 2, runs: 2, standardDeviation: 0.3, noise: 0 });
    const evidence = evidenceOf([aLook(), second], 0.03, 1);
    expect(evidence.kind).toBe('more_questions');
    // (3.23 + 1.28)^2 0.09 / 0.0009 at a level of 0.00125 on two sides.
    expect(evidence.kind === 'more_questions' && evidence.questions).toBeGreaterThan(2000);
    expect(evidence.kind === 'more_questions' && evidence.questions).toBeLessThan(2070);
  });
});
