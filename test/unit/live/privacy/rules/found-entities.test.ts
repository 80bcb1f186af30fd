import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FoundEntity, redactFound } from '../../../../../src/live/privacy/rules/detector.ts';

function aFind(start: number, end: number, parts: Partial<FoundEntity> = {}): FoundEntity {
  return { entityType: 'PERSON', start, end, score: 0.85, ...parts };
}

describe('the entities that a redaction service found', () => {
  it.each<[string, string, FoundEntity[], string]>([
    ['no entity', 'who is it', [], 'who is it'],
    ['a name', 'is Ada in', [aFind(3, 6)], 'is [PERSON] in'],
    ['the whole text', 'Ada', [aFind(0, 3)], '[PERSON]'],
    ['two names in any order', 'Ada and Bob', [aFind(8, 11), aFind(0, 3)], '[PERSON] and [PERSON]'],
    ['names without a gap', 'AdaBob', [aFind(0, 3), aFind(3, 6)], '[PERSON][PERSON]'],
    ['a name after a character of two code units', '😀 Ada 😀', [aFind(2, 5)], '😀 [PERSON] 😀'],
    ['a name made of such characters', 'is 𝒜𝒹𝒶 in', [aFind(3, 6)], 'is [PERSON] in'],
    ['the same name found twice', 'is Ada in', [aFind(3, 6), aFind(3, 6)], 'is [PERSON] in'],
    [
      'overlapping entities as one, with the type of the highest score',
      'Ada Lovelace Street 1',
      [aFind(0, 12), aFind(4, 21, { entityType: 'LOCATION', score: 0.9 })],
      '[LOCATION]',
    ],
    [
      'an entity within another',
      'Ada Lovelace Street 1',
      [aFind(0, 21, { entityType: 'LOCATION' }), aFind(4, 12, { score: 0.5 })],
      '[LOCATION]',
    ],
    ['a type in lower case', 'is Ada in', [aFind(3, 6, { entityType: 'person' })], 'is [PERSON] in'],
    ['a part of an earlier placeholder', 'mail [EMAIL] now', [aFind(6, 11)], 'mail [PERSON] now'],
    ['an entity that ends inside a placeholder', 'Ada at [EMAIL] now', [aFind(0, 10)], '[PERSON] now'],
    ['a name next to a placeholder', 'Ada [EMAIL]', [aFind(0, 3)], '[PERSON] [EMAIL]'],
  ])('are redacted: %s', (_what, text, found, redacted) => {
    expect(redactFound(text, found)).toBe(redacted);
  });

  it.each<[string, FoundEntity]>([
    ['ends beyond the text', aFind(3, 99)],
    ['starts before the text', aFind(-1, 3)],
    ['is empty', aFind(3, 3)],
    ['ends before it starts', aFind(6, 3)],
    ['has an offset that is not a whole number', aFind(3, 5.5)],
    ['has an offset that is not a number', aFind(3, Number.NaN)],
    ['has offsets in code units, and so ends beyond the text', aFind(3, 10)],
    ['has an invalid type name', aFind(3, 6, { entityType: 'a person' })],
    ['has no score', aFind(3, 6, { score: Number.NaN })],
  ])('make the text unusable when one %s', (_what, find) => {
    expect(redactFound('is 😀da in', [aFind(0, 2), find])).toBeNull();
  });

  it('are replaced in the text, and nothing else changes', () => {
    const text = fc.array(fc.constantFrom('a', 'é', '😀', '𝒜', ' ', '字'), { maxLength: 30 });
    const cuts = fc.array(fc.nat(30), { maxLength: 8 });
    fc.assert(
      fc.property(text, cuts, (characters, offsets) => {
        const points = offsets.map((offset) => offset % (characters.length + 1)).toSorted((a, b) => a - b);
        const found: FoundEntity[] = [];
        for (let i = 0; i + 1 < points.length; i += 2) {
          const [start = 0, end = 0] = points.slice(i, i + 2);
          if (start < end) found.push(aFind(start, end));
        }
        const expected = characters.map((character, index) => {
          const find = found.find(({ start, end }) => index >= start && index < end);
          if (find === undefined) return character;
          return index === find.start ? '[PERSON]' : '';
        });
        expect(redactFound(characters.join(''), found)).toBe(expected.join(''));
      }),
    );
  });
});
