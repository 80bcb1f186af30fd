import { describe, expect, it } from 'vitest';
import { ageText, sparkline, styled } from '../../../src/cli/output.ts';

describe('text for terminals', () => {
  it('draws a trend from the least to the largest, with gaps', () => {
    expect(sparkline([0, 0.5, 1, null, 0])).toBe('▁▅█ ▁');
    expect(sparkline([0.8, 0.8])).toBe('▅▅');
    expect(sparkline([])).toBe('');
  });

  it('tells an age in a unit that one can grasp', () => {
    expect([5, 119, 120, 7199, 7200, 200_000].map(ageText)).toEqual(['5 s', '119 s', '2 min', '119 min', '2 h', '2 d']);
  });

  it('has no colours where nobody sees them', () => {
    expect(styled('red', 'critical')).toBe('critical');
  });
});
