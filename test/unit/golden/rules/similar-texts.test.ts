import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  containment,
  jaccard,
  nearDuplicates,
  normalisedText,
  shinglesOf,
  wordsOf,
} from '../../../../src/golden/rules/similar-texts.ts';

describe('two texts', () => {
  it('are equal whatever their case, punctuation, spaces and encoding of accents', () => {
    expect(normalisedText('  How do I\u00a0PAY?! ')).toBe('how do i pay');
    expect(normalisedText('Cafe\u0301')).toBe(normalisedText('café'));
    expect(normalisedText('?!')).toBe('');
  });

  it('are split into words even in scripts without spaces', () => {
    expect(wordsOf('配送 status')).toEqual(['配', '送', 'status']);
    expect(wordsOf('Wie zahle ich?')).toEqual(['wie', 'zahle', 'ich']);
  });

  it('with fewer words than the shingle length form a single shingle', () => {
    expect([...shinglesOf(['a', 'b'], 3)]).toEqual(['a b']);
    expect([...shinglesOf(['a', 'b', 'c', 'd'], 3)]).toEqual(['a b c', 'b c d']);
    expect(shinglesOf([], 3).size).toBe(0);
  });

  it('have a similarity that is their share of common words', () => {
    const [a, b] = [new Set(['x', 'y', 'z']), new Set(['y', 'z', 'u', 'v'])];
    expect(jaccard(a, b)).toBe(2 / 5);
    expect(containment(a, b)).toBe(2 / 3);
    expect(jaccard(new Set(), new Set())).toBe(0);
    expect(containment(new Set(), a)).toBe(0);
  });
});

describe('near-duplicates', () => {
  const word = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
  const texts = fc.array(
    fc.array(word, { maxLength: 8 }).map((words) => words.join(' ')),
    { maxLength: 25 },
  );

  it('are exactly the pairs that a comparison of every pair finds', () => {
    fc.assert(
      fc.property(texts, fc.constantFrom(0.3, 0.5, 0.7, 0.9, 1), (list, minimum) => {
        const sets = list.map((text) => new Set(wordsOf(text)));
        const expected = sets.flatMap((b, second) =>
          sets.slice(0, second).flatMap((a, first) => {
            const similarity = jaccard(a, b);
            return similarity >= minimum ? [{ first, second, similarity }] : [];
          }),
        );
        expect(nearDuplicates(list, minimum)).toEqual(expected);
      }),
    );
  });
});
