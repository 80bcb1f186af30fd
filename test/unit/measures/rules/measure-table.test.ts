import { describe, expect, it } from 'vitest';
import {
  gapWords,
  measureRow,
  measureTable,
  thresholdMeasureNames,
} from '../../../../src/measures/rules/measure-table.ts';

describe('the measure table', () => {
  it('has a row for every measure that a check can use', () => {
    expect(thresholdMeasureNames.filter((name) => !Object.hasOwn(measureTable, name))).toEqual([]);
  });

  it('describes measures in words, without identifiers', () => {
    const texts = Object.values(measureTable).flatMap(({ title, subject, note }) => [title, subject, note]);
    expect(texts.filter((text) => text.includes('_') || text.trim() === '')).toEqual([]);
  });

  it('gives every measure its own title', () => {
    const titles = Object.values(measureTable).map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
  });

  it('describes an unknown measure by its name', () => {
    expect(measureRow('store_colour_ratio')).toMatchObject({
      title: 'Store colour ratio',
      subject: 'store colour ratio',
      note: '',
    });
  });
});

describe('the reason of a gap', () => {
  it('is described in words', () => {
    expect(gapWords('too_few_sessions')).toBe('too few sessions');
    expect(gapWords('store_failed')).toBe('the store did not respond');
    expect(gapWords('disk_too_full')).toBe('disk too full');
  });
});
