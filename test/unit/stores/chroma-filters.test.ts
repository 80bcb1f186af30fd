import { describe, expect, it } from 'vitest';
import { whereOf } from '../../../src/stores/chroma.ts';

describe('a filter for Chroma', () => {
  it('is left out when it is empty, since Chroma refuses an empty one', () => {
    expect(whereOf({})).toEqual({});
  });

  it('is one condition, or several joined', () => {
    expect(whereOf({ course: 'maths' })).toEqual({ where: { course: { $eq: 'maths' } } });
    expect(whereOf({ course: 'maths', language: 'de' })).toEqual({
      where: { $and: [{ course: { $eq: 'maths' } }, { language: { $eq: 'de' } }] },
    });
  });

  it('looks for numbers and booleans as such and as text, since Chroma compares neither with the other', () => {
    expect(whereOf({ year: '2024' })).toEqual({
      where: { $or: [{ year: { $eq: '2024' } }, { year: { $eq: 2024 } }] },
    });
    expect(whereOf({ draft: 'true', score: '-1.5' })).toEqual({
      where: {
        $and: [
          { $or: [{ draft: { $eq: 'true' } }, { draft: { $eq: true } }] },
          { $or: [{ score: { $eq: '-1.5' } }, { score: { $eq: -1.5 } }] },
        ],
      },
    });
    for (const text of ['', ' 5', 'Infinity', 'NaN', '5 apples']) {
      expect(whereOf({ name: text })).toEqual({ where: { name: { $eq: text } } });
    }
  });
});
