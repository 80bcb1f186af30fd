import { array, assert, constantFrom, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contextSize } from '../../../../src/core/text/context-size.ts';

const leave = 'Parents may take up to three years of leave for each child';

describe('the context of an answer', () => {
  it('has the total length of its texts, and no repeats if the texts have nothing in common', () => {
    const other = 'Invoices are paid within thirty days of their receipt by us';
    expect(contextSize([leave, other])).toEqual({ characters: leave.length + other.length, repeated: 0 });
  });

  it('is half repeated if a text occurs twice, whatever its case and punctuation', () => {
    expect(contextSize([leave, `« ${leave.toUpperCase()}! »`])?.repeated).toBe(0.5);
    expect(contextSize(['yes', 'Yes.'])?.repeated).toBe(0.5);
  });

  it('is partly repeated if chunks overlap', () => {
    // Twelve words have eight sequences of five words; the second text has six words and two of these sequences.
    const words = leave.split(' ');
    expect(words).toHaveLength(12);
    expect(contextSize([leave, words.slice(6).join(' ')])?.repeated).toBe(2 / 10);
  });

  it('ignores repeats within one text, and words that only share letters', () => {
    expect(contextSize([`${leave} ${leave}`])?.repeated).toBe(0);
    expect(contextSize(['abcde', 'a b c d e'])?.repeated).toBe(0);
  });

  it('treats letters of scripts without spaces as words', () => {
    expect(contextSize(['育児休業は三年まで', '育児休業は三年まで'])?.repeated).toBe(0.5);
    expect(contextSize(['育児休業は三年まで', '請求書は三十日以内に'])?.repeated).toBe(0);
  });

  it.each([
    ['no document was retrieved', []],
    ['one document has no text', [leave, null]],
    ['the text of a document is undefined', [undefined]],
  ])('is unknown if %s', (_, texts) => {
    expect(contextSize(texts)).toBeNull();
  });

  it('has no repeats if all texts are empty', () => {
    expect(contextSize(['', ' '])).toEqual({ characters: 1, repeated: 0 });
  });

  it('has a repeated share between 0 and 1, which does not drop if all texts are repeated', () => {
    const texts = array(array(constantFrom('a', 'b', 'c', '三'), { maxLength: 12 }), { minLength: 1, maxLength: 5 });
    assert(
      property(texts, string(), (lists, last) => {
        const list = [...lists.map((words) => words.join(' ')), last];
        const once = contextSize(list)?.repeated ?? -1;
        expect(once).toBeGreaterThanOrEqual(0);
        expect(once).toBeLessThanOrEqual(1);
        expect(contextSize([...list, ...list])?.repeated).toBeGreaterThanOrEqual(once);
      }),
    );
  });
});
