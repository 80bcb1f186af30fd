import { describe, expect, it } from 'vitest';
import { judgeDrift, judgePanelSize, type PanelPair } from '../../../../src/judging/rules/agreement.ts';

const pairs = (count: number, of: (i: number) => PanelPair): PanelPair[] =>
  Array.from({ length: count }, (_, i) => of(i));
const same = (i: number): PanelPair => ({ first: i % 4, repeat: i % 4, now: i % 4 });

describe('judge drift', () => {
  it('is unknown for fewer than 20 pairs', () => {
    expect(judgeDrift(pairs(19, same))).toBeNull();
  });

  it('is 0 for unchanged grades, with a confidence interval that is not empty', () => {
    const drift = judgeDrift(pairs(100, same));
    expect(drift).toMatchObject({ shift: 0, pairs: 100, differing: 0, verdict: 'steady' });
    expect(drift?.low).toBeLessThan(-0.01);
    expect(drift?.high).toBeGreaterThan(0.01);
  });

  it('is detected when 16 of 100 pairs rise by a grade, with an interval above 0', () => {
    const drift = judgeDrift(pairs(100, (i) => ({ first: 1, repeat: 1, now: i < 16 ? 2 : 1 })));
    expect(drift).toMatchObject({ shift: 0.16, verdict: 'changed' });
    expect(drift?.low).toBeGreaterThan(0.05);
  });

  it('is detected for a judge whose grades change without a shift', () => {
    const drift = judgeDrift(pairs(100, (i) => ({ first: 1, repeat: 1, now: i < 30 ? (i % 2) * 2 : 1 })));
    expect(drift).toMatchObject({ shift: 0, differing: 0.3, verdict: 'changed' });
  });

  it('is not detected for a judge that was always as noisy', () => {
    const drift = judgeDrift(
      pairs(100, (i) => ({ first: 1, repeat: i % 3 === 0 ? (i % 2) * 2 : 1, now: i % 3 === 1 ? (i % 2) * 2 : 1 })),
    );
    expect(drift?.verdict).toBe('steady');
  });

  it('is only suspected when 9 of 100 pairs rise by a grade', () => {
    const drift = judgeDrift(pairs(100, (i) => ({ first: 1, repeat: 1, now: i < 9 ? 2 : 1 })));
    expect(drift?.verdict).toBe('suspected');
  });
});

describe('the panel size', () => {
  it('is a small part of the daily grades, and enough to detect a shift of 0.2 grades', () => {
    expect(judgePanelSize(1000)).toEqual({ pairs: 150, newPairs: 30 });
    expect(judgePanelSize(100_000)).toEqual({ pairs: 150, newPairs: 30 });
    expect(judgePanelSize(5)).toEqual({ pairs: 20, newPairs: 4 });
  });
});
