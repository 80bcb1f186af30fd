import { describe, expect, it } from 'vitest';
import {
  gapWords,
  judgedMeasureNames,
  measureRow,
  measureTable,
} from '../../../../src/measures/rules/measure-table.ts';

describe('the words of a measure', () => {
  it('are there for everything that a check can watch', () => {
    expect(judgedMeasureNames.filter((name) => !Object.hasOwn(measureTable, name))).toEqual([]);
  });

  it('are words: none holds a name as the code has it', () => {
    const texts = Object.values(measureTable).flatMap(({ title, means, note }) => [title, means, note]);
    expect(texts.filter((text) => text.includes('_') || text.trim() === '')).toEqual([]);
  });

  it('tell every measure from every other', () => {
    const titles = Object.values(measureTable).map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
  });

  it('of one that nobody wrote any for are its own name', () => {
    expect(measureRow('store_colour_ratio')).toMatchObject({
      title: 'Store colour ratio',
      means: 'store colour ratio',
      note: '',
    });
  });
});

describe('why there is no value', () => {
  it('is said in words', () => {
    expect(gapWords('too_few_sessions')).toBe('too few sessions');
    expect(gapWords('store_failed')).toBe('the store did not answer');
    expect(gapWords('moon_too_full')).toBe('moon too full');
  });
});
