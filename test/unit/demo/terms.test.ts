import { describe, expect, it } from 'vitest';
import { characterNgrams, contentWords } from '../../../src/demo/rag/terms.ts';

describe('contentWords', () => {
  it.each([
    ['nothing of an empty text', '', []],
    ['nothing of a text of stop words', 'What was it that they did?', []],
    ['letters and digits of every script, in lower case', 'Ωmega-3 in 東京', ['ωmega', '3', '東京']],
    ['compatibility forms as their plain letters', 'ﬁnal', ['final']],
    ['repetitions, in order', 'war and peace and war', ['war', 'peac', 'war']],
    [
      'plurals as singulars',
      'cities glasses points virus class',
      ['city', 'glass', 'point', 'virus', 'class'],
    ],
    ['verb forms as their stem', 'defending defended defend', ['defend', 'defend', 'defend']],
    ['short words as they are', 'red king sly', ['red', 'king', 'sly']],
  ])('keeps %s', (_what, text, words) => {
    expect(contentWords(text)).toEqual(words);
  });
});

describe('characterNgrams', () => {
  it.each([
    ['cat', 4, ['<cat', 'cat>']],
    ['a', 4, []],
    ['ab', 4, ['<ab>']],
  ])('of %j with n = %d are %j', (word, n, ngrams) => {
    expect(characterNgrams(word, n)).toEqual(ngrams);
  });
});
