import { describe, expect, it } from 'vitest';
import { judgeDrift, judgePanelSize, type PanelPair } from '../../../../src/judging/rules/agreement.ts';

const pairs = (count: number, of: (i: number) => PanelPair): PanelPair[] =>
  Array.from({ length: count }, (_, i) => of(i));
const same = (i: number): PanelPair => ({ first: i % 4, repeat: i % 4, now: i % 4 });

describe('the drift of a judge', () => {
  it('is not known from fewer than 20 pairs', () => {
    expect(judgeDrift(pairs(19, same))).toBeNull();
  });

  it('is 0 where all grades are as at first, and does not claim to be certain', () => {
    const drift = judgeDrift(pairs(100, same));
    expect(drift).toMatchObject({ shift: 0, pairs: 100, differing: 0, verdict: 'steady' });
    expect(drift?.low).toBeLessThan(-0.01);
    expect(drift?.high).toBeGreaterThan(0.01);
  });

  it('is called when 16 of 100 pairs rise by a grade, with bounds beyond 0', () => {
    const drift = judgeDrift(pairs(100, (i) => ({ first: 1, repeat: 1, now: i < 16 ? 2 : 1 })));
    expect(drift).toMatchObject({ shift: 0.16, verdict: 'changed' });
    expect(drift?.low).toBeGreaterThan(0.05);
  });

  it('is called for a judge that grades otherwise without grading higher', () => {
    const drift = judgeDrift(pairs(100, (i) => ({ first: 1, repeat: 1, now: i < 30 ? (i % 2) * 2 : 1 })));
    expect(drift).toMatchObject({ shift: 0, differing: 0.3, verdict: 'changed' });
  });

  it('is not called for a judge that always was as restless', () => {
    const drift = judgeDrift(
      pairs(100, (i) => ({ first: 1, repeat: i % 3 === 0 ? (i % 2) * 2 : 1, now: i % 3 === 1 ? (i % 2) * 2 : 1 })),
    );
    expect(drift?.verdict).toBe('steady');
  });

  it('is in doubt where chance would seldom show so much', () => {
    const drift = judgeDrift(pairs(100, (i) => ({ first: 1, repeat: 1, now: i < 9 ? 2 : 1 })));
    expect(drift?.verdict).toBe('in_doubt');
  });
});

describe('the size of a panel', () => {
  it('is a small part of what is graded a day, and enough to see a fifth of a grade', () => {
    expect(judgePanelSize(1000)).toEqual({ pairs: 150, joining: 30 });
    expect(judgePanelSize(100_000)).toEqual({ pairs: 150, joining: 30 });
    expect(judgePanelSize(5)).toEqual({ pairs: 20, joining: 4 });
  });
});
