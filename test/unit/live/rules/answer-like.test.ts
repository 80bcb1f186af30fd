import { describe, expect, it } from 'vitest';
import { looksLikeAnswer } from '../../../../src/live/rules/answer-like.ts';

const question = 'How many points did the Panthers defense surrender?';

describe('a rewritten query', () => {
  it.each([
    [question, 'The Broncos scored eleven times and won the divisional round.'],
    [question, "I'm sorry, but I do not have information about that game."],
    ['Wann wurde die Universität gegründet?', 'Sie entstand im Jahr 1386 auf Wunsch des Kurfürsten.'],
    ['华沙是什么时候建立的？', '这座城市始于十三世纪末，位于河畔。'],
    [
      'refund policy',
      'our customers may return any item within thirty days provided that it is unused and that they still have the receipt',
    ],
  ])('looks like an answer if it is prose with words that the original lacks: %s | %s', (originalText, text) => {
    expect(looksLikeAnswer(text, originalText)).toBe(true);
  });

  it.each([
    [question, question],
    [question, 'points Panthers defense surrender'],
    [question, 'Panthers defense points allowed 2015 regular season ranking'],
    [question, 'How many points did the Carolina Panthers allow during the 2015 season?'],
    [question, 'Find how many points the defense of the Panthers surrendered.'],
    ['and in Warsaw?', 'When was the University of Warsaw founded, and by whom?'],
    [question, '308'],
    [question, ''],
  ])(
    'does not look like an answer if it is a question, keywords, or a paraphrase of the original: %s | %s',
    (originalText, text) => {
      expect(looksLikeAnswer(text, originalText)).toBe(false);
    },
  );
});
