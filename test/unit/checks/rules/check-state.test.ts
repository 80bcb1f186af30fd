import { describe, expect, it } from 'vitest';
import { type CheckStanding, stateAt } from '../../../../src/checks/rules/check-state.ts';
import { hours } from '../../../support/measurements.ts';

const check = {
  pipeline: 'docs',
  goldenSet: 'faq',
  name: 'ndcg@10 below 0.8 on faq',
  severity: 'critical',
  threshold: 0.8,
  isQuietAtFirst: false,
} as const;

/** It has stood like that for an hour, and is trusted until the third. */
function aStanding(parts: Partial<CheckStanding> = {}): CheckStanding {
  const { goldenSet: _, isQuietAtFirst: __, ...named } = check;
  return {
    ...named,
    verdict: 'ok',
    since: hours(-1),
    lastKnown: 'ok',
    candidate: null,
    seen: 0,
    value: 0.9,
    segment: null,
    explanation: 'It is 0.9.',
    isQuiet: false,
    evidenceAt: hours(0),
    judgedAt: hours(0),
    trustedUntil: hours(3),
    evaluatedAt: hours(0),
    ...parts,
  };
}

describe('the state of a check', () => {
  it('is as it was evaluated while that is fresh enough to trust, to the last moment', () => {
    expect(stateAt(check, aStanding({ verdict: 'critical', threshold: 0.75 }), hours(3))).toEqual({
      pipeline: 'docs',
      goldenSet: 'faq',
      name: check.name,
      severity: 'critical',
      threshold: 0.75,
      verdict: 'critical',
      since: hours(-1),
      value: 0.9,
      explanation: 'It is 0.9.',
      judgedAt: hours(0),
      isTooOld: false,
      isQuiet: false,
    });
  });

  it.each(['ok', 'warning', 'critical'] as const)(
    'is no_data when %s is too old to trust, though nobody is left to evaluate it, since it grew too old',
    (verdict) => {
      const later = new Date(hours(3).getTime() + 1);
      expect(stateAt(check, aStanding({ verdict, isQuiet: true }), later)).toMatchObject({
        verdict: 'no_data',
        since: hours(3),
        value: null,
        explanation: 'It is 0.9.',
        isTooOld: true,
        isQuiet: false,
      });
    },
  );

  it('is no_data since its evaluation noted that', () => {
    const noted = aStanding({ verdict: 'no_data', since: hours(4) });
    expect(stateAt(check, noted, hours(5))).toMatchObject({
      verdict: 'no_data',
      since: hours(4),
      isTooOld: true,
    });
  });

  it('never grows old where nothing is expected to come', () => {
    const learning = aStanding({ verdict: 'no_data', isQuiet: true, trustedUntil: null });
    expect(stateAt(check, learning, hours(999))).toMatchObject({ isTooOld: false, isQuiet: true });
  });

  it('is no_data before the first evaluation, an alarm unless what judges it has to learn first', () => {
    expect(stateAt(check, null, hours(0))).toMatchObject({
      verdict: 'no_data',
      threshold: 0.8,
      since: null,
      explanation: null,
      judgedAt: null,
      isTooOld: false,
      isQuiet: false,
    });
    expect(stateAt({ ...check, isQuietAtFirst: true }, null, hours(0)).isQuiet).toBe(true);
  });
});
