import { describe, expect, it } from 'vitest';
import { judgeSentinel } from '../../../../src/golden/rules/sentinel.ts';
import { aDifference } from '../../../support/golden-runs.ts';

const answered = { ok: 50, empty: 0, error: 0, timeout: 0 };
const fall = aDifference({ difference: -0.2, p: 0.001, ciLow: -0.3, ciHigh: -0.1 });

describe('a sentinel', () => {
  it('stands when nothing changed', () => {
    const same = aDifference({ difference: 0, p: 1, ciLow: 0, ciHigh: 0, changed: 0 });
    expect(judgeSentinel(answered, 0.05, [same])).toEqual({ kind: 'stands' });
  });

  it('falls when nDCG fell by 0.05 or more beyond luck, and says so', () => {
    expect(judgeSentinel(answered, 0.05, [fall])).toEqual({
      kind: 'fallen',
      cause: 'scores',
      reason: 'The ndcg@10 of the sentinel fell by 0.2000 against the last full run (p = 0.0010, n = 40).',
    });
  });

  it('stands on a small fall, and on a large one that may be luck', () => {
    expect(judgeSentinel(answered, 0.05, [{ ...fall, difference: -0.04 }]).kind).toBe('stands');
    expect(judgeSentinel(answered, 0.05, [{ ...fall, p: 0.02 }]).kind).toBe('stands');
  });

  it('is judged by nDCG of all queries at the largest cut-off alone', () => {
    const others = [
      { ...fall, key: { measure: 'mrr', k: 10 } as const },
      { ...fall, segment: 'language=de' },
      { ...fall, key: { measure: 'ndcg', k: 1 } as const },
    ];
    const same = aDifference({ difference: 0, p: 1, ciLow: 0, ciHigh: 0, changed: 0 });
    expect(judgeSentinel(answered, 0.05, [...others, same]).kind).toBe('stands');
  });

  it('falls when more queries failed than the error budget, with nothing to compare with too', () => {
    const outcomes = { ok: 40, empty: 0, error: 5, timeout: 5 };
    expect(judgeSentinel(outcomes, 0.05, null)).toEqual({
      kind: 'fallen',
      cause: 'failures',
      reason: '20.0 % of the queries of the sentinel failed, more than the error budget of 5.0 %.',
    });
    expect(judgeSentinel(outcomes, 0.2, null)).toEqual({ kind: 'stands' });
  });
});
