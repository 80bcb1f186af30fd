import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldText } from '../../../../../src/live/privacy/rules/redactor.ts';

/** Characters that change when folded, and arbitrary characters, including unpaired surrogates. */
const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom('a', '１', '😀', '𝟗', '\u200b', '\ud800', '٣', 'é', '–', '\u{e0100}'),
      fc.integer({ min: 0, max: 0x10_ffff }).map((code) => String.fromCodePoint(code)),
    ),
    { maxLength: 20 },
  )
  .map((characters) => characters.join(''));

describe('a folded text', () => {
  it.each([
    ['full-width characters', 'ａＢ１＠．', 'aB1@.'],
    ['styled letters and digits', '𝐚𝟗𝓑', 'a9B'],
    ['digits of other scripts', '٠٩ ۴ ५ ๙', '09 4 5 9'],
    ['dashes and spaces of every kind', 'a‐b–c—d−e\u00a0f\u3000g\u202fh', 'a-b-c-d-e f g h'],
    ['invisible characters', 'a\u200bb\u00adc\u2060d\ufefee\u202af', 'abcd\ufefeef'],
    ['nothing else', 'é ß 日本 😀 \ud800 ½ ﬁ', 'é ß 日本 😀 \ud800 ½ ﬁ'],
  ])('normalizes %s', (_name, original, expected) => {
    expect(foldText(original).text).toBe(expected);
  });

  it('maps to the corresponding part of the original', () => {
    const original = 'x😀ｊｏ\u200bｅ𝟗y';
    const folded = foldText(original);
    const start = folded.text.indexOf('joe9');
    const span = folded.originalSpan(start, start + 4);
    expect(original.slice(span.start, span.end)).toBe('ｊｏ\u200bｅ𝟗');
  });

  it('maps its characters to the original in order', () => {
    fc.assert(
      fc.property(anyText, (original) => {
        const folded = foldText(original);
        let at = 0;
        let last = 0;
        for (const character of folded.text) {
          const span = folded.originalSpan(at, at + character.length);
          expect(span.start).toBeGreaterThanOrEqual(last);
          expect(span.end).toBeLessThanOrEqual(original.length);
          expect(foldText(original.slice(span.start, span.end)).text).toBe(character);
          at += character.length;
          last = span.end;
        }
      }),
    );
  });
});
